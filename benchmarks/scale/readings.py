"""What a reading costs: ingest beside a bare GROUP BY of the same rows, on the same engine, in the same run.

python benchmarks/scale/readings.py FOLDER ENGINE READINGS [MEMORY]       e.g. /data duckdb 1e8, or duckdb 1e9 4GB

FOLDER holds the invented readings (made if they are not there). `ingest_seconds` is from files to the contributions of
households, kept by the engine, with the operator's report; `cube_seconds` is one bounded cube of them. Each is the
best of five turns; of two from 3e7 readings on. With MEMORY there is a scratch folder, too, one turn, and no bare GROUP
BY: it would not fit the disk. Nothing is printed before the end (1e8 on Spark: ten minutes). The figures are kept in
results.json beside this file, in the place of earlier ones.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from generate import GRID, WINDOW
from keep import keep, peak_mb
from tables import Tables, tables

from gridveil.trusted.budget import Bound
from gridveil.trusted.source.ingest import ingest

BOUND = Bound(20_000, 400_000)
MANY, FEW, LARGE = 5, 2, 3e7


def once(made: Tables, timed: Callable[[str, Callable[[], Any]], Any]) -> dict[str, Any]:
    """Read the tables and make one cube; return what came out."""
    work = lambda: ingest(made.readings, made.households, GRID, WINDOW, made.settings)  # noqa: E731  # what is timed
    source, report = timed("ingest_seconds", work)
    cube = timed("cube_seconds", lambda: source.bounded_cube(WINDOW, BOUND))
    source.forget()
    return {"readings": report.readings, "counted": report.counted, "sha256": sha256(cube.tobytes()).hexdigest()}


def measure(made: Tables, turns: int, *, beside: bool) -> dict[str, Any]:
    """Return the best times, taking turns."""
    best: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever the work returns
        start = time.perf_counter()
        done = work()
        best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
        return done

    if made.settings.name == "spark":
        once(made, lambda _, work: work())  # starts the session, and warms it up
    for _ in range(turns):
        if beside:
            timed("group_by_seconds", made.group_by)
        figures = once(made, timed)
    ratio = {"ratio": best["ingest_seconds"] / best["group_by_seconds"]} if beside else {}
    return {**best, **ratio, **figures, "peak_mb": peak_mb()}


def main() -> None:
    if len(sys.argv) not in {4, 5}:
        raise SystemExit(__doc__)
    folder, engine, readings, memory = Path(sys.argv[1]), sys.argv[2], int(float(sys.argv[3])), [*sys.argv, None][4]
    scratch = folder / "scratch" if memory else None
    turns = 1 if memory else FEW if readings >= LARGE else MANY
    with tables(folder, readings, engine, memory, scratch) as made:
        figures = measure(made, turns, beside=memory is None)
    keep("readings", f"{engine} {readings:.0e} {memory or ''}".strip(), figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
