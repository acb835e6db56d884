"""Records what gridveil computes, so that a change of its structure can be shown to change no number.

python benchmarks/record.py --write benchmarks/recorded.json       before the change
python benchmarks/record.py --check benchmarks/recorded.json       after it: prints differences by name, fails if any

`--only release audit` leaves parts out. `--cubes "spark 1e+06"` names other cases of scale/results.json. `--write`
replaces only what it records. All take four minutes. Noise is seeded: nothing here is private. There are three parts.

release  Every mechanism publishes the demo's town, with a private and with a given window bound. SHA-256 of the float64
         estimate, the error model, the published values, and one day's map with intervals; intervals of some boxes and
         of a polygon; figures of the label.
cube     SHA-256 of the cubes of scale/results.json, rows read and counted, and whether that file has the same.
audit    Exact losses of all attacks on every mechanism, lower bounds, and the minimum that each must attain. `identity`
         and `mosaic` have the whole audit, the others only attacks on the transcript.

No text of gridveil is compared: names of entries are this script's own. After a rename, correct the imports below and
the attributes in `_label`. `PINNED` asks for one thread, and for AVX2 on newer processors too. Hashes may still differ
with other versions of libraries; the file says which versions it was made with.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gridveil.publishing.run as publish_module
import gridveil.research.audit.study as audit_module
import gridveil.trusted.kernel.kernel as kernel_module
from gridveil.mechanisms.base import list_names
from gridveil.publishing.spec import make_spec
from gridveil.release.format.label import Label
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import open_release
from gridveil.research.audit.effort import Effort, minimum_bound, minimum_by_runs, minimum_largest_loss, minimum_loss
from gridveil.simulate.demo import EPSILON
from gridveil.simulate.sources import SeededLaplace
from gridveil.simulate.town import DEMO_GRID, DEMO_WINDOW, demo_town

Entries = Iterator[tuple[str, Any]]  # names, and values that JSON can hold
PINNED = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""Of the environment: NumPy and PyTorch read it when they are imported."""
PARTS, MADE, NOTHING = ["release", "cube", "audit"], "made with", "nothing"
SEED = 1
MAP = {"extent": (DEMO_GRID.x0, DEMO_GRID.y0, DEMO_GRID.x1, DEMO_GRID.y1), "grid": (DEMO_GRID.nx, DEMO_GRID.ny)}
DEMO = {"start": DEMO_WINDOW.start, "steps": DEMO_WINDOW.steps, "epsilon": EPSILON, "no_ledger": True}
BOUNDS: dict[str, dict[str, Any]] = {"private bound": {}, "given bound": {"bound_window": 222.0}}
DAY = 24, 48
BOXES = [[0, 32, 0, 32, 0, 120], [16, 17, 16, 17, 18, 19], [8, 16, 8, 16, *DAY], [0, 32, 10, 11, 0, 120]]
"""x0, x1, y0, y1, t0, t1: all, a cell and step, a part and day, a row."""
TRIANGLE = {"type": "Polygon", "coordinates": [[[1100, 900], [5300, 1700], [2900, 6100], [1100, 900]]]}  # cuts cells
SCALE = Path(__file__).parent / "scale"
CUBES = ["duckdb 1e+06", "duckdb 1e+07", "duckdb 1e+07 4GB"]  # seconds each
CLAIM = 1.0
TRANSCRIPT = Effort(identity=0, fast=0, slow=0, watched=0, written=0, pairs=2, draws=12_000)


def releases() -> Entries:
    """Publish the demo's town with every mechanism, from its tables to the files."""
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        readings, households = demo_town().write(Path(folder))
        tables = {"readings": readings, "households": households}
        for mechanism in list_names():
            for bound, settings in BOUNDS.items():
                own = {**tables, **settings, "mechanism": mechanism, "out": f"{folder}/{mechanism} {bound}"}
                with patch.object(publish_module, "write_release", wraps=write_release) as write:
                    published = publish_module.run(make_spec({**MAP, **DEMO, **own}), noise=SeededLaplace(SEED))
                for name, value in _release(write.call_args.kwargs["estimate"], published.path):
                    yield f"release {mechanism}, {bound}: {name}", value


def _release(estimate: Any, path: Path) -> Entries:  # noqa: ANN401  # an Estimate, seen by a mock
    values, errors, release = estimate.dense(), estimate.errors, open_release(path)
    parts = [getattr(errors, field.name) for field in fields(errors)]
    cells = release.cells(*DAY)
    yield "estimate", _digest(values)
    yield "estimate, sum and extremes in Wh", [float(values.sum()), float(values.min()), float(values.max())]
    yield "error model", _digest(*(part for part in parts if isinstance(part, np.ndarray)))
    yield "published values", _digest(release.values().transpose(2, 1, 0))
    yield "map of a day", _digest(cells.value, cells.standard_error, cells.low, cells.high)
    for box, answer in zip(BOXES, np.stack(list(vars(release.answers_of(BOXES)).values()), axis=1), strict=True):
        yield f"box {box}", answer.tolist()
    yield "polygon", _numbers(vars(release.query(time=DAY, area=TRIANGLE)))
    yield from _label(release.label)


def _label(label: Label) -> Entries:
    """Return the figures of a label."""
    privacy = label.privacy
    rates = [rate.true_positive_rate for rate in privacy.attack_rates]
    asked = [[one.labels, one.epsilon, one.bound_kwh] for one in label.measurements]
    yield "label, epsilon", [privacy.epsilon, privacy.epsilon_accounted, *rates]
    yield "label, bounds", [[bound.step_kwh, bound.window_kwh, bound.steps] for bound in label.bounds]
    yield "label, private bound", [label.private_bound_epsilon, label.correction]
    yield "label, measurements", asked if len(asked) < 20 else [len(asked), _digest(np.array(asked, dtype=np.float64))]
    yield "label, mechanism", sorted(_numbers([label.mechanism.parameters, label.mechanism.details]))


def cubes(cases: list[str]) -> Entries:
    """Make the cubes of scale/results.json again, by the functions that made them there."""
    sys.path.append(str(SCALE))
    from readings import once
    from tables import tables

    kept = json.loads((SCALE / "results.json").read_text())["readings"]
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        for case in cases:
            engine, readings, memory = [*case.split(), None][:3]
            scratch = Path(folder) / "scratch" if memory else None
            with tables(Path(folder), int(float(str(readings))), str(engine), memory, scratch) as made:
                figures = once(made, lambda _, work: work())
            yield f"cube {case}: made", figures
            yield f"cube {case}: as in scale/results.json", figures == {name: kept[case][name] for name in figures}


def audits() -> Entries:
    """Attack every mechanism under seeded noise."""
    for mechanism in list_names():
        effort = Effort() if mechanism in {"identity", "mosaic"} else TRANSCRIPT
        seeded = cache(partial(SeededLaplace, SEED))  # one and the same for all runs
        with patch.object(audit_module, "ExactNoise", seeded), patch.object(kernel_module, "ExactNoise", seeded):
            carried = audit_module.audit(mechanism, CLAIM, effort)
        found = sorted([round(one.lower, 9), round(one.ceiling, 9), one.runs] for one in carried.findings)
        whole = [
            minimum_bound(mechanism, CLAIM),
            minimum_by_runs(mechanism, CLAIM),
            minimum_largest_loss(mechanism, CLAIM),
        ]
        yield f"audit {mechanism}: exact losses", list(carried.losses.values())
        yield f"audit {mechanism}: lower bounds above zero", [one for one in found if one[0] > 0]
        yield f"audit {mechanism}: findings, faults", [len(found), len(carried.faults), _digest(np.array(found))]
        yield f"audit {mechanism}: minima", [*whole, *(minimum_loss(mechanism, name, CLAIM) for name in carried.losses)]


def _digest(*arrays: Any) -> str:  # noqa: ANN401  # arrays of any type
    return sha256(b"".join(np.ascontiguousarray(array, dtype=np.float64).tobytes() for array in arrays)).hexdigest()


def _numbers(facts: Any) -> list[float]:  # noqa: ANN401  # of JSON
    """Return all numbers in lists and tables, in their order; texts are left out."""
    if isinstance(facts, dict | list | tuple):
        return [number for part in (facts.values() if isinstance(facts, dict) else facts) for number in _numbers(part)]
    return [facts] if isinstance(facts, int | float) else []


def main() -> None:
    if not PINNED.items() <= os.environ.items():  # too late for this process
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **PINNED})  # noqa: S606  # this script
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    for option in ("--write", "--check"):
        what.add_argument(option, type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--cubes", nargs="+", metavar="CASE", default=CUBES)
    given = parser.parse_args()
    path: Path = given.write or given.check
    before = json.loads(path.read_text()) if path.exists() or given.check else {}
    now: dict[str, Any] = {}
    for part in given.only:
        start = time.perf_counter()
        found = {"release": releases, "cube": lambda: cubes(given.cubes), "audit": audits}[part]()
        now.update(json.loads(json.dumps(dict(found), allow_nan=False)))
        print(f"{part}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    libraries = {name: version(name) for name in ("numpy", "torch", "duckdb", "pyarrow")}
    made = {"python": platform.python_version(), "machine": platform.machine(), **libraries}
    if given.write:
        entries = {MADE: made, **before, **now} | {MADE: made}
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in entries.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    starts = tuple({*given.only} - {"cube"}) + tuple(f"cube {case}:" for case in given.cubes if "cube" in given.only)
    every = dict.fromkeys([*(name for name in before if name.startswith(starts)), *now])
    different = [name for name in every if before.get(name, NOTHING) != now.get(name, NOTHING)]
    for name in different:
        print(f"{name}\n  was {before.get(name, NOTHING)}\n  is  {now.get(name, NOTHING)}")
    if different and before[MADE] != made:
        print(f"made with {before[MADE]}, now with {made}: hashes may differ for that reason alone")
    print(f"{len(different)} of {len(every)} entries differ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
