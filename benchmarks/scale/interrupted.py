"""A run that is killed half-way (kill -9), and goes on.

python benchmarks/scale/interrupted.py FOLDER READINGS MEMORY

The sum of three turns, as one alone says little on a machine whose speed changes; of one from 3e8 readings on. Each
time is that of a whole process, its start included.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from keep import keep
from readings import once
from tables import tables

FEW, LARGE = 3, 3e8


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


def turn(arguments: list[str], here: Path) -> tuple[dict[str, Any], ...]:
    """Return a whole run, one that is killed after half that time, and one that goes on."""
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    whole = run(arguments, here / "whole")
    killed = run(arguments, here / "killed", kill_after=whole["seconds"] / 2)
    again = run(arguments, here / "killed")
    shutil.rmtree(here)
    return whole, killed, again


def main() -> None:
    folder, readings, memory, *scratch = sys.argv[1:]
    if scratch:
        with tables(Path(folder), int(float(readings)), "duckdb", memory, Path(scratch[0])) as made:
            print(json.dumps(once(made, lambda _, work: work())))
        return
    here, arguments = Path(folder) / "interrupted", [folder, readings, memory]
    turns = [turn(arguments, here) for _ in range(FEW if float(readings) < LARGE else 1)]
    whole, killed, again = ([run["seconds"] for run in runs] for runs in zip(*turns, strict=True))
    figures = {
        "whole_seconds": whole,
        "killed_after_seconds": killed,
        "again_seconds": again,
        "share": sum(again) / sum(whole),
        "same_cube": len({run["sha256"] for first, _, last in turns for run in (first, last)}) == 1,
    }
    keep("interrupted", f"{float(readings):.0e} {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
