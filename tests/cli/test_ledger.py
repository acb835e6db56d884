"""`gridveil ledger`: what it says, notices and refuses. Publishing with one: tests/publishing/test_publication.py."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from tests.attack_rates import stated_rates
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label
from tests.trusted.ledger.books import FILES, MONDAY, read, spend
from tests.trusted.ledger.postgres import server

from gridveil.cli.main import main
from gridveil.model.errors import GridveilError
from gridveil.release.format.facts import LedgerFacts
from gridveil.release.format.netcdf import write_release
from gridveil.trusted.ledger.book import Ledger, open_ledger

DOCS = Path(__file__).parents[2] / "docs" / "ledger.md"
WEEK = timedelta(days=7)


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def gridveil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["gridveil", "ledger", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        code = stopped.value.code or 0
        assert isinstance(code, int)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def town(gridveil: Run) -> Ledger:
    """A ledger with a population whose fourth debit has no release."""
    assert gridveil("init", "town.ledger", "--population", "town", "--cap", "3").code == 0
    ledger = open_ledger("town.ledger")
    for number, epsilon in enumerate(["1", "1/3", "0.5", "0.25"]):
        released(ledger, epsilon, number, record=number != 3)
    return ledger


def released(ledger: Ledger, epsilon: str, week: int, *, record: bool = True) -> str:
    debit = spend(ledger, epsilon, read(MONDAY + week * WEEK, days=7), title=f"[b]Week[/b] {week + 6}")
    assert debit.entry is not None
    if record:
        ledger.record_release(debit.entry.hash, FILES)
    return debit.entry.hash


def test_init_says_what_was_promised_and_how_to_publish(gridveil: Run) -> None:
    done = gridveil("init", "town.ledger", "--population", "west london", "--cap", "3")
    assert (done.code, done.err) == (0, "")
    assert "Promised: all releases about a household have at most epsilon 3 together." in done.out
    assert done.out.endswith(" publish SPEC.toml --ledger town.ledger --population 'west london'\n")
    assert stated_rates(done.out) == [("20.1", "3"), ("99.8", "6"), ("99.8", "6")]
    assert "WARNING" not in done.out
    weekly = ("--unit", "household-window", "--window", "week", "--timezone", "Europe/London")
    done = gridveil("init", "town.ledger", "--population", "weekly", "--cap", "10", *weekly)
    assert stated_rates(done.out) == [("99.9956", "10"), ("100", "20")]
    assert "The cap does not limit what all weeks together reveal" in done.out
    assert "WARNING: epsilon 10 is high" in done.out
    assert [one.name for one in open_ledger("town.ledger").populations()] == ["weekly", "west london"]


@pytest.mark.parametrize(
    ("words", "code", "output"),
    [
        (["--cap", "ten"], 4, "[cap-invalid]"),
        (["--cap", "0"], 4, "[cap-invalid]"),
        (["--cap", "nan"], 4, "[cap-invalid]"),
        (["--cap", "3", "--window", "week"], 2, "[unit-without-window]"),
        (["--cap", "3", "--unit", "household-window"], 2, "[ledger-window-missing]"),
        (
            ["--cap", "3", "--unit", "household-window", "--window", "day", "--timezone", "London"],
            2,
            "[timezone-unknown]",
        ),
        (["--cap", "3", "--population", " "], 2, "[population-name]"),
    ],
)
def test_what_makes_no_population_leaves_no_ledger(gridveil: Run, words: list[str], code: int, output: str) -> None:
    done = gridveil("init", "town.ledger", "--population", "town", *words)
    assert (done.code, done.out) == (code, "")
    assert output in done.err
    assert not list(Path.cwd().iterdir())


def test_a_cap_cannot_be_raised(gridveil: Run, town: Ledger) -> None:
    done = gridveil("init", "town.ledger", "--population", "town", "--cap", "30")
    assert done.code == 2
    assert "[population-exists]" in done.err
    assert town.standing("town").cap == 3


def test_a_second_population_is_told_what_is_there_and_a_slip_in_its_name_is_noticed(gridveil: Run) -> None:
    def init(name: str) -> str:
        return gridveil("init", "town.ledger", "--population", name, "--cap", "3").out

    assert "Already" not in init("west-london")
    other = init("leeds")
    assert "Already in this ledger: west-london. A household in two populations loses the sum of both." in other
    assert "WARNING" not in other
    slip = init("West-Londn")
    assert "Already in this ledger: leeds, west-london." in slip
    assert "WARNING: West-Londn is almost the name west-london." in slip


def test_a_folder_is_no_ledger(gridveil: Run) -> None:
    done = gridveil("init", ".", "--population", "town", "--cap", "3")
    assert done.code == 3
    assert "[ledger-not-a-file]" in done.err


def test_show_adds_up_exactly_and_tells_debits_without_a_release(gridveil: Run, town: Ledger) -> None:
    done = gridveil("show", "town.ledger")
    assert done.code == 0
    assert "Cap 3, spent 25/12 (about 2.08), left 11/12 (about 0.917)." in done.out
    rows = [re.split(r"\s{1,}", line.strip(), maxsplit=2) for line in done.out.splitlines() if "Week" in line]
    today = town.entries("town")[1].at[:10]
    assert [(number, date) for number, date, _ in rows] == [(str(n), today) for n in (1, 2, 3, 4)]
    assert re.search(r"1 +\S+ \[b\]Week\[/b\] 6 +2013-02-04 to 2013-02-10 +1 +1 recorded", done.out)
    assert re.search(r"2 +\S+ \[b\]Week\[/b\] 7 +2013-02-11 to 2013-02-17 +1/3 +4/3 recorded", done.out)
    assert re.search(r"4 +\S+ .* 9 +2013-02-25 to 2013-03-03 +0\.25 +25/12 none: stays spent", done.out)
    assert "1 debit without a recorded release" in done.out


def test_show_fits_a_terminal_of_80_columns(gridveil: Run, town: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    del town
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    done = gridveil("show", "town.ledger")
    plain = re.sub(r"\x1b\[\d*m", "", done.out)
    assert max(map(len, plain.splitlines())) == 80
    assert "2013-02-04 to" in plain
    assert "…" not in plain


def test_show_cuts_time_into_ledger_windows(gridveil: Run) -> None:
    weekly = ("--unit", "household-window", "--window", "week", "--timezone", "Europe/London")
    gridveil("init", "town.ledger", "--population", "weekly", "--cap", "3", *weekly)
    empty = gridveil("show", "town.ledger")
    assert "Nothing was debited so far." in empty.out
    assert "least left" not in empty.out
    ledger = open_ledger("town.ledger")
    for week, epsilon in ((0, "1"), (1, "1"), (1, "1.5")):
        released(ledger, epsilon, week)
    done = gridveil("show", "town.ledger")
    output = " ".join(done.out.split())
    assert "Cap 3 for each week. The week with the least left has 0.5." in output
    at_the_cap = [("20.1", "3"), ("99.8", "6")]
    assert stated_rates(output) == [*at_the_cap, ("33.2", "3.5"), ("99.9098", "7"), ("99.9098", "7")]
    assert re.search(r"2013-W06 +1 +2\n2013-W07 +2\.5 +0\.5\n", done.out)
    drawn = gridveil("show", "town.ledger", "--figure", "weeks.svg")
    assert "Wrote weeks.svg" in drawn.out
    assert (
        "<title>weekly: each week may lose epsilon 3. 3 debits. All together: membership epsilon 3.5;"
        in Path("weeks.svg").read_text()
    )


def test_the_picture_is_of_one_population_and_never_overwrites(gridveil: Run, town: Ledger) -> None:
    assert gridveil("show", "town.ledger", "--figure", "left.png").code == 0
    assert b"town: epsilon 11/12 (about 0.917) of 3 is left" in Path("left.png").read_bytes()
    again = gridveil("show", "town.ledger", "--figure", "left.png")
    assert (again.code, "[out-exists]" in again.err) == (2, True)
    gridveil("init", "town.ledger", "--population", "village", "--cap", "1")
    several = gridveil("show", "town.ledger", "--figure", "new.png")
    assert several.code == 2
    assert "[figure-needs-population]" in several.err
    assert "town, village" in several.err
    assert gridveil("show", "town.ledger", "--figure", "new.jpg").code == 2
    assert gridveil("show", "town.ledger", "--population", "village", "--figure", "new.png").code == 0
    del town


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_ledger_that_is_not_there_is_not_made(gridveil: Run, command: str) -> None:
    done = gridveil(command, "town.ledger")
    assert (done.code, done.out) == (3, "")
    assert "gridveil ledger init town.ledger" in done.err
    Path("notes.txt").write_text("no ledger at all, but something else that is long enough\n" * 100)
    other = gridveil(command, "notes.txt")
    assert (other.code, "[ledger-not-one]" in other.err) == (3, True)


def test_a_population_that_is_not_there(gridveil: Run, town: Ledger) -> None:
    done = gridveil("show", "town.ledger", "--population", "Town")
    assert done.code == 2
    assert "[population-unknown]" in done.err
    del town


def test_verify_finds_an_edited_entry(gridveil: Run, town: Ledger) -> None:
    sound = gridveil("verify", "town.ledger")
    assert (sound.code, sound.out) == (0, "town.ledger: sound (populations: 1, entries: 8)\n")
    with sqlite3.connect("town.ledger") as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute("UPDATE entries SET text = replace(text, '\"1/3\"', '\"1/9\"')")
    connection.close()
    faulty = gridveil("verify", "town.ledger")
    assert (faulty.code, faulty.err) == (3, "")
    assert "population town, entry 3: its text was changed" in faulty.out
    assert "entries_stay is not as it was made" in faulty.out
    for command in ("show", "export"):
        refused = gridveil(command, "town.ledger")
        assert (refused.code, "[ledger-damaged]" in refused.err) == (3, True)
    del town


def test_verify_notices_an_old_copy_by_an_export_or_a_release(gridveil: Run, town: Ledger) -> None:
    for end in ("", ".head"):
        shutil.copy(f"town.ledger{end}", f"old.ledger{end}")
    released(town, "0.5", 4)
    entry = town.entries("town")[-2]
    facts = LedgerFacts(hash=entry.hash, population="town", unit="household", cap="3", spent="31/12")
    label = make_label(epsilon=0.5, ledger_entry=facts)
    make = {"grid": GRID, "window": WINDOW, "estimate": make_estimate("parts")}
    write_release(Path("week10"), label=label, entry=entry.text, **make)
    write_release(Path("untracked"), label=make_label(), **make)
    assert gridveil("export", "town.ledger", "-o", "town.jsonl").code == 0

    sound = gridveil("verify", "town.ledger", "week10", "--against", "town.jsonl")
    assert (sound.code, "sound" in sound.out) == (0, True)
    assert gridveil("verify", "old.ledger").code == 0
    by_export = gridveil("verify", "old.ledger", "--against", "town.jsonl")
    assert by_export.code == 3
    assert len(by_export.out.splitlines()) == 2
    assert "population town, entry 9: it was exported earlier and is gone" in by_export.out
    by_release = gridveil("verify", "old.ledger", "week10")
    assert (by_release.code, f"the debit {entry.hash[:12]} of week10 is not in it" in by_release.out) == (3, True)
    untracked = gridveil("verify", "town.ledger", "week10", "untracked")
    assert (untracked.code, "untracked was published without a ledger" in untracked.out) == (3, True)
    assert gridveil("verify", "town.ledger", "nowhere").code == 3


def test_a_lost_head_is_told_with_how_to_mend_it(gridveil: Run, town: Ledger) -> None:
    assert gridveil("export", "town.ledger", "-o", "town.jsonl").code == 0
    Path("town.ledger.head").unlink()
    lost = gridveil("verify", "town.ledger")
    assert (lost.code, "--against NEWEST-EXPORT --new-head" in " ".join(lost.out.split())) == (3, True)
    alone = gridveil("verify", "town.ledger", "--new-head")
    assert (alone.code, "[new-head-needs-export]" in alone.err) == (2, True)
    mended = gridveil("verify", "town.ledger", "--against", "town.jsonl", "--new-head")
    assert (mended.code, "sound" in mended.out) == (0, True)
    assert town.verify() == []


def test_an_export_to_compare_with_must_be_one(gridveil: Run, town: Ledger) -> None:
    del town
    text = gridveil("export", "town.ledger").out
    faults = {"nothing": "", "notes": "hello\n", "edited": text.replace('"1/3"', '"0.3"'), "binary": "\x00é"}
    for name, content in faults.items():
        Path(name).write_text(content, encoding="latin-1")
        done = gridveil("verify", "town.ledger", "--against", name)
        assert (done.code, f"--against {name}" in done.err) == (3, True)
    assert gridveil("verify", "town.ledger", "--against", "missing").code == 3


def test_an_export_is_the_exact_text_and_never_overwrites(gridveil: Run, town: Ledger) -> None:
    done = gridveil("export", "town.ledger", "-o", "town.jsonl")
    assert done.out == "Wrote town.jsonl (8 entries)\n"
    lines = Path("town.jsonl").read_text().splitlines()
    assert [sha256(line.encode()).hexdigest() for line in lines] == [entry.hash for entry in town.entries("town")]
    assert gridveil("export", "town.ledger").out.splitlines() == lines
    assert Path("town.jsonl").stat().st_mode & 0o777 == 0o644
    again = gridveil("export", "town.ledger", "--out", "town.jsonl")
    assert (again.code, "[out-exists]" in again.err) == (2, True)


def test_the_documented_line_recomputes_the_chain(gridveil: Run, town: Ledger) -> None:
    gridveil("export", "town.ledger", "-o", "town.jsonl")
    (line,) = re.findall(r"```sh\n(previous=.*?)```", DOCS.read_text(), flags=re.DOTALL)

    def check() -> str:
        return subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, check=True).stdout

    assert check() == f"last entry: {town.entries('town')[-1].hash}\n"
    kept = Path("town.jsonl").read_text()
    lines = kept.splitlines(keepends=True)
    for changed in (kept.replace('"1/3"', '"1/9"', 1), "".join(lines[:2] + lines[3:]), "".join(lines[1:])):
        Path("town.jsonl").write_text(changed)
        assert "does not follow" in check()


def test_a_folder_that_cannot_be_written(gridveil: Run) -> None:
    Path("file").write_text("")
    done = gridveil("init", "file/town.ledger", "--population", "town", "--cap", "3")
    assert (done.code, "[ledger-not-made]" in done.err) == (3, True)
    assert gridveil("init", "town.ledger", "--population", "town", "--cap", "3").code == 0
    for words in (["export", "town.ledger", "-o", "file/out"], ["show", "town.ledger", "--figure", "file/out.png"]):
        done = gridveil(*words)
        assert (done.code, "it cannot be written there" in done.err) == (2, True)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with server() as new:
        yield new()


def test_a_database_does_what_a_file_does_and_its_password_is_never_told(
    gridveil: Run, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hunter2secret"  # noqa: S105  # of this test
    url = database.replace("@", f":{secret}@", 1)
    made = gridveil("init", url, "--population", "town", "--cap", "3")
    assert made.code == 0, made.err
    assert made.out.endswith(" publish SPEC.toml --ledger URL --population town\n")
    released(open_ledger(url), "1", 0)
    done = [
        made,
        gridveil("init", url, "--population", "town", "--cap", "3"),
        gridveil("show", url),
        gridveil("show", url, "--population", "nobody"),
        gridveil("export", url, "-o", "town.jsonl"),
        gridveil("verify", url, "--against", "town.jsonl"),
    ]
    assert [each.code for each in done] == [0, 2, 0, 2, 0, 0]
    assert "Cap 3, spent 1, left 2." in done[2].out
    assert len(Path("town.jsonl").read_text().splitlines()) == 3
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    unreachable = gridveil("show", f"postgresql://town:{secret}@127.0.0.1:1/town")
    assert (unreachable.code, "[ledger-unreachable]" in unreachable.err) == (3, True)
    assert secret not in "".join(each.out + each.err for each in (*done, unreachable))


def test_the_documented_role_can_publish_and_change_nothing(gridveil: Run, database: str) -> None:
    gridveil("init", database, "--population", "village", "--cap", "1")
    (grants,) = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), flags=re.DOTALL)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(grants.encode())
    as_publisher = re.sub("//[^@]*@", "//publisher@", database)
    ledger = open_ledger(as_publisher)
    debit = spend(ledger, "1/4", population="village")
    assert debit.entry is not None
    ledger.record_release(debit.entry.hash, FILES)
    assert ledger.standing("village").spent == Fraction(1, 4)
    assert gridveil("verify", as_publisher).code == 0
    with psycopg.connect(as_publisher, autocommit=True) as connection:
        for forbidden in (
            "UPDATE gridveil_ledger.entries SET text = ''",
            "DELETE FROM gridveil_ledger.entries",
            "TRUNCATE gridveil_ledger.entries",
            "DELETE FROM gridveil_ledger.heads",
            "ALTER TABLE gridveil_ledger.entries DISABLE TRIGGER ALL",
            "DROP SCHEMA gridveil_ledger CASCADE",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(forbidden.encode())
    # A new population would be a new cap.
    with pytest.raises(GridveilError, check=has_code("ledger-refused", "permission denied")):
        ledger.add_population(type(ledger.populations()[0])("mine", Fraction(100)))
    assert json.loads(gridveil("export", database).out.splitlines()[-1])["kind"] == "release"
