"""Place the Low Carbon London households on a map: no open data set has household series and true locations.

Each household gets the place of a low-voltage feeder, drawn with the feeder's number of meters as weight, and a little
jitter around it. The seed is public. Places made this way are plausible, not true: say so wherever a figure is shown.

    python examples/place_lcl.py ../shared/data placed.parquet
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.research.datasets.dataset import read_points

SEED = 0
SPREAD = 150 / 111_320
"""150 metres, in degrees of latitude."""

LIMITS = -0.50, 51.395, -0.25, 51.50
"""The public limits of the feeders' area (outer west London); a feeder some metres outside counts as just inside."""


def main() -> None:
    """Read the two tables below the data folder and write the placed households."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    feeders = read_points(data / "ssen_west_london" / "feeders.parquet", weight="n_meters_median", spread=SPREAD)
    households = pq.read_table(data / "lcl" / "households.parquet", columns=["household"])["household"]
    lon, lat = replace(feeders, extent=LIMITS).homes(len(households), np.random.default_rng(SEED))
    pq.write_table(pa.table({"household": households, "lon": lon, "lat": lat}), out)
    print(f"{len(households)} households placed in {out}")


if __name__ == "__main__":
    main()
