"""`publish --next` as people run it, and what `publish`, `check` and `plan` make of a series."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests import lake

from gridveil.cli.main import main
from gridveil.publishing.spec import Spec
from gridveil.simulate import planning

SPEC = """
cadence = "day"
start = {start}
epsilon = "3"
mechanism = "even"
extent = [0, 0, 4, 4]
grid = "4x4"
crs = "local"
bound_step = 5
bound_window = 40
no_ledger = true
out = "series"

[readings]
path = "lake/%Y/%m/%d/*.parquet"
timezone = "Europe/London"

[households]
path = "lake/households.parquet"
"""

Say = Callable[..., tuple[object, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lake.write_lake(tmp_path / "lake", date(2013, 3, 30), 3)
    (tmp_path / "spec.toml").write_text(SPEC.format(start="2013-03-30"))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    (tmp_path / "later.toml").write_text(SPEC.format(start=tomorrow).replace('"series"', '"later"'))
    return tmp_path


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path) -> Say:
    del folder

    def run(line: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["gridveil", *line.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        output = capfd.readouterr()
        return stopped.value.code, output.out, output.err

    return run


def test_every_run_publishes_the_next_window_and_says_which(say: Say, folder: Path) -> None:
    for name in ("2013-03-30", "2013-03-31"):
        code, out, err = say("publish spec.toml --next")
        assert code == 0, err
        assert f"Published series/{name}\n" in out
        assert out.splitlines()[-2].endswith("gridveil query series")
        assert f"{lake.HOUSEHOLDS} households" in err
        assert "The next window, 2013-" in out
        assert "try grids with plan" not in out  # which the next window would contradict
    code, out, err = say("check spec.toml --strict")  # the day before has a file too, whose rows are outside
    assert code == 0, err
    assert "The next window of the series: 2013-04-01 00:00 to 2013-04-02 00:00 (Europe/London)." in out
    assert "outside the steps read" in out
    assert "Outside the steps read: files of the window's days are read whole, and on purpose those" in out
    assert "not over" not in out
    code, out, err = say("check spec.toml --timestamps end")
    assert "WARNING: the last interval of the window may be in lake/2013/04/02/*.parquet, which is not there yet" in out
    code, out, err = say("publish spec.toml --next --operator-record series/record.json")
    assert code == 2
    assert "the record is for the operator only" in err
    assert say("publish spec.toml --next --operator-record record.json")[0] == 0
    assert (folder / "record.json").exists()
    code, out, err = say("publish spec.toml --next")
    assert code == 3
    assert "2013/04/02/*.parquet: there is no such file" in err


def test_a_window_that_is_not_over_is_no_error(say: Say, folder: Path) -> None:
    code, out, err = say("publish later.toml --next")
    assert code == 0, err
    assert out.startswith("Nothing to publish yet: window ")
    code, out, err = say("check later.toml")  # a timer runs it before `publish --next`
    assert code == 0, err
    assert "It is not over: `publish --next` waits until " in out
    assert "There is nothing to check yet (lake/" in out
    one_file = (folder / "later.toml").read_text().replace("%Y/%m/%d/*", "2013/03/30/part-0")
    (folder / "later.toml").write_text(one_file)
    code, out, err = say("check later.toml")
    assert code == 0, err
    assert "no reading counts" in out
    assert not (folder / "later" / "catalogue.json").exists()


def test_a_series_without_next_and_next_without_a_series_say_what_to_do(say: Say) -> None:
    code, _, err = say("publish spec.toml")
    assert code == 2
    assert "published with --next" in err
    line = "publish lake/%Y/%m/%d/*.parquet --households lake/households.parquet --extent 0,0,4,4 --grid 4x4"
    line += " --start 2013-03-30 --epsilon 1 --mechanism even --no-ledger --out one --timezone Europe/London"
    code, _, err = say(f"{line} --steps 24 --next")
    assert code == 2
    assert "the spec states no cadence" in err
    assert say(f"{line} --steps 24")[0] == 0
    code, _, err = say("publish spec.toml --next --steps 24")
    assert code == 2
    assert "leave steps out" in err


def test_again_is_for_a_series(say: Say) -> None:
    code, _, err = say("publish spec.toml --again")
    assert code == 2
    assert "give it with --next" in err
    assert say("publish spec.toml --next --again")[0] == 0


def test_plan_rehearses_the_first_window(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Spec] = []

    def make_outlook(spec: Spec, *_: object, **__: object) -> None:
        asked.append(spec)
        raise SystemExit(0)

    monkeypatch.setattr(planning, "make_outlook", make_outlook)
    assert say("plan spec.toml --start 2013-03-31")[0] == 0
    assert [(spec.cadence, spec.steps) for spec in asked] == [(None, 23)]


def test_a_day_file_of_another_day_is_noticed_before_epsilon_is_spent(say: Say, folder: Path) -> None:
    """The line that docs/regular-publication.md gives a timer: `check SPEC && publish SPEC --next`."""
    assert say("check spec.toml")[0] == 0
    day = folder / "lake/2013/03/30/part-0.parquet"
    shutil.copy(folder / "lake/2013/04/01/part-0.parquet", day)
    code, out, err = say("check spec.toml")
    assert code == 3
    assert "no reading counts" in err
    assert "Where the files of the window's own days hold another day's readings" in " ".join(out.split())
    day.unlink()
    assert say("check spec.toml")[0] == 3


def test_plan_needs_no_tables_whatever_is_said_of_them(say: Say, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    asked: list[Spec] = []

    def make_outlook(spec: Spec, *_: object, **__: object) -> None:
        asked.append(spec)
        raise SystemExit(0)

    monkeypatch.setattr(planning, "make_outlook", make_outlook)
    flags = "--timestamps end --unit kW --interval 30min --timezone Europe/London"
    code, _, err = say(f"plan --extent 0,0,4,4 --grid 4x4 --start 2013-04-01 --steps 167 --epsilon 1 {flags}")
    assert code == 0, err
    (folder / "plan.toml").write_text(
        'cadence = "day"\nstart = 2013-04-01\nextent = [0, 0, 4, 4]\ngrid = "4x4"\n'
        '[readings]\ntimezone = "Europe/London"\n[households]\nx = "east"\ny = "north"\n'
    )
    code, _, err = say("plan plan.toml")
    assert code == 0, err
    starts = [spec.to_window().start for spec in asked]
    assert starts == [datetime(2013, 3, 31, 23, tzinfo=UTC)] * 2  # the clock of the readings holds
    code, _, err = say("check plan.toml")
    assert code == 2
