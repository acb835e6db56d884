"""How much energy window bounds cut off, on data that may be looked at: NOT PRIVATE, never on what you publish.

    python examples/cut_by_bounds.py ../shared/data/lcl/readings_hourly.parquet 192 260

Prints the percentage for the window of docs/first-publication.md (120 hours from 2013-02-04, steps capped at 20 kWh).
"""

from __future__ import annotations

import sys

import duckdb

CUT = """
    SELECT 100 * (1 - sum(least(bounded, $bound)) / sum(total)) FROM (
        SELECT sum(least(kwh, 20)) AS bounded, sum(kwh) AS total FROM read_parquet($path)
        WHERE timestamp >= '2013-02-04' AND timestamp < '2013-02-09' GROUP BY household
    )
"""


def main() -> None:
    """Print the cut for every bound, in kWh, that is given."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, *bounds = sys.argv[1:]
    for bound in bounds:
        (cut,) = duckdb.execute(CUT, {"path": path, "bound": float(bound)}).fetchall()[0]
        print(f"a window bound of {bound} kWh cuts {cut:.1f} % of all energy")


if __name__ == "__main__":
    main()
