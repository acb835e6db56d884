"""Reading a public shape of the day, and what it says about any window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.mechanisms.mosaic.time import PublicShape, read_shape
from gridveil.model.errors import InputError
from gridveil.model.window import Window

MONDAY = datetime(2013, 1, 14, tzinfo=UTC)
WEEKDAY = np.arange(24) + 1.0
WEEKEND = np.arange(24) + 101.0


@pytest.fixture
def shape() -> PublicShape:
    return PublicShape(np.array([WEEKDAY, WEEKEND]))


def write(path: Path, rows: list[str], header: str = "day,hour,kwh") -> Path:
    file = path / "shape.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def both(values: np.ndarray) -> list[str]:
    return [f"{day},{hour},{values[hour]}" for day in ("weekday", "weekend") for hour in range(24)]


def test_hours_of_a_week_are_those_of_the_file(shape: PublicShape) -> None:
    week = shape.sample(Window(MONDAY, timedelta(hours=1), 168))
    expected = np.concatenate([np.tile(WEEKDAY, 5), np.tile(WEEKEND, 2)])
    np.testing.assert_allclose(week, expected / expected.sum())


def test_a_day_is_the_sum_of_its_hours(shape: PublicShape) -> None:
    week = shape.sample(Window(MONDAY, timedelta(days=1), 7))
    expected = np.array([WEEKDAY.sum()] * 5 + [WEEKEND.sum()] * 2)
    np.testing.assert_allclose(week, expected / expected.sum())


def test_quarters_of_an_hour_lie_on_straight_lines(shape: PublicShape) -> None:
    day = shape.sample(Window(MONDAY, timedelta(minutes=15), 96))
    # From the middle of hour 3 to that of hour 5 the line rises by 2.
    np.testing.assert_allclose(np.diff(day[14:21]) / day.sum(), np.diff(day[14:16])[0])
    assert day[14] / day[22] == pytest.approx((4 + 0.125) / (6 + 0.125))


def test_hours_are_those_of_the_named_clock(shape: PublicShape) -> None:
    in_winter = shape.sample(Window(MONDAY + timedelta(hours=5), timedelta(hours=1), 1 + 1), "Europe/Berlin")
    assert in_winter[0] / in_winter[1] == pytest.approx(WEEKDAY[6] / WEEKDAY[7])


def test_a_file_is_read(tmp_path: Path) -> None:
    np.testing.assert_allclose(read_shape(write(tmp_path, both(WEEKDAY))).hourly, [WEEKDAY, WEEKDAY])


def test_a_file_gives_the_shape_of_a_window(tmp_path: Path) -> None:
    shape = read_shape(write(tmp_path, both(WEEKDAY))).sample(Window(MONDAY, timedelta(hours=1), 24))
    np.testing.assert_allclose(shape, WEEKDAY / WEEKDAY.sum())


def test_a_file_without_kinds_of_day_holds_for_all(tmp_path: Path) -> None:
    file = write(tmp_path, [f"{hour},{WEEKDAY[hour]}" for hour in range(24)], "hour,use")
    np.testing.assert_allclose(read_shape(file).hourly, [WEEKDAY, WEEKDAY])


@pytest.mark.parametrize(
    ("rows", "header", "told"),
    [
        (both(WEEKDAY)[:-1], "day,hour,kwh", ("profile-hour-missing", "hour 23 of a weekend")),
        ([*both(WEEKDAY), "weekday,3,1.0"], "day,hour,kwh", ("profile-hour-twice", "hour 3")),
        (["weekday,24,1.0"], "day,hour,kwh", ("profile-row", "line 2: weekday, 24, 1.0")),
        (["weekday,1,nan"], "day,hour,kwh", ("profile-row", "line 2")),
        (["weekday,1,-1"], "day,hour,kwh", ("profile-row", "line 2")),
        (["weekday,1"], "day,hour,kwh", ("profile-row", "line 2")),
        (["holiday,1,1"], "day,hour,kwh", ("profile-row", "line 2")),
        (["weekday,1,1,1"], "day,hour,kwh,other", ("profile-columns", "day, hour, kwh, other")),
        ([], "", ("profile-columns", "none")),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, rows: list[str], header: str, told: tuple[str, ...]) -> None:
    with pytest.raises(InputError, check=has_code(*told)):
        read_shape(write(tmp_path, rows, header))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, check=has_code("profile-unreadable")):
        read_shape(tmp_path / "none.csv")
