"""Two tables that differ in one household, and a publication of them with recorded noise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.mechanisms.registry import defaults

START = datetime(2013, 2, 4, tzinfo=UTC)
STEPS, TRAIN, SIDE = 24, 48, 4
Rows = list[dict[str, Any]]


def settings(name: str) -> dict[str, Any]:
    """A publication of any mechanism, present or future, small enough to be run many times."""
    small = {"train_steps": TRAIN, "epochs": 1, "depth": 2, "buckets": 6}
    return {
        "readings": {"path": "readings.parquet"},
        "households": {"path": "households.parquet"},
        "extent": (0, 0, SIDE, SIDE),
        "grid": (SIDE, SIDE),
        "start": START,
        "steps": STEPS,
        "bound_step": 5,
        "bound_window": 40,
        "epsilon": "3",
        "mechanism": name,
        "parameters": {key: small[key] for key in defaults(name) if key in small},
        "out": Path("release"),
    }


def town(seed: int = 0, households: int = 30) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(seed)
    first = START - TRAIN * timedelta(hours=1)
    homes = [{"household": f"H{i}", "x": rng.uniform(0, SIDE), "y": rng.uniform(0, SIDE)} for i in range(households)]
    rows = [
        {"household": home["household"], "timestamp": first + t * timedelta(hours=1), "kwh": float(rng.gamma(1.0, 0.5))}
        for home in homes
        for t in range(TRAIN + STEPS)
    ]
    return homes, rows


def poison(rng: np.random.Generator) -> Callable[[Rows, Rows], tuple[Rows, Rows]]:
    """A change of one household that no one may notice: gone, monstrous, malformed, in two places, or new."""
    kinds: list[Callable[[Rows, Rows], tuple[Rows, Rows]]] = [
        lambda homes, rows: ([h for h in homes if h["household"] != "H3"], [r for r in rows if r["household"] != "H3"]),
        lambda homes, rows: (homes, [{**r, "kwh": 1e300} if r["household"] == "H3" else r for r in rows]),
        lambda homes, rows: (homes, [{**r, "kwh": float("nan")} if r["household"] == "H3" else r for r in rows]),
        lambda homes, rows: (homes, [r for r in rows for _ in range(1 + (r["household"] == "H3"))]),
        lambda homes, rows: ([*homes, {"household": "H3", "x": 0.5, "y": 0.5}], rows),
        lambda homes, rows: (
            [*homes, {"household": "NEW", "x": float(rng.uniform(0, SIDE)), "y": 0.1}],
            [
                *rows,
                *({"household": "NEW", "timestamp": START + i * timedelta(minutes=7), "kwh": 99.0} for i in range(99)),
            ],
        ),
        lambda homes, rows: (homes, [{**r, "timestamp": None} if r["household"] == "H3" else r for r in rows]),
    ]
    return kinds[int(rng.integers(len(kinds)))]


def write(folder: Path, homes: Rows, rows: Rows) -> None:
    folder.mkdir()
    places = pa.schema([("household", pa.string()), ("x", pa.float64()), ("y", pa.float64())])
    series = pa.schema([("household", pa.string()), ("timestamp", pa.timestamp("us", "UTC")), ("kwh", pa.float64())])
    pq.write_table(pa.Table.from_pylist(homes, places), folder / "households.parquet")
    pq.write_table(pa.Table.from_pylist(rows, series), folder / "readings.parquet")


def content(folder: Path) -> dict[str, bytes]:
    """Every name and byte below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
