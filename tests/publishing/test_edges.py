"""Numbers at the edge: publications of them end in a release that opens and answers, or in a sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.oracle import refusal
from tests.leak.town import settings, town, write

from gridveil.mechanisms.base import list_names
from gridveil.model.errors import BudgetError, GridveilError, UsageError
from gridveil.publishing.run import run
from gridveil.publishing.spec import make_spec
from gridveil.release.query.open import open_release
from gridveil.trusted.budget import MAX_HOUSEHOLDS, MAX_WINDOW_BOUND, Bound

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
AUTO: dict[str, Any] = {"bound_step": None, "bound_window": None}
OPEN_ENDED = {"epsilon": "1e9", "acknowledge": True}

PUBLISHED: dict[str, dict[str, Any]] = {
    "nobody": {},
    "nobody, private bound": AUTO,
    "one step": {"steps": 1},
    "one step, private bound": {"steps": 1, **AUTO},
    "one cell": {"grid": (1, 1)},
    "one cell and step": {"grid": (1, 1), "steps": 1},
    "one column": {"grid": (1, 5), "steps": 3},
    "epsilon next to nothing": {"epsilon": "1e-6"},
    "epsilon without limit": OPEN_ENDED,
    "epsilon without limit, private bound": {**OPEN_ENDED, **AUTO},
    "one Wh": {"bound_step": 0.001, "bound_window": 0.001},
    "the largest bound": {"bound_step": 100, "bound_window": MAX_WINDOW_BOUND / 1000},
    "steps of a second": {"step": 1, "steps": 5},
    "steps of a year": {"step": "366d", "steps": 2, "bound_step": 1000, "bound_window": 2000},
    "long ago": {"start": "1001-02-03", "steps": 3},
    "a clock of 1890": {"start": "1890-02-03", "steps": 3, "zone": "Europe/Amsterdam"},
    "a clock 45 minutes off": {"zone": "Pacific/Chatham"},
}


EVERY = [(name, edge) for name in list_names() for edge in PUBLISHED]
FEW = [("identity", edge) for edge in PUBLISHED] + [
    (name, edge) for name in ("fourier", "ug") for edge in list(PUBLISHED)[:6]
]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("towns")
    write(top / "some", *town(households=6))
    write(top / "none", [], [])
    return top


def spec(towns: Path, where: str, out: Path, mechanism: str = "identity", **changes: Any) -> dict[str, Any]:
    readings = {"path": str(towns / where / "readings.parquet"), "timezone": changes.pop("zone", "UTC")}
    homes = {"path": str(towns / where / "households.parquet")}
    start = "2013-02-04"
    return settings(mechanism) | {"readings": readings, "households": homes, "start": start, "out": out} | changes


@pytest.mark.parametrize(("mechanism", "edge"), EVERY if LONG else FEW)
def test_it_publishes_or_says_why_not(towns: Path, tmp_path: Path, mechanism: str, edge: str) -> None:
    """Warnings of numpy are errors here."""
    where = "none" if edge.startswith("nobody") else "some"
    said = refusal(lambda: run(make_spec(spec(towns, where, tmp_path / "out", mechanism, **PUBLISHED[edge]))))
    if mechanism in {"identity", "fourier", "ug"} or edge.startswith("nobody"):
        assert said is None
    if said is None:
        release = open_release(tmp_path / "out")
        release.query()
        release.cells(0, 1)
    else:
        assert not (tmp_path / "out").exists()


REFUSED: dict[str, tuple[dict[str, Any], type[GridveilError]]] = {
    **{
        f"epsilon {text}": ({"epsilon": text}, BudgetError)
        for text in ("0", "-1", "nan", "inf", "1e-300", "1e-31", "x", "")
    },
    "epsilon 1e9, not acknowledged": ({"epsilon": "1e9"}, BudgetError),
    "epsilon beyond counting": ({"epsilon": "1e400", "acknowledge": True}, BudgetError),
    "an extent of no width": ({"extent": (1, 0, 1, 4)}, UsageError),
    "an extent of no height": ({"extent": (0, 2, 4, 2)}, UsageError),
    "sums beyond 64 bits": (
        {"bound_step": 100, "bound_window": MAX_WINDOW_BOUND / 1000 + 1, "steps": 10**6},
        UsageError,
    ),
    "sums beyond 64 bits, many steps": ({"bound_step": 80, "bound_window": None, "steps": 10**6}, UsageError),
    "products beyond doubles": ({"bound_step": 10**6, "bound_window": 10**7, "steps": 100}, UsageError),
    "too early to open": ({"start": "0999-12-31"}, UsageError),
    "in the future": ({"start": "8990-02-03", "steps": 3}, UsageError),
    "too late to open": ({"start": "9001-01-01"}, UsageError),
    "beyond the calendar": ({"start": "9999-12-31"}, UsageError),
    "the calendar's first day": ({"start": "0001-01-01"}, UsageError),
    "too many cells": ({"grid": (2**18, 2**18)}, UsageError),
    "too long an axis": ({"grid": (2**22 + 1, 1), "steps": 1}, UsageError),
    "a title too long": ({"title": "x" * 70_000}, UsageError),
    "a map with heights": ({"crs": "EPSG:4979"}, UsageError),
}


@pytest.mark.parametrize("edge", REFUSED)
def test_it_is_refused_before_a_row_is_read(
    towns: Path, tmp_path: Path, edge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridveil.publishing.plan.Plan.ingest", lambda _: pytest.fail("too late"))
    changes, kind = REFUSED[edge]
    with pytest.raises(kind):
        run(make_spec(spec(towns, "some", tmp_path / "out", **changes)))


def test_the_largest_bound_times_all_households_just_fits() -> None:
    assert Bound(1000, MAX_WINDOW_BOUND).window * (MAX_HOUSEHOLDS - 1) < 2**63
    assert MAX_WINDOW_BOUND * MAX_HOUSEHOLDS == 2**63
