"""Two publishers at once: one ledger with room for one, and one place for two releases."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from tests.resilience.conftest import new_ledger
from tests.resilience.kills import check

from gridveil.model.errors import GridveilError
from gridveil.publishing import plan
from gridveil.publishing import run as publication
from gridveil.publishing.spec import make_spec
from gridveil.trusted.source.ingest import ingest

together: Barrier


def meet(barrier: Barrier) -> None:
    global together  # noqa: PLW0603  # what a pool hands to its processes when they start
    together = barrier


def publish(settings: dict[str, Any]) -> tuple[str, str]:
    """Publish; the other one is waited for when the tables are read, which is after all that is checked before."""

    def read(*asked: Any) -> Any:
        found = ingest(*asked)
        together.wait(120)
        return found

    plan.ingest = read  # type: ignore[assignment]  # a stand-in
    try:
        publication.run(make_spec(settings))
    except GridveilError as error:
        return type(error).__name__, "\n".join([str(error), *getattr(error, "__notes__", [])])
    return "published", ""


AtOnce = Callable[..., list[tuple[str, str]]]


@pytest.fixture(scope="module")
def at_once() -> Iterator[AtOnce]:
    """Publish in two processes at once, and return how they ended, sorted."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, meet, (spawn.Barrier(2),)) as pool:
        yield lambda *settings: sorted(pool.map(publish, settings))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_ledger_with_room_for_one(
    store: str, at_once: AtOnce, settings: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where = str(tmp_path / "ledger.db") if store == "sqlite" else request.getfixturevalue("new_postgres")()
    ledger = new_ledger(where, "3/2")
    (tmp_path / "out").mkdir()
    outs = [tmp_path / "out" / name for name in ("one", "two")]
    (refused, said), (published, _) = at_once(*({**settings, "out": out, "ledger": where} for out in outs))
    assert (refused, published) == ("BudgetError", "published")
    assert "requested epsilon 1" in said
    assert "remaining 0.5" in said
    assert [entry.kind for entry in ledger.entries("town")] == ["population", "debit", "release"]
    [place] = (tmp_path / "out").iterdir()
    check(ledger, [place])


def test_two_releases_for_one_place(at_once: AtOnce, settings: dict[str, Any], tmp_path: Path) -> None:
    """Both are debited, for both were measured; the first one stays as it is, and the other leaves nothing."""
    ledger = new_ledger(str(tmp_path / "ledger.db"), 2)
    out = tmp_path / "out" / "release"
    same = {**settings, "out": out, "ledger": ledger.where}
    ends = dict(at_once(same, same))
    assert len(ends) == 2
    assert "published" in ends
    said = next(said for end, said in ends.items() if end != "published")
    assert "release" in said
    assert "epsilon 1 stays debited" in said
    assert list(out.parent.iterdir()) == [out]
    assert ledger.standing("town").spent == Fraction(2)
    check(ledger, [out])
