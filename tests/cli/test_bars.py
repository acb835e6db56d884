"""Progress: bars on a terminal, plain lines in a log; an interruption says what can be gone on from."""

import io
import os
import re
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from rich.console import Console

from gridveil.cli import show
from gridveil.cli.show import StageLines, draw_bars
from gridveil.model.errors import InputError
from gridveil.model.running import Progress
from gridveil.research.compare.study import count_trials

STAGE = "read the tables"
ERASE_LINE = "\x1b[2K"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Clock:
    """A clock that is put forward by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal:
    """A terminal that bars are drawn on."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.screen = Console(file=io.StringIO(), force_terminal=True, width=120, highlight=False, markup=False)
        self.bars = draw_bars(self.screen, self.clock)

    @property
    def written(self) -> str:
        """All that was written."""
        assert isinstance(self.screen.file, io.StringIO)
        return self.screen.file.getvalue()

    @property
    def shown(self) -> str:
        """All that was written, without control characters."""
        return CONTROL.sub("", self.written)

    def row(self, stage: str) -> str:
        """How a stage was shown last."""
        return [line for line in self.shown.splitlines() if line.startswith(stage)][-1]


def end(bars: AbstractContextManager[Progress], error: BaseException) -> None:
    with bars as progress:
        progress(STAGE, 0.5)
        raise error


def test_bars_stay_after_success_and_go_after_a_failure() -> None:
    terminal = Terminal()
    with terminal.bars as progress:
        progress(STAGE, 1.0)
    assert "100 %" in terminal.row(STAGE)
    assert ERASE_LINE not in terminal.written.rpartition(STAGE)[2]
    failed = Terminal()
    with pytest.raises(InputError):
        end(failed.bars, InputError("no", code="no"))
    assert ERASE_LINE in failed.written.rpartition(STAGE)[2]


def test_a_bar_without_a_fraction_has_no_percent_and_a_full_one_no_time_left() -> None:
    terminal = Terminal()
    with terminal.bars as progress:
        progress(STAGE, 1.0)
        progress("sum", 0.0)
    assert "%" not in terminal.row("sum")
    assert "left" not in terminal.shown


def test_time_left_is_by_the_speed_of_this_run() -> None:
    terminal = Terminal()
    with terminal.bars as progress:
        progress(STAGE, 0.0)
        for part in (1, 2, 3):
            terminal.clock.now += 100
            progress(f"{STAGE} ({part + 4} of 9 parts)", part / 5)
    assert "7 of 9 parts 0:03:20 left" in terminal.row(STAGE)


def test_a_stage_that_comes_again_begins_anew_and_its_time_adds_up() -> None:
    terminal = Terminal()
    with terminal.bars as progress:
        for _ in range(2):
            progress("sum", 0.0)
            terminal.clock.now += 60
            progress("sum", 1.0)
            terminal.clock.now += 1000
        progress("sum", 0.0)
    assert "%" not in terminal.row("sum")
    assert "0:02:00" in terminal.row("sum")


def test_a_sentence_stays_on_the_screen() -> None:
    terminal = Terminal()
    with terminal.bars as progress:
        progress(STAGE, 0.0)
        progress("4 of 9 parts were read before.", 1.0)
        progress(STAGE, 1.0)
    assert terminal.shown.count("4 of 9 parts were read before.\n") == 1


def test_a_log_gets_a_line_for_each_stage_then_one_every_ten_seconds_and_one_at_its_end() -> None:
    log, clock = io.StringIO(), Clock()
    progress = StageLines(log, clock)
    progress(STAGE, 0.0)
    progress("4 of 9 parts were read before.", 1.0)
    for second in range(1, 26):
        clock.now = float(second)
        progress(f"{STAGE} (5 of 9 parts, 1.2 M readings/s)", second / 200)
    progress(STAGE, 1.0)
    progress(STAGE, 1.0)
    progress("sum", 0.0)
    progress("sum", 1.0)
    progress("measure", 1.0)
    assert log.getvalue().splitlines() == [
        STAGE,
        "4 of 9 parts were read before.",
        f"{STAGE}: 5 %, 5 of 9 parts, 1.2 M readings/s",
        f"{STAGE}: 10 %, 5 of 9 parts, 1.2 M readings/s",
        f"{STAGE}: 100 %",
        "sum",
        "measure: 100 %",
    ]


class Full(io.StringIO):
    """A log on a full disk."""

    def flush(self) -> None:
        raise OSError


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    log = Full()
    StageLines(log)(STAGE, 0.0)
    assert log.getvalue()


def test_studies_tell_a_log_too(capsys: pytest.CaptureFixture[str]) -> None:
    with show.bars() as progress:
        count_trials(progress, "compare")(50, 2000)
    assert capsys.readouterr().err.splitlines() == ["compare: 2 %, 50 of 2,000 trials"]


def test_with_a_delay_only_what_takes_longer_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(show, "monotonic", clock)
    with show.bars(delay=2.0) as progress:
        for clock.now, done in ((0.5, 0.1), (1.9, 0.4)):
            progress("export", done)
        assert capsys.readouterr().err == ""
        for clock.now, done in ((2.1, 0.5), (3.0, 1.0)):
            progress("export", done)
    assert capsys.readouterr().err.splitlines() == ["export: 50 %", "export: 100 %"]


CHILD = """
from gridveil.cli import show
with show.bars() as progress:
    progress("read the tables", 0.0)
    input()
    progress("sum", 0.0)
"""


def test_without_a_terminal_lines_come_at_once_and_never_on_standard_output() -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILD]
    environment = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"}  # which is no terminal yet
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as child:
        assert child.stderr is not None
        assert child.stderr.readline() == "read the tables\n"  # while it waits
        out, err = child.communicate("\n", timeout=60)
    assert (out, err) == ("", "sum\n")


@pytest.mark.parametrize("kept", [True, False])
def test_an_interruption_says_what_can_be_gone_on_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, *, kept: bool
) -> None:
    if kept:
        (tmp_path / "gridveil-scratch").mkdir()
        (tmp_path / "gridveil-scratch" / "run-part.parquet").touch()
    with pytest.raises(KeyboardInterrupt):
        end(show.bars(tmp_path), KeyboardInterrupt())
    assert ("and the same command goes on from them" in capsys.readouterr().err) == kept
