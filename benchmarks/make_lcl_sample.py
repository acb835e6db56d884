"""Make the sample of Low Carbon London that ships with the package, from the full hourly extract.

    python benchmarks/make_lcl_sample.py ../shared/data/lcl/readings_hourly.parquet

The same extract and seed give the same readings. What was changed is said beside the sample, in its README.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.research.datasets.london import SAMPLE, START, TUNING_START, hours_of, read_complete

SEED = 0
HOUSEHOLDS = 2000


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    hours = np.concatenate([hours_of(start, steps=120, train_steps=100) for start in (TUNING_START, START)])
    wh = read_complete(Path(sys.argv[1]), hours)
    chosen = np.sort(np.random.default_rng(SEED).choice(len(wh), HOUSEHOLDS, replace=False))
    table = pa.table(
        {
            # New numbers: who is who in the published data set is of no use here.
            "household": np.repeat(np.arange(HOUSEHOLDS, dtype=np.uint16), hours.size),
            "timestamp": np.tile(hours, HOUSEHOLDS),
            "wh": wh[chosen].astype(np.uint16).ravel(),
        }
    )
    pq.write_table(
        table,
        SAMPLE,
        compression="zstd",
        compression_level=19,
        row_group_size=table.num_rows,
        use_dictionary=["household", "timestamp"],
        column_encoding={"wh": "BYTE_STREAM_SPLIT"},
    )
    print(f"{HOUSEHOLDS} of {len(wh)} households complete over {hours.size} hours: {SAMPLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
