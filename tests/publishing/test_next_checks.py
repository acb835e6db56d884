"""What a series is refused for before anything is read: its folder, its ledger, files that are missing."""

from __future__ import annotations

import shutil
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests import lake
from tests.codes import has_code

from gridveil import publish_next
from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.publishing.next_checks import check_calendar
from gridveil.publishing.run import Published
from gridveil.publishing.schedule import Schedule
from gridveil.publishing.spec import make_spec
from gridveil.release.format.files import ENTRY
from gridveil.release.series.catalogue import read_catalogue
from gridveil.trusted.ledger.book import create_ledger, open_ledger
from gridveil.trusted.ledger.population import Population


@pytest.fixture
def days(tmp_path: Path) -> dict[str, Any]:
    lake.write_lake(tmp_path / "lake", date(2013, 1, 7), 3)
    return lake.settings(tmp_path / "lake", tmp_path / "series", "2013-01-07", cadence="day", bound_window=40)


@pytest.mark.parametrize("out", ["lake", ".", "lake/series", "lake/2013/series"])
def test_a_series_and_private_tables_are_apart(days: dict[str, Any], tmp_path: Path, out: str) -> None:
    with pytest.raises(UsageError, check=has_code("series-inside-other")):
        publish_next(**{**days, "out": tmp_path / out})
    assert not list(tmp_path.rglob("catalogue.json"))
    assert not list(tmp_path.rglob(".gridveil*"))


def test_nor_is_the_households_table_in_it(days: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "series").mkdir()
    kept = shutil.copy(tmp_path / "lake/households.parquet", tmp_path / "series")
    with pytest.raises(UsageError, check=has_code("series-inside-other", "households.parquet")):
        publish_next(**{**days, "households": kept})


@pytest.mark.parametrize(
    ("cadence", "window", "zone", "fits"),
    [
        ("week", "week", "Europe/London", True),
        ("day", "week", "Europe/London", True),
        ("week", "week", "UTC", False),
        ("month", "week", "Europe/London", False),
    ],
)
def test_a_ledger_by_another_clock_is_refused_at_once(
    days: dict[str, Any], tmp_path: Path, cadence: str, window: str, zone: str, *, fits: bool
) -> None:
    """In January the clocks of London and UTC agree; in April they do not."""
    where = str(tmp_path / "ledger.db")
    create_ledger(where).add_population(Population("town", Fraction(2), "household-window", window, zone))
    start = "2013-01-01" if cadence == "month" else "2013-01-07"
    settings = {**days, "cadence": cadence, "start": start, "ledger": where, "no_ledger": False}
    if fits:
        spec = make_spec(settings)
        check_calendar(spec, Schedule.of(spec))
        return
    named = f"{window}s of {zone}", f"{cadence}s of Europe/London", "--timezone Europe/London"
    with pytest.raises(UsageError, check=has_code("calendars-differ", *named)):
        publish_next(**settings)


def test_a_ledger_that_is_not_there_is_made_with_the_flags_of_the_series(days: dict[str, Any], tmp_path: Path) -> None:
    flags = r"--unit household-window --window day --timezone Europe/London"
    with pytest.raises(
        InputError, check=has_code("series-ledger-missing", "town.db --population NAME --cap EPSILON " + flags)
    ):
        publish_next(**{**days, "ledger": tmp_path / "town.db", "no_ledger": False})
    with pytest.raises(UsageError, check=has_code("ledger-not-stated", f"--cap 4 {flags}")):
        publish_next(**{**days, "no_ledger": False})


def test_a_last_interval_that_has_not_arrived_is_waited_for(days: dict[str, Any], tmp_path: Path) -> None:
    settings = {**days, "readings": {**days["readings"], "timestamps": "end"}}
    for _ in range(2):
        assert isinstance(publish_next(**settings), Published)
    with pytest.raises(InputError, check=has_code("series-files-missing", "2013/01/10/*.parquet")):
        publish_next(**settings)
    (tmp_path / "lake/2013/01/10").mkdir()
    shutil.copy(tmp_path / "lake/2013/01/09/part-0.parquet", tmp_path / "lake/2013/01/10")
    assert isinstance(publish_next(**settings), Published)


def test_a_release_that_was_moved_away_is_missed(days: dict[str, Any], tmp_path: Path) -> None:
    for _ in range(2):
        publish_next(**days)
    (tmp_path / "series/2013-01-07").rename(tmp_path / "away")
    with pytest.raises(InputError, check=has_code("series-release-missing", "2013-01-07")):
        publish_next(**days)


def with_ledger(days: dict[str, Any], name: str = "town.db", population: str = "town") -> dict[str, Any]:
    where = str(days["out"].parent / name)
    calendar = ("household-window", "day", "Europe/London")
    create_ledger(where).add_population(Population(population, Fraction(9), *calendar))
    return {**days, "ledger": where, "no_ledger": False}


def lose(ledger: str) -> None:
    for path in Path(ledger).parent.glob(f"{Path(ledger).name}*"):
        path.unlink()


def test_a_fresh_ledger_does_not_go_on_with_a_series(days: dict[str, Any], tmp_path: Path) -> None:
    """Its label would tell the sum of one release."""
    settings = with_ledger(days)
    for _ in range(2):
        publish_next(**settings)
    shutil.rmtree(tmp_path / "lake")  # so that nothing can be read
    lose(settings["ledger"])
    with pytest.raises(InputError, check=has_code("series-ledger-missing", "bring back the ledger")):
        publish_next(**settings)
    with_ledger(days)
    with pytest.raises(
        InputError, check=has_code("debit-missing", "'town'", "2013-01-07, 2013-01-08", "gridveil ledger verify")
    ):
        publish_next(**settings)
    assert [entry.kind for entry in open_ledger(settings["ledger"]).entries("town")] == ["population"]
    assert len(read_catalogue(days["out"]).releases) == 2


def test_nor_does_another_population_or_an_old_copy(days: dict[str, Any]) -> None:
    settings = with_ledger(days)
    publish_next(**settings)
    kept = {path: path.read_bytes() for path in days["out"].parent.glob("town.db*")}
    publish_next(**settings)
    with_ledger(days, population="village")
    with pytest.raises(InputError, check=has_code("debit-missing", "'village'")):
        publish_next(**{**settings, "population": "village"})
    lose(settings["ledger"])
    for path, content in kept.items():
        path.write_bytes(content)
    with pytest.raises(InputError, check=has_code("debit-missing", "'town'", "2013-01-08")):
        publish_next(**settings)


def test_an_entry_that_was_deleted_is_looked_for_in_the_label(days: dict[str, Any]) -> None:
    settings = with_ledger(days)
    publish_next(**settings)
    (days["out"] / "2013-01-07" / ENTRY).unlink()
    with pytest.raises(InputError, check=has_code("debit-missing", "2013-01-07")):
        publish_next(**with_ledger(days, "other.db"))
    assert isinstance(publish_next(**settings), Published)


def test_releases_that_no_ledger_counted_are_told_of(days: dict[str, Any]) -> None:
    """A ledger that comes later cannot know them, and their labels say that nobody kept count."""
    publish_next(**days)
    done = publish_next(**with_ledger(days))
    assert isinstance(done, Published)
    assert {"code": "releases-without-ledger", "releases": 1} in [warning.to_record() for warning in done.warnings]
    assert not publish_next(**days).warnings


def test_a_ledger_in_a_database_that_is_gone_is_not_made_anew(days: dict[str, Any]) -> None:
    publish_next(**with_ledger(days))
    gone = {**days, "ledger": "postgresql://nobody@127.0.0.1:1/nothing", "no_ledger": False}
    with pytest.raises(GridveilError) as told:
        publish_next(**gone)
    assert "were debited to a ledger: if it is gone, bring back" in told.value.__notes__[0]
