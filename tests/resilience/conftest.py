"""A town of three households, ledgers, and a nursery of publishers that can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.trusted.ledger.postgres import server

from gridveil.trusted.ledger.book import Ledger, create_ledger
from gridveil.trusted.ledger.population import Population

START = datetime(2013, 2, 4, tzinfo=UTC)
STEPS = 4
NURSERY = Path(__file__).parent / "nursery.py"
Publish = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the town's tables."""
    folder = tmp_path_factory.mktemp("town")
    names = ("a", "b", "c")
    moments = [START + t * timedelta(hours=1) for t in range(STEPS)]
    readings = {
        "household": [name for name in names for _ in moments],
        "timestamp": pa.array(len(names) * moments, pa.timestamp("us", "UTC")),
        "kwh": [0.5 * i for i in range(len(names) * STEPS)],
    }
    pq.write_table(pa.table(readings), folder / "readings.parquet")
    pq.write_table(pa.table({"household": names, "x": [0.5, 1.5, 1.5], "y": [0.5] * 3}), folder / "households.parquet")
    return folder


@pytest.fixture(scope="session")
def settings(tables: Path) -> dict[str, Any]:
    """A quick publication of it, as JSON can carry it; `out` and `ledger` are to be added."""
    return {
        "readings": {"path": str(tables / "readings.parquet")},
        "households": {"path": str(tables / "households.parquet")},
        "extent": [0, 0, 2, 1],
        "grid": [2, 1],
        "start": START.isoformat(),
        "steps": STEPS,
        "epsilon": "1",
        "bound_step": 5,
        "bound_window": 10,
        "mechanism": "identity",
    }


@pytest.fixture(scope="session")
def publisher(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publish]:
    """Publish in a process of its own, killed where wanted; returns what it told."""
    start = [sys.executable, str(NURSERY), str(tmp_path_factory.mktemp("nursery"))]
    with subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin
        assert nursery.stdout

        def publish(
            out: Path,
            ledger: str,
            *,
            kill: tuple[str, float] | None = None,
            fill: tuple[str, int] | None = None,
            **more: Any,
        ) -> dict[str, Any]:
            job = {"settings": {**settings, "out": str(out), "ledger": ledger, **more}, "kill": kill, "fill": fill}
            print(json.dumps(job), file=nursery.stdin, flush=True)
            told: dict[str, Any] = json.loads(nursery.stdout.readline())
            return told

        yield publish


def new_ledger(where: str, cap: str | int) -> Ledger:
    """Make a ledger of one population, `town`."""
    ledger = create_ledger(where)
    ledger.add_population(Population("town", Fraction(cap)))
    return ledger


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], str]]:
    """A function that returns the URL of a new, empty database on a real server."""
    with server() as new:
        yield new
