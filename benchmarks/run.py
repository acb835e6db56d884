"""Run every benchmark in a process of its own; write results.json and the table in README.md beside this file.

python benchmarks/run.py            all of them
python benchmarks/run.py NAME       one, printed as JSON
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGETS = {
    "mosaic": {"seconds": 5.0, "peak_mb": 1000.0},
    "large": {"seconds": 600.0},
    "stpt": {"seconds": 10.0, "peak_mb": 1500.0},
    "stpt-paper": {"seconds": 15.0, "peak_mb": 1500.0},
    "identity": {},
    "even": {},
    "methods": {"seconds": 3.0, "seconds: fast": 10.0, "seconds: htf": 10.0, "seconds: dawa": 10.0},
    "scoring": {"seconds": 0.2},
    "ingest": {"ratio": 2.0},
    "kernel": {"seconds": 5.0, "peak_mb": 3000.0},
    "queries": {},
    "help": {"seconds": 0.5},
}


def run_one(name: str) -> dict[str, Any]:
    sys.path.insert(0, str(HERE))
    if name == "help":
        command = [str(Path(sys.executable).parent / "gridveil"), "--help"]
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        return {"seconds": min(times)}
    if name in {"ingest", "kernel", "large", "methods", "queries", "scoring"}:
        figures: dict[str, Any] = __import__(name).measure()
    else:
        figures = __import__("mechanisms").measure(name)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**figures, "peak_mb": peak / (1e6 if sys.platform == "darwin" else 1e3)}


def run_all() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in TARGETS:
        command = [sys.executable, __file__, name]
        results[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(name, results[name], flush=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    return {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "results": results}


def table(report: dict[str, Any]) -> str:
    lines = ["| benchmark | figure | measured | target |", "|---|---|---|---|"]
    for name, figures in report["results"].items():
        for figure, value in _flat(figures).items():
            target = TARGETS[name].get(figure) or TARGETS[name].get(figure.partition(":")[0])
            lines.append(f"| {name} | {figure} | {value:,.2f} | {f'at most {target:g}' if target else ''} |")
    return "\n".join(lines)


def _flat(figures: dict[str, Any]) -> dict[str, float]:
    """Return figures of groups as figures named after group and figure."""
    flat: dict[str, float] = {}
    for name, value in figures.items():
        flat |= {f"{name}: {inner}": v for inner, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(run_one(sys.argv[1])))
        return
    report = run_all()
    (HERE / "results.json").write_text(json.dumps(report, indent=2) + "\n")
    machine = report["machine"]
    text = (HERE / "README.md").read_text()
    head, mark, _ = text.partition("<!-- results -->\n")
    body = f"\n{report['date']}, {machine['cores']} cores, Python {machine['python']}, {machine['system']}.\n\n"
    (HERE / "README.md").write_text(head + mark + body + table(report) + "\n")


if __name__ == "__main__":
    main()
