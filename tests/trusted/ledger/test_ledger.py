"""Debits, refusals and releases, in both stores."""

import json
import re
import sys
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest
from tests.codes import has_code
from tests.trusted.ledger.books import DAY, FILES, MONDAY, TOWN, WEEKS, read, spend
from tests.trusted.ledger.forgery import tampering

from gridveil.model.errors import BudgetError, InputError, UsageError
from gridveil.model.window import Window
from gridveil.trusted.ledger import entry as entries
from gridveil.trusted.ledger.book import create_ledger, open_ledger
from gridveil.trusted.ledger.entry import Entry
from gridveil.trusted.ledger.population import Population, Read


def test_ten_tenths_make_one_and_an_eleventh_is_refused(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    for _ in range(10):
        spend(ledger, "0.1")
    with pytest.raises(
        BudgetError, check=has_code("over-cap", "epsilon 0.1", "remaining 0 of 1", "over by 0.1", "nothing was")
    ):
        spend(ledger, "0.1")
    assert ledger.standing("town").remaining == 0
    assert len(ledger.entries("town")) == 11
    assert ledger.verify() == []


def test_a_ledger_is_the_same_for_who_opens_it_next(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    ledger.add_population(WEEKS)
    debit = spend(ledger, "0.25", population="town")
    assert debit.entry is not None
    release = ledger.record_release(debit.entry.hash, FILES)
    for other in (open_ledger(where), create_ledger(where)):
        assert other.populations() == [TOWN, WEEKS]
        assert other.entries("town")[1:] == [debit.entry, release]
        assert other.verify() == []
        assert other.check_against(ledger.entries("town") + ledger.entries("weeks")) == []


def test_an_entry_holds_what_it_should_and_its_hash_is_of_its_text(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(WEEKS)
    entry = spend(ledger, "0.1", DAY).entry
    assert entry is not None
    assert entry.body == {"epsilon": "1/10", "reads": [DAY.body()], "spec": {"title": "a release"}}
    assert set(json.loads(entry.text)) == {"version", "kind", "population", "number", "previous", "at", "nonce", "body"}
    assert Entry.from_text(entry.text) == entry
    founded = ledger.entries("weeks")[0]
    assert founded.body == {"cap": "1", "unit": "household-window", "window": "week", "timezone": "Europe/London"}
    assert (founded.previous, entry.previous) == (64 * "0", founded.hash)
    assert founded.nonce != entry.nonce


def test_a_refusal_names_who_spent_it(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    for number in range(12):
        spend(ledger, "0.08", title=f"number {number}")
    with pytest.raises(BudgetError) as refused:
        ledger.permit("town", Fraction(1, 3), [DAY], {})
    told = str(refused.value)
    assert "requested epsilon 1/3, remaining 0.04 of 1, over by 22/75" in told
    assert "'number 11' (20" in told
    assert "epsilon 0.08), and 2 earlier." in told
    assert "'number 1'" not in told


def test_a_permit_that_was_in_time_is_refused_if_another_was_faster(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    slow = ledger.permit(None, Fraction(1, 2), [DAY], {})
    spend(ledger, "0.75")
    with pytest.raises(BudgetError, check=has_code("over-cap", "remaining 0.25")):
        slow.use()
    assert slow.entry is None
    assert ledger.standing("town").spent == Fraction(3, 4)


def test_a_permit_writes_nothing_until_it_is_used_and_is_used_once(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    settings = {"title": "first", "grid": [32, 32]}
    permit = ledger.permit("town", Fraction(1, 2), [DAY], settings)
    assert len(ledger.entries("town")) == 1
    settings["title"] = "changed after the check"
    permit.use()
    assert permit.entry is not None
    assert permit.entry.body["spec"] == {"title": "first", "grid": [32, 32]}
    with pytest.raises(UsageError, check=has_code("debit-used")):
        permit.use()
    assert len(ledger.entries("town")) == 2


def test_windows_have_budgets_of_their_own_and_membership_loses_the_sum(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(WEEKS)
    training = Read("training", MONDAY - timedelta(days=3), MONDAY)
    first = spend(ledger, "0.75", DAY, training).standing
    assert first is not None
    assert first.windows == {"2013-W05": Fraction(3, 4), "2013-W06": Fraction(3, 4)}
    second = spend(ledger, "1", read(MONDAY + timedelta(weeks=1), days=1)).standing
    assert second is not None
    assert (second.spent, second.worst, second.windows) == (Fraction(7, 4), 1, {"2013-W07": 1})  # type: ignore[comparison-overlap]  # a fraction equals an int
    with pytest.raises(BudgetError, check=has_code("over-cap", "2013-W05", "epsilon 0.5", "remaining 0.25 of 1")):
        spend(ledger, "0.5", training)
    whole = ledger.standing("weeks")
    assert (whole.spent, whole.worst, whole.remaining) == (Fraction(7, 4), 1, 0)  # type: ignore[comparison-overlap]  # a fraction equals an int
    assert list(whole.windows) == ["2013-W05", "2013-W06", "2013-W07"]


def test_two_reads_in_one_window_are_charged_once(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(WEEKS)
    later = Read("published", DAY.end, DAY.end + timedelta(days=1))
    standing = spend(ledger, "1", Read("training", DAY.start, DAY.end), later).standing
    assert standing is not None
    assert standing.windows == {"2013-W06": 1}


def test_a_read_across_a_border_is_refused_with_how_to_choose(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(WEEKS)
    across = read(MONDAY - timedelta(hours=1), hours=2)
    with pytest.raises(
        UsageError, check=has_code("read-crosses-windows", "2013-W05", "2013-W06", "2013-02-04T00:00:00Z")
    ):
        ledger.permit(None, Fraction(1, 2), [DAY, across], {})
    assert len(ledger.entries("weeks")) == 1


def test_a_window_is_covered_by_one_read_and_not_by_two_that_meet(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(WEEKS)
    hour = timedelta(hours=1)
    published = Window(MONDAY, hour, 24)
    training = published.before(48)
    permit = ledger.permit(None, Fraction(1), [Read.of("published", published), Read.of("training", training)], {})
    assert permit.covers(published)
    assert permit.covers(training)
    assert permit.covers(Window(MONDAY + hour, hour, 23))
    assert not permit.covers(Window(MONDAY - hour, hour, 2))
    assert not permit.covers(Window(MONDAY, hour, 25))
    assert not permit.covers(published.before(49))


def test_the_population_must_be_named_when_there_are_several_or_none(where: str) -> None:
    ledger = create_ledger(where)
    with pytest.raises(UsageError, check=has_code("population-unknown", "none yet")):
        spend(ledger, "1")
    ledger.add_population(TOWN)
    spend(ledger, "0.5")
    ledger.add_population(WEEKS)
    with pytest.raises(UsageError, check=has_code("population-unknown", "town, weeks")):
        spend(ledger, "0.5")
    with pytest.raises(UsageError, check=has_code("population-unknown", "village", "town, weeks")):
        spend(ledger, "0.5", population="village")
    with pytest.raises(UsageError, check=has_code("population-exists")):
        ledger.add_population(Population("town", Fraction(100)))
    assert ledger.standing("town").cap == 1


def test_an_entry_does_not_tell_how_long_a_publication_took(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    debit = spend(ledger, "0.5").entry
    assert debit is not None
    ledger.record_release(debit.hash, FILES)
    for entry in ledger.entries("town"):
        beside_reads = {**json.loads(entry.text), "body": {**entry.body, "reads": None}}
        assert not re.search(r"\d\d:\d\d", json.dumps(beside_reads))
        assert date.fromisoformat(entry.at).isoformat() == entry.at


def test_a_damaged_chain_is_named_to_who_has_one_population(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    with tampering(where) as execute:
        execute("INSERT INTO heads VALUES ('stray', 0, 'x')")
    for use in (ledger.populations, lambda: spend(ledger, "0.5")):
        with pytest.raises(InputError, check=has_code("ledger-damaged", "population stray", "gone")):
            use()


def test_a_release_is_recorded_once_under_a_debit(where: str) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    debit = spend(ledger, "0.5").entry
    assert debit is not None
    with pytest.raises(InputError, check=has_code("debit-unknown")):
        ledger.record_release(64 * "0", FILES)
    with pytest.raises(InputError, check=has_code("debit-unknown")):
        ledger.record_release(debit.previous, FILES)  # of the population
    for files in ({}, {"a": "b"}, {"": 64 * "a"}):
        with pytest.raises(UsageError, check=has_code("release-digests")):
            ledger.record_release(debit.hash, files)
    assert ledger.record_release(debit.hash, FILES).body == {"debit": debit.hash, "files": FILES}
    with pytest.raises(UsageError, check=has_code("debit-released")):
        ledger.record_release(debit.hash, FILES)
    assert ledger.verify() == []


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 10**101), 0.5])
def test_amounts_are_exact_positive_and_not_endless(sqlite: str, epsilon: Fraction) -> None:
    ledger = create_ledger(sqlite)
    ledger.add_population(TOWN)
    with pytest.raises(BudgetError, check=has_code("debit-amount")):
        ledger.permit(None, epsilon, [DAY], {})


@pytest.mark.parametrize("spec", [{"a": float("nan")}, {"a": {1, 2}}, {"a": MONDAY}, {1: 2, "b": 3}])
def test_public_settings_are_plain_values(sqlite: str, spec: dict[str, object]) -> None:
    ledger = create_ledger(sqlite)
    ledger.add_population(TOWN)
    with pytest.raises(UsageError, check=has_code("debit-settings")):
        ledger.permit(None, Fraction(1), [DAY], spec)
    with pytest.raises(UsageError, check=has_code("debit-without-read")):
        ledger.permit(None, Fraction(1), [], {})


def test_a_clock_that_goes_backwards_changes_nothing_but_the_text(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create_ledger(where)
    ledger.add_population(TOWN)
    for year in (2030, 1999, 2001):
        monkeypatch.setattr(entries, "today", lambda year=year: f"{year}-01-01")
        spend(ledger, "0.3")
    with pytest.raises(BudgetError):
        spend(ledger, "0.3")
    assert [entry.at[:4] for entry in ledger.entries("town")[1:]] == ["2030", "1999", "2001"]
    assert ledger.verify() == []
    assert date.fromisoformat(ledger.entries("town")[0].at) <= datetime.now(UTC).date()


def test_what_is_neither_file_nor_postgresql_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as refused:
        open_ledger("mysql://user:hunter2@host/db")
    assert "hunter2" not in str(refused.value)


def test_postgresql_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, check=has_code("extra-missing", "gridveil[postgres]")):
        open_ledger("postgresql://host/db")
