"""`gridveil plan` as people run it."""

import subprocess
import sys
from pathlib import Path

from tests.attack_rates import stated_rates

from gridveil.simulate.plan_report import privacy

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
PLACE = "--extent 0,0,800,800 --grid 8x8 --start 2013-02-04T00:00 --steps 48 --mechanism even"


def plan(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRIDVEIL, "plan", *line.split()], cwd=folder, capture_output=True, text=True, check=False)


def test_of_a_series_it_states_what_a_year_loses() -> None:
    of_one = [("1.11", "0.1"), ("1.23", "0.2"), ("1.23", "0.2")]
    assert stated_rates(" ".join(privacy(0.1))) == of_one
    assert stated_rates(" ".join(privacy(0.1, "month"))) == [*of_one, ("3.33", "1.2"), ("11.1", "2.4"), ("11.1", "2.4")]


def test_it_needs_no_data_and_leaves_nothing(tmp_path: Path) -> None:
    done = plan(tmp_path, f"{PLACE} --epsilon 2 --bound-step 20 --bound-window 192 --expect 100")
    assert done.returncode == 0, done.stderr
    for words in ("invented town of 100 households", "whole map, a day", "one cell, 1 h", "epsilon 0.3", "epsilon 2"):
        assert words in done.stdout
    assert "At epsilon 2 with about 100 households, over a day: the whole map is" in done.stdout
    assert "WARNING" not in done.stdout
    assert stated_rates(done.stdout) == [("7.39", "2"), ("54.6", "4"), ("54.6", "4")]
    assert not list(tmp_path.iterdir())


def test_a_curve_is_drawn_and_a_high_epsilon_is_called_one(tmp_path: Path) -> None:
    done = plan(tmp_path, f"{PLACE} --epsilon 6 --expect 50 --figure curve.png")
    assert done.returncode == 0, done.stderr
    assert "Wrote curve.png" in done.stdout
    assert "WARNING: epsilon 6 is high" in done.stdout
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_planned_is_refused_at_once(tmp_path: Path) -> None:
    for line, code, words in (
        (f"{PLACE} --figure curve.bmp", 2, "[figure-format]"),
        (f"{PLACE} --epsilon 50", 4, "[epsilon-not-acknowledged]"),
        (f"{PLACE} --expect 0", 2, "--expect"),
        (PLACE.replace("--steps 48", ""), 2, "--steps N"),
    ):
        done = plan(tmp_path, line)
        assert done.returncode == code, done.stdout
        assert words in done.stderr
