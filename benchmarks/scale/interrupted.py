"""A run that is killed half-way (kill -9), and goes on.

python benchmarks/scale/interrupted.py FOLDER READINGS [MEMORY]
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
    here = Path(folder) / "interrupted"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    arguments = [folder, readings, memory]
    whole = run(arguments, here / "whole")
    killed = run(arguments, here / "killed", kill_after=whole["seconds"] / 2)
    again = run(arguments, here / "killed")
    figures = {
        "whole_seconds": whole["seconds"],
        "killed_after_seconds": killed["seconds"],
        "again_seconds": again["seconds"],
        "share": again["seconds"] / whole["seconds"],
        "same_cube": whole["sha256"] == again["sha256"],
    }
    shutil.rmtree(here)
    keep("interrupted", f"{float(readings):.0e} {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
