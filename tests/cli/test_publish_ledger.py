"""`publish` and `verify` with a ledger, as people run them: what is said where, and with which exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from tests.leak import town

from gridveil.cli.main import main
from gridveil.mechanisms.literature.even import Even
from gridveil.publishing import run as publication
from gridveil.trusted.ledger.book import Ledger, create_ledger
from gridveil.trusted.ledger.population import Population

TOWN = "Meters of Borden"
TABLES = "publish readings.parquet --households households.parquet --extent 0,0,4,4 --grid 4x4"
LINE = f"{TABLES} --start 2013-02-04T00:00 --steps 24 --bound-step 5 --bound-window 40 --epsilon 3 --mechanism even"


@dataclass(frozen=True)
class CommandResult:
    code: object
    out: str
    err: str


Say = Callable[[str], CommandResult]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    made = create_ledger("ledger.db")
    made.add_population(Population(TOWN, Fraction(5)))
    return made


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], ledger: Ledger) -> Say:
    del ledger

    def run(line: str) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["gridveil", *line.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capfd.readouterr()
        return CommandResult(stopped.value.code, output.out, output.err)

    return run


def test_it_says_what_was_debited_and_what_is_left(say: Say, ledger: Ledger) -> None:
    done = say(f"{LINE} --out release --ledger ledger.db")
    entry = ledger.entries(TOWN)[1]
    assert done.code == 0
    assert f"Debited epsilon 3 to population '{TOWN}' (entry {entry.hash[:12]}).\n" in done.out
    assert "It has spent 3 of 5, and has 2 left.\n" in done.out
    assert "WARNING" not in done.err
    checked = say("verify release --ledger ledger.db")
    assert (checked.code, "FAULT" in checked.out) == (0, False)
    assert "does not show: that the noise was drawn honestly" in checked.out
    assert "whose ledger this is" in checked.out
    assert say("ledger export ledger.db -o town.jsonl").code == 0
    checked = say("verify release --ledger town.jsonl")
    assert (checked.code, checked.out.count("FAULT"), "recorded these very files" in checked.out) == (0, 0, True)
    checked = say("verify release")
    assert (checked.code, "Only --ledger" in " ".join(checked.out.split())) == (0, True)
    Path("release/README.md").write_text("trust me")
    checked = say("verify release")
    assert (checked.code, checked.out.count("FAULT")) == (3, 2)
    assert "2 faults" in checked.err
    assert "[release-faulty]" in checked.err


def test_over_the_cap_the_exit_code_is_that_of_the_budget(say: Say, ledger: Ledger) -> None:
    refused = say(f"{LINE} --out release --ledger ledger.db --epsilon 5.5")
    assert (refused.code, refused.out) == (4, "")
    assert all(output in refused.err for output in ("epsilon 5.5", "remaining 5 of 5", "over by 0.5", "[over-cap]"))
    assert len(ledger.entries(TOWN)) == 1


def test_without_a_word_on_the_ledger_both_remedies_can_be_copied(say: Say) -> None:
    refused = say(f"{LINE} --out release")
    assert refused.code == 2
    assert "\n  gridveil ledger init ledger.db --population " in refused.err
    assert "\n  --ledger ledger.db\n" in refused.err
    assert "\n  --no-ledger\n" in refused.err


def test_flags_override_what_the_spec_says_of_the_ledger(say: Say, ledger: Ledger) -> None:
    Path("specs").mkdir()
    whole = LINE.replace("readings.parquet", "specs/spec.toml")
    readings = '[readings]\npath = "../readings.parquet"\n'
    Path("specs/spec.toml").write_text(f'ledger = "../ledger.db"\npopulation = "{TOWN}"\n{readings}')
    without = say(f"{whole} --out without --no-ledger")
    assert without.code == 0
    assert "[no-ledger]" in without.err
    assert "the ledger that the spec states is not debited" in without.err
    assert "WARNING" not in without.out
    assert len(ledger.entries(TOWN)) == 1
    both = say(f"{whole} --out both --no-ledger --ledger ledger.db")
    assert (both.code, "[ledger-contradiction]" in both.err, "WARNING" in both.err) == (2, True, False)
    assert say(f"{whole} --out with").code == 0
    Path("specs/spec.toml").write_text(f"no_ledger = true\n{readings}")
    assert say(f"{whole} --epsilon 2 --out flag --ledger ledger.db").code == 0
    assert "that the spec states" not in say(f"{whole} --epsilon 2 --out none").err
    assert len(ledger.entries(TOWN)) == 5


def test_a_failure_after_the_debit_tells_how_to_see_it(
    say: Say, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publication, "write_release", full)
    stopped = say(f"{LINE} --out release --ledger ledger.db")
    assert stopped.code == 2
    assert "No space left on device" in stopped.err
    assert "[release-not-written]" in stopped.err
    assert "epsilon 3 stays debited" in stopped.err
    assert "gridveil ledger show ledger.db" in stopped.err
    assert "Traceback" not in stopped.err
    assert len(ledger.entries(TOWN)) == 2


def test_an_interruption_says_that_a_debit_stays(say: Say, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Even.release

    def interrupted(*arguments: object) -> Say:
        release(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Even, "release", interrupted)
    stopped = say(f"{LINE} --out release --ledger ledger.db")
    assert stopped.code == 130
    assert "if its epsilon was debited already that stays spent: see gridveil ledger show" in stopped.err
    assert [entry.kind for entry in ledger.entries(TOWN)] == ["population", "debit"]
    assert not Path("release").exists()


def test_verify_of_what_is_no_release(say: Say) -> None:
    assert say("verify nowhere").code == 3
    Path("empty").mkdir()
    output = say("verify empty")
    assert output.code == 3
    assert "Traceback" not in output.err
    nothing = say("verify empty --ledger nothing.db")
    assert nothing.code == 3
    assert "nothing.db: " in nothing.err
    assert "[ledger-missing]" in nothing.err
    assert "secret" not in say("verify empty --ledger postgresql:/me:secret@host/db").err


def test_verify_says_what_to_do_about_a_fault(say: Say) -> None:
    """A fresh copy of the release does not help who has the wrong ledger."""
    say(f"{LINE} --out release --ledger ledger.db")
    create_ledger("other.db").add_population(Population("others", Fraction(5)))
    other = say("verify release --ledger other.db")
    assert (other.code, "fresh copy" in other.err) == (3, False)
    assert "this release was not debited to that ledger: give the ledger that it names" in other.err
    Path("release/README.md").unlink()
    changed = say("verify release")
    assert "do not rely on it, get a fresh copy" in changed.err
    assert "debited to that ledger" not in changed.err
