"""Place the Low Carbon London households on a map: no open data set has household series and true locations.

Each household gets the place of a low-voltage feeder, drawn with the feeder's number of meters as weight, and a little
jitter around it. The seed is public. Places made this way are plausible, not true: say so wherever a figure is shown.

    python examples/place_lcl.py ../shared/data placed.parquet
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 0
JITTER_METRES = 150.0
METRES_PER_DEGREE = 111_320.0
WEST, SOUTH, EAST, NORTH = -0.50, 51.395, -0.25, 51.50
"""The public limits of the feeders' area (outer west London)."""


def place(households: list[str], lon: np.ndarray, lat: np.ndarray, meters: np.ndarray) -> pa.Table:
    """Return a table of households with `lon` and `lat`."""
    rng = np.random.default_rng(SEED)
    feeder = rng.choice(len(meters), size=len(households), p=meters / meters.sum())
    north = rng.normal(0.0, JITTER_METRES, len(households)) / METRES_PER_DEGREE
    east = rng.normal(0.0, JITTER_METRES, len(households)) / METRES_PER_DEGREE / np.cos(np.radians(lat[feeder]))
    margin = 1e-6  # jitter must not carry anyone across the limits
    return pa.table(
        {
            "household": households,
            "lon": np.clip(lon[feeder] + east, WEST + margin, EAST - margin),
            "lat": np.clip(lat[feeder] + north, SOUTH + margin, NORTH - margin),
        }
    )


def main() -> None:
    """Read the two tables below the data folder and write the placed households."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    feeders = pq.read_table(data / "ssen_west_london" / "feeders.parquet", columns=["lon", "lat", "n_meters_median"])
    households = pq.read_table(data / "lcl" / "households.parquet", columns=["household"])["household"].to_pylist()
    lon, lat, meters = (feeders[name].to_numpy() for name in ("lon", "lat", "n_meters_median"))
    pq.write_table(place(households, lon, lat, meters), out)
    print(f"{len(households)} households placed in {out}")


if __name__ == "__main__":
    main()
