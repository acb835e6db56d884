"""Publishing with a ledger: debited before anything is measured, refused before anything is read, told afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.codes import has_code
from tests.leak import town

from gridveil.mechanisms.literature.even import Even
from gridveil.model.errors import BudgetError, GridveilError, UsageError
from gridveil.publishing import run as publication
from gridveil.publishing.debit import describe_debit
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import Published, run
from gridveil.publishing.spec import make_spec
from gridveil.release.format.files import load_label
from gridveil.release.format.label import describe
from gridveil.release.query.open import open_release
from gridveil.release.verify.release import verify
from gridveil.simulate.sources import Tape
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.ledger.book import Debit, Ledger, create_ledger, open_ledger
from gridveil.trusted.ledger.population import Population
from gridveil.trusted.ledger.stores.sqlite import SqliteStore
from gridveil.trusted.source.ingest import IngestedSource

TOWN = "Meters of Borden"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    return tmp_path / "a"


@pytest.fixture
def ledger() -> Ledger:
    made = create_ledger("ledger.db")
    made.add_population(Population(TOWN, Fraction(5)))
    return made


def settings(name: str = "even", **changes: Any) -> dict[str, Any]:
    return {**town.settings(name), "no_ledger": False, "ledger": "ledger.db", **changes}


def published(name: str = "even", **changes: Any) -> Published:
    return run(make_spec(settings(name, **changes)))


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plan, "ingest", lambda _: pytest.fail("read too soon"))


def test_a_release_is_debited_recorded_and_says_so(ledger: Ledger) -> None:
    for number, spent in ((1, "3"), (2, "5")):
        out = Path(f"release-{number}")
        label = published(epsilon=3 if number == 1 else 2, out=out).label
        debit, release = [entry for entry in ledger.entries(TOWN) if entry.kind != "population"][-2:]
        facts = label.ledger_entry
        assert facts is not None
        assert (debit.kind, release.kind, release.body["debit"]) == ("debit", "release", debit.hash)
        assert (facts.hash, facts.population, facts.cap, facts.spent) == (debit.hash, TOWN, "5", spent)
        assert (out / "ledger-entry.json").read_text() == debit.text
        assert f"epsilon {spent} of at most 5." in label.ledger
        assert any(label.ledger in line for line in describe(label)[1].lines)
        assert label.ledger in (out / "README.md").read_text()
        assert load_label(out / "label.json") == label
        assert {check.verdict for check in verify(out, ledger)} == {"ok"}
    assert ledger.verify() == []


def test_over_the_cap_nothing_is_read_or_written(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    published(out=Path("first"), title="The first one")
    forbid_reading(monkeypatch)
    with pytest.raises(
        BudgetError, check=has_code("over-cap", "epsilon 3", "remaining 2 of 5", "over by 1", "'The first one'")
    ):
        published()
    assert len(ledger.entries(TOWN)) == 3
    assert not Path("release").exists()


@pytest.mark.parametrize("bound", ["given", "auto"])
def test_a_mechanisms_own_refusal_comes_before_anything_is_read_or_debited(
    bound: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the histogram of a private bound it would cost the whole budget."""
    forbid_reading(monkeypatch)
    wrong = {**town.settings("stpt", bound), "parameters": {"train_steps": 2, "depth": 2, "epochs": 1}}
    with pytest.raises(UsageError, check=has_code("stpt-training-short", "train_steps")):
        run(make_spec({**wrong, "no_ledger": False, "ledger": "ledger.db"}))
    assert len(ledger.entries(TOWN)) == 1


def test_neither_a_ledger_nor_the_word_that_there_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_reading(monkeypatch)
    with pytest.raises(UsageError) as refused:
        published(ledger=None)
    lines = [line.strip() for line in str(refused.value).splitlines()]
    assert 'gridveil ledger init ledger.db --population "Households of my town" --cap 4' in lines
    assert {"--ledger ledger.db", "--no-ledger"} <= set(lines)


def test_exact_noise_that_is_handed_over_needs_a_ledger_too(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_reading(monkeypatch)
    with pytest.raises(UsageError, check=has_code("ledger-not-stated", "--no-ledger")):
        run(make_spec(settings(ledger=None)), noise=ExactNoise())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"no_ledger": True}, ("ledger-contradiction",)),
        ({"ledger": None, "population": TOWN}, ("population-without-ledger", "--ledger")),
        ({"ledger": None, "population": TOWN, "no_ledger": True}, ("population-without-ledger", "--ledger")),
        ({"population": "Nobody"}, ("population-unknown", "Nobody")),
        ({"ledger": "elsewhere.db"}, ("ledger-missing", "gridveil ledger init")),
    ],
)
def test_what_contradicts_itself_is_refused_before_anything_is_read(
    changes: dict[str, Any], told: tuple[str, ...], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_reading(monkeypatch)
    with pytest.raises(GridveilError, check=has_code(*told)):
        published(**changes)
    assert len(ledger.entries(TOWN)) == 1


def test_test_noise_is_never_debited(ledger: Ledger) -> None:
    with pytest.raises(UsageError, check=has_code("permit-mismatch")):
        run(make_spec(settings()), noise=Tape.record(seed=1))
    assert len(ledger.entries(TOWN)) == 1


def test_a_window_of_the_calendar_has_its_own_budget_and_the_label_prints_the_sum() -> None:
    by_day = Population(TOWN, Fraction(3), "household-window", "day", "UTC")
    create_ledger("ledger.db").add_population(by_day)
    first = published(out=Path("first"))
    second = published(out=Path("second"), start=town.START - timedelta(days=1))
    facts = second.label.ledger_entry
    assert facts is not None
    assert (facts.spent, facts.spent_in_window, facts.cap) == ("6", "3", "3")
    told = second.label.ledger
    assert "Cap: epsilon 3 for the readings of a household in one day; spent up to this release on a day" in told
    assert told.endswith("does not limit the sum of all releases: epsilon 6 up to this one.")
    assert {one.question: one.loss for one in facts.attack_rates} == {
        "window_membership": 3,
        "window_behaviour": 6,
        "membership": 6,
        "behaviour": 12,
        "place": 12,
    }
    _, left, all_so_far = describe_debit(facts, Fraction(3))
    assert left == "Each day has its own cap of 3. The day read here with the least left has spent 3, and has 0 left."
    assert "epsilon 6 together" in all_so_far
    assert first.label.privacy.epsilon == 3
    one, both = ("\n".join(describe(done.label)[1].lines) for done in (first, second))
    assert "from this release" in both
    assert "up to this release. Rate" in both
    assert "up to this release. Rate" not in one
    assert "read one day, at its cap of 3" in one
    assert {check.verdict for check in verify(Path("second"), open_ledger("ledger.db"))} == {"ok"}
    with pytest.raises(BudgetError, check=has_code("over-cap", "2013-02-04")):
        published()


@pytest.mark.parametrize(("name", "reads"), [("even", "published"), ("stpt", "training")])
def test_a_read_across_a_border_of_the_calendar_is_refused_before_anything_is_read(
    name: str, reads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training window of 48 hours before a Monday crosses a day; so does a day that begins at noon."""
    create_ledger("ledger.db").add_population(Population(TOWN, Fraction(9), "household-window", "day", "UTC"))
    forbid_reading(monkeypatch)
    start = town.START if name == "stpt" else town.START.replace(hour=12)
    with pytest.raises(UsageError, check=has_code("read-crosses-windows", reads)):
        published(name, start=start)


def test_the_debit_names_the_training_window_too(ledger: Ledger) -> None:
    published("stpt")
    first, second = ledger.entries(TOWN)[1].body["reads"]
    assert first == {"name": "published", "start": "2013-02-04T00:00:00Z", "end": "2013-02-05T00:00:00Z"}
    assert second == {"name": "training", "start": "2013-02-02T00:00:00Z", "end": "2013-02-04T00:00:00Z"}
    assert {check.verdict for check in verify(Path("release"), ledger)} == {"ok"}


@pytest.mark.usefixtures("ledger")
def test_the_debit_is_on_disk_before_anything_is_asked_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = IngestedSource.bounded_cube
    kinds: list[list[str]] = []

    def spy(*arguments: Any) -> Any:
        kinds.append([entry.kind for entry in open_ledger("ledger.db").entries(TOWN)])
        return asked(*arguments)

    monkeypatch.setattr(IngestedSource, "bounded_cube", spy)
    published()
    assert kinds == [["population", "debit"]]


def test_nothing_of_the_input_is_in_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path, file, column, household or count; and neighbours' debits differ in nothing but nonce, time and chain."""
    homes, rows = town.town()
    bodies = []
    for what in ("unchanged", "gone", "in two places"):
        folder = tmp_path / f"canary_folder_{what}"
        changed = town.CHANGES.get(what, lambda *tables: tables)(homes, rows)
        town.write(folder, *changed)
        monkeypatch.chdir(folder)
        table = pq.read_table("readings.parquet").rename_columns(["canary_id", "canary_time", "canary_kwh"])
        pq.write_table(table, "canary_readings.parquet")
        columns = {"household": "canary_id", "timestamp": "canary_time", "energy": "canary_kwh"}
        mine = create_ledger("canary_ledger.db")
        mine.add_population(Population(TOWN, Fraction(5)))
        published(ledger="canary_ledger.db", readings={"path": "canary_readings.parquet", **columns})
        _, debit, release = mine.entries(TOWN)
        told = debit.text + release.text
        assert "canary" not in told
        assert "household-" not in told
        assert str(len(changed[1])) not in json.dumps(debit.body)
        bodies.append(debit.body)
    assert all(body == bodies[0] for body in bodies)


def fail(*_: object, **__: object) -> None:
    msg = "the disk is full"
    raise OSError(28, msg)


def test_a_debit_that_cannot_be_written_leaves_no_release(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStore, "append", fail)
    monkeypatch.setattr(IngestedSource, "bounded_cube", lambda *_: pytest.fail("answered without a debit"))
    with pytest.raises(OSError, match="full") as stopped:
        published()
    assert not getattr(stopped.value, "__notes__", [])
    assert not Path("release").exists()
    assert len(ledger.entries(TOWN)) == 1


def test_a_debit_whose_end_is_not_known_leaves_no_release(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was written, and then the store failed: taken as spent, and nothing is answered."""
    append = SqliteStore.append

    def half(self: SqliteStore, population: str, make: Callable[..., Any]) -> None:
        append(self, population, make)
        fail()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "append", half)
        patch.setattr(IngestedSource, "bounded_cube", lambda *_: pytest.fail("answered without a debit"))
        with pytest.raises(OSError, match="full"):
            published()
    assert not Path("release").exists()
    assert [entry.kind for entry in ledger.entries(TOWN)] == ["population", "debit"]
    monkeypatch.setattr(Debit, "use", fail)
    with pytest.raises(OSError, match="full"):
        published(epsilon=1)
    assert len(ledger.entries(TOWN)) == 2


@pytest.mark.parametrize("broken", ["write_release", "make_label"])
def test_a_failure_after_the_debit_says_what_stays_spent(
    broken: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, broken, fail)
    with pytest.raises((UsageError, OSError), match="full") as stopped:
        published()
    debit = ledger.entries(TOWN)[-1]
    assert debit.kind == "debit"
    (note,) = stopped.value.__notes__
    assert note.startswith(f"epsilon 3 stays debited to population '{TOWN}', with no release (entry {debit.hash[:12]})")
    assert note.endswith("gridveil ledger show ledger.db")
    assert not Path("release").exists()


def test_a_release_that_another_process_put_there_meanwhile_stays(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def late(aside: Path, target: Path) -> Path:
        if target.name == "release":
            target.mkdir()
            (target / "label.json").touch()
        return rename(aside, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(UsageError, check=has_code("out-taken-meanwhile")) as stopped:
        published()
    assert "nothing is there" not in str(stopped.value)
    assert "stays debited" in stopped.value.__notes__[0]
    assert [file.name for file in Path("release").iterdir()] == ["label.json"]
    assert ledger.entries(TOWN)[-1].kind == "debit"


def test_amounts_of_a_label_are_decimals_and_verify_reads_them(ledger: Ledger) -> None:
    done = published(epsilon="1.3")
    assert '"spent": "1.3"' in Path("release/label.json").read_text()
    assert load_label(Path("release/label.json")) == done.label
    assert {check.verdict for check in verify(Path("release"), ledger)} == {"ok"}


def test_a_release_that_cannot_be_recorded_is_valid_all_the_same(ledger: Ledger) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "record_release", fail)
        done = published()
    (warning,) = done.warnings
    assert warning.code == "release-not-recorded"
    assert open_release(done.path).query().standard_error > 0
    assert [entry.kind for entry in ledger.entries(TOWN)] == ["population", "debit"]
    assert {check.verdict for check in verify(done.path)} == {"ok"}
    *_, last = verify(done.path, ledger)
    assert (last.verdict, "no record of these files" in last.finding) == ("FAULT", True)


def test_a_mechanism_that_asks_nothing_makes_no_release(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Even, "release", lambda *_: None)
    with pytest.raises(UsageError, check=has_code("nothing-measured")):
        published()
    assert len(ledger.entries(TOWN)) == 1
