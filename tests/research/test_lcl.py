from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.london import SAMPLE, START, TUNING_START, hours_of, load_lcl

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


def rows(
    name: str, kwh: list[float], first: datetime = NOON, step: timedelta = timedelta(hours=1)
) -> list[dict[str, Any]]:
    start = first.replace(tzinfo=None)
    return [{"household": name, "timestamp": start + i * step, "kwh": value} for i, value in enumerate(kwh)]


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    file = path / "readings.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def test_households_that_lack_an_hour_or_have_one_twice_are_left_out(tmp_path: Path) -> None:
    readings = [
        *rows("b", [0.1, 0.2, 0.3, 9]),
        *rows("a", [1.001, 0, 14.472999572753906]),
        *rows("short", [1, 2]),
        *rows("twice", [1, 2, 3]),
        *rows("twice", [1]),
        *rows("instead", [1, 2]),
        *rows("instead", [1]),
        *rows("half", [1, 1, 1], step=timedelta(minutes=30)),
        *rows("nan", [1, float("nan"), 1]),
        *rows("infinite", [1, float("inf"), 1]),
        *rows("negative", [1, -1, 1]),
        *rows("earlier", [1, 1, 1, 1], NOON - timedelta(hours=2)),
    ]
    dataset = load_lcl(table(tmp_path, readings[::-1]), NOON + timedelta(hours=1), steps=2, train_steps=1)
    np.testing.assert_array_equal(dataset.readings, [[1001, 0, 14473], [100, 200, 300]])
    assert dataset.window.start == NOON + timedelta(hours=1)
    assert dataset.train_steps == 1
    assert "full extract" in dataset.origin


def test_hours_are_those_of_training_and_window() -> None:
    hours = hours_of(START, steps=120, train_steps=100)
    assert hours.size == 220
    assert str(hours[0]) == "2013-01-30T20:00:00.000000"
    assert hours[100] == np.datetime64("2013-02-04")


def test_no_complete_household_is_an_error_that_names_the_hours(tmp_path: Path) -> None:
    with pytest.raises(InputError, check=has_code("dataset-incomplete", "2013-01-30T20")):
        load_lcl(table(tmp_path, rows("a", [1.0])))
    with pytest.raises(InputError, check=has_code("dataset-incomplete")):
        load_lcl(start=datetime(2013, 2, 11, tzinfo=UTC))


def test_a_file_that_is_no_table_of_readings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, check=has_code("dataset-unreadable")):
        load_lcl(tmp_path / "nothing.parquet")
    with pytest.raises(InputError, check=has_code("dataset-unreadable")):
        load_lcl(table(tmp_path, [{"id": 1}]))


def test_the_sample_is_small_and_says_whose_it_is() -> None:
    assert SAMPLE.stat().st_size < 1_500_000
    beside = (SAMPLE.parent / "README.md").read_text("utf-8")
    root = Path(__file__).parents[2]
    for text in (beside, (root / "NOTICE").read_text("utf-8"), (root / "docs" / "data.md").read_text("utf-8")):
        words = " ".join(text.replace(">", " ").split())
        assert (
            "UK Power Networks, published on the London Datastore under a Creative Commons Attribution licence" in words
        )
        assert "Changes: restricted to 440 hours" in words


@pytest.mark.parametrize(
    ("tuning", "mean", "sd", "maximum"), [(False, 0.487, 0.647, 11.322), (True, 0.557, 0.763, 14.145)]
)
def test_the_sample_has_all_hours_of_both_windows(*, tuning: bool, mean: float, sd: float, maximum: float) -> None:
    dataset = open_dataset("lcl", tuning=tuning)
    assert dataset.readings.shape == (2000, 220)
    kwh = dataset.readings / 1000
    assert (kwh.mean(), kwh.std(), kwh.max()) == pytest.approx((mean, sd, maximum), abs=5e-4)
    assert dataset.window.start.weekday() == 0
    assert "sample" in dataset.origin


def test_tuning_shares_no_hour_with_the_comparison() -> None:
    tuning, comparison = (hours_of(start, 120, 100) for start in (TUNING_START, START))
    assert tuning[-1] < comparison[0]
