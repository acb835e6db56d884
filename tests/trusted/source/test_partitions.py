"""Paths with fields for the day: which files a window needs, and that no other is opened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.trusted.engines.base.schema import Partitions, find_partitions, has_fields, list_window_files

HOUR = timedelta(hours=1)
WEEK = Window(datetime(2013, 3, 24, 23, tzinfo=UTC), HOUR, 168)


def test_days_are_those_of_the_local_clock_with_one_beside_on_each_side() -> None:
    sydney = find_partitions(
        "lake/%Y/%m/%d/*.parquet", Window(datetime(2013, 1, 1, 13, tzinfo=UTC), HOUR, 24), "Australia/Sydney"
    )
    assert sydney == Partitions(
        ("lake/2013/01/02/*.parquet",), ("lake/2013/01/01/*.parquet", "lake/2013/01/03/*.parquet")
    )
    spring = find_partitions("%Y-%m-%d.csv", Window(datetime(2013, 3, 31, tzinfo=UTC), HOUR, 23), "Europe/London")
    assert spring == Partitions(("2013-03-31.csv",), ("2013-03-30.csv", "2013-04-01.csv"))


@pytest.mark.parametrize(
    ("path", "needed", "beside"),
    [
        ("y=%Y.parquet", ["y=2012.parquet"], ["y=2013.parquet"]),
        ("month=%Y-%m/part.parquet", ["month=2012-12/part.parquet"], ["month=2013-01/part.parquet"]),
        ("%Y%j.parquet", ["2012365.parquet", "2012366.parquet"], ["2012364.parquet", "2013001.parquet"]),
        ("%G-W%V.parquet", ["2012-W52.parquet", "2013-W01.parquet"], []),
        ("100%%/%Y.parquet", ["100%/2012.parquet"], ["100%/2013.parquet"]),
        ("%Y/%Y-%m.parquet", ["2012/2012-12.parquet"], ["2013/2013-01.parquet"]),
    ],
)
def test_a_path_may_name_days_weeks_months_or_years(path: str, needed: list[str], beside: list[str]) -> None:
    turn_of_year = Window(datetime(2012, 12, 30, tzinfo=UTC), HOUR, 48)
    assert find_partitions(path, turn_of_year, "UTC") == Partitions(tuple(needed), tuple(beside))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        *((path, "path-field-unknown") for path in ("%Y-%m-%d-%H", "%y-%m-%d", "%b-%Y", "%F", "100%")),
        *((path, "path-fields") for path in ("%m-%d", "%Y-%d", "%d", "%j", "%V", "%Y-%V", "%G-%m", "%Y-%m-%j")),
    ],
)
def test_fields_that_name_no_day_or_several_are_refused(path: str, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code, path)):
        find_partitions(f"lake/{path}", WEEK, "UTC")


def test_every_day_of_the_window_must_have_a_file_and_the_days_beside_need_not(tmp_path: Path) -> None:
    days = [f"2013-03-{day}" for day in range(25, 32)]
    for day in (*days, "2013-02-01", "2013-04-02"):
        (tmp_path / f"{day}.parquet").touch()
    path = str(tmp_path / "%Y-%m-%d.parquet")
    week = Window(datetime(2013, 3, 25, tzinfo=UTC), HOUR, 167)
    assert [Path(file).stem for file in list_window_files(path, week, "Europe/London")] == days
    (tmp_path / "2013-03-24.parquet").touch()
    (tmp_path / "2013-04-01.parquet").touch()
    found = [Path(file).stem for file in list_window_files(path, week, "Europe/London")]
    assert found == ["2013-03-24", *days, "2013-04-01"]
    (tmp_path / "2013-03-27.parquet").unlink()
    (tmp_path / "2013-03-28.parquet").unlink()
    with pytest.raises(InputError, check=has_code("day-file-missing", "2013-03-27.parquet", "1 more")):
        list_window_files(path, week, "Europe/London")


def test_a_file_with_just_that_name_is_what_was_meant(tmp_path: Path) -> None:
    plain = tmp_path / "50%Y.parquet"
    assert has_fields(str(plain))
    plain.touch()
    assert not has_fields(str(plain))
    assert not has_fields(str(tmp_path / "readings.parquet"))
