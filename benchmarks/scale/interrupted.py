"""A run that is killed half-way (kill -9), and goes on.

python benchmarks/scale/interrupted.py FOLDER READINGS MEMORY

Five times, or once from 3e8 readings on, between whole runs: as a machine's speed changes, each run that goes on is
compared with the mean of the whole ones before and after it. Each time is that of a whole process, its start included.
"""

from __future__ import annotations

import json
import shutil
import signal
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from keep import keep
from readings import once
from tables import tables

MANY, LARGE = 5, 3e8


def run(arguments: list[str], scratch: Path, kill_after: float | None = None) -> dict[str, Any]:
    """Run once in a process of its own; kill it after so many seconds."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, __file__, *arguments, str(scratch)], stdout=subprocess.PIPE, text=True)
    try:
        told, _ = child.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
        return {"seconds": time.perf_counter() - start}
    if child.returncode:
        raise SystemExit(child.returncode)
    return {**json.loads(told), "seconds": time.perf_counter() - start}


def main() -> None:
    folder, readings, memory, *scratch = sys.argv[1:]
    if scratch:
        with tables(Path(folder), int(float(readings)), "duckdb", memory, Path(scratch[0])) as made:
            print(json.dumps(once(made, lambda _, work: work())))
        return
    here, arguments = Path(folder) / "interrupted", [folder, readings, memory]
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    whole, killed, again = [run(arguments, here / "whole")], [], []
    for _ in range(MANY if float(readings) < LARGE else 1):
        killed.append(run(arguments, here / "killed", kill_after=whole[-1]["seconds"] / 2))
        again.append(run(arguments, here / "killed"))
        whole.append(run(arguments, here / "whole"))
    shutil.rmtree(here)
    of_whole, of_killed, of_again = ([run["seconds"] for run in runs] for runs in (whole, killed, again))
    shares = [second / statistics.mean(around) for second, around in zip(of_again, pairwise(of_whole), strict=True)]
    figures = {
        "whole_seconds": of_whole,
        "killed_after_seconds": of_killed,
        "again_seconds": of_again,
        "shares": shares,
        "share": statistics.median(shares),
        "same_cube": len({run["sha256"] for run in (*whole, *again)}) == 1,
    }
    keep("interrupted", f"{float(readings):.0e} {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
