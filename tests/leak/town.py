"""Two tables that differ in one household, and a publication of them with recorded noise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.mechanisms.base import list_defaults, list_names

START = datetime(2013, 2, 4, tzinfo=UTC)
STEPS, TRAIN, SIDE = 24, 48, 4
Rows = list[dict[str, Any]]
Change = Callable[[Rows, Rows], tuple[Rows, Rows]]


BOUNDS: dict[str, dict[str, float]] = {"given": {"bound_step": 5, "bound_window": 40}, "auto": {}}
"""Public bounds, and one chosen privately."""

MOSAICS: dict[str, dict[str, Any]] = {
    "beyond": {"bound_step": 5, "bound_window": 1000, "parameters": {"noise": "staircase"}},
    "regions": {"epsilon": "4000", "acknowledge": True},
}
"""More of mosaic: a stated bound that leaves the choice to it with staircase noise, and enough for regional looks."""

PUBLICATIONS = [*product(list_names(), BOUNDS), *(("mosaic", more) for more in MOSAICS)]
"""Names of mechanisms, and of how they are published."""


def settings(name: str, bound: str = "given", tables: Path = Path()) -> dict[str, Any]:
    """A publication of any mechanism, present or future, small enough to be run many times."""
    small = {"train_steps": TRAIN, "epochs": 1, "depth": 2, "buckets": 6}
    return {
        "readings": {"path": str(tables / "readings.parquet")},
        "households": {"path": str(tables / "households.parquet")},
        "extent": (0, 0, SIDE, SIDE),
        "grid": (SIDE, SIDE),
        "start": START,
        "steps": STEPS,
        "epsilon": "3",
        "mechanism": name,
        "parameters": {key: small[key] for key in list_defaults(name) if key in small},
        "no_ledger": True,
        "out": Path("release"),
        **{**BOUNDS, **MOSAICS}[bound],
    }


def town(seed: int = 0, households: int = 30) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    first = START - TRAIN * timedelta(hours=1)
    homes = [
        {"household": f"household-{i}", "x": rng.uniform(0, SIDE), "y": rng.uniform(0, SIDE)} for i in range(households)
    ]
    rows = [
        {"household": home["household"], "timestamp": first + t * timedelta(hours=1), "kwh": float(rng.gamma(1.0, 0.5))}
        for home in homes
        for t in range(TRAIN + STEPS)
    ]
    return homes, rows


def _without(homes: Rows, rows: Rows) -> tuple[Rows, Rows]:
    return [h for h in homes if h["household"] != "household-3"], [r for r in rows if r["household"] != "household-3"]


def _readings(change: dict[str, Any]) -> Change:
    return lambda homes, rows: (homes, [{**r, **change} if r["household"] == "household-3" else r for r in rows])


def _new(name: str, kwh: float) -> Change:
    often = [{"household": name, "timestamp": START + i * timedelta(minutes=7), "kwh": kwh} for i in range(99)]
    place = {"household": name, "x": 1.5, "y": 2.1}  # in a cell where nobody else lives
    return lambda homes, rows: ([*homes, place], [*rows, *often])


CHANGES: dict[str, Change] = {
    "gone": _without,
    "monstrous": _readings({"kwh": 1e300}),
    "not a number": _readings({"kwh": float("nan")}),
    "at no time": _readings({"timestamp": None}),
    "twice": lambda homes, rows: (homes, [r for r in rows for _ in range(1 + (r["household"] == "household-3"))]),
    "one negative reading": lambda homes, rows: (homes, [*rows[:-1], {**rows[-1], "kwh": -1.0}]),
    "in two places": lambda homes, rows: ([*homes, {"household": "household-3", "x": 0.5, "y": 0.5}], rows),
    "new": _new("NEW", 99.0),
    "named like markup": _new("[/x]", -1.0),
    "named like a terminal command": _new("\x1b]0;owned\x07\x1b[31m\n\x00\u202e", -1.0),
}
"""What one household may turn into without anyone noticing."""


def write(folder: Path, homes: Rows, rows: Rows) -> None:
    folder.mkdir()
    places = pa.schema([("household", pa.string()), ("x", pa.float64()), ("y", pa.float64())])
    series = pa.schema([("household", pa.string()), ("timestamp", pa.timestamp("us", "UTC")), ("kwh", pa.float64())])
    pq.write_table(pa.Table.from_pylist(homes, places), folder / "households.parquet")
    pq.write_table(pa.Table.from_pylist(rows, series), folder / "readings.parquet")


class Seen(NamedTuple):
    """What a copy of a file or folder tells."""

    content: bytes
    mode: int
    mtime_ns: int


def content(folder: Path) -> dict[str, Seen]:
    """Everything that a copy of a folder tells: names, bytes, modes and times, of folders too."""
    return {str(path.relative_to(folder)): _seen(path) for path in (folder, *sorted(folder.rglob("*")))}


def accessed(folder: Path) -> dict[str, int]:
    """When the files of a folder were last read: to be asked before anybody reads them."""
    return {path.name: path.stat().st_atime_ns for path in folder.iterdir()}


def _seen(path: Path) -> Seen:
    status = path.stat()
    return Seen(path.read_bytes() if path.is_file() else b"", status.st_mode, status.st_mtime_ns)
