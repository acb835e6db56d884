from pathlib import Path

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.research.datasets.catalogue import describe, make_tables, measure_clip, open_dataset
from gridveil.research.datasets.dataset import Dataset
from gridveil.research.datasets.synthetic import CLIPS, TABLE2, make_standin

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def cer() -> Dataset:
    return make_standin("CER")


def check_against_table2(dataset: Dataset) -> None:
    row = TABLE2[dataset.name]
    figures = describe(dataset)
    assert figures.households == row.households
    assert figures.mean == pytest.approx(row.mean, rel=1e-3)
    assert figures.sd == pytest.approx(row.sd, rel=1e-3)
    assert figures.maximum == row.maximum
    assert dataset.readings.min() >= 0


@pytest.mark.parametrize("seed", [*range(20), 1_000_000])
@pytest.mark.parametrize("name", ["CA", "MI", "TX"])
def test_every_town_has_the_statistics_of_table_2(name: str, seed: int) -> None:
    check_against_table2(make_standin(name, seed))


def test_so_has_the_large_one(cer: Dataset) -> None:
    check_against_table2(cer)
    check_against_table2(make_standin("CER", seed=7))


@pytest.mark.parametrize(("steps", "train_steps"), [(24, 0), (168, 0), (500, 100)])
def test_the_statistics_hold_for_other_windows(steps: int, train_steps: int) -> None:
    dataset = make_standin("TX", steps=steps, train_steps=train_steps)
    assert dataset.readings.shape == (250, train_steps + steps)
    assert dataset.window.steps == steps
    row, kwh = TABLE2["TX"], dataset.readings / 1000
    assert (kwh.mean(), kwh.std(), kwh.max()) == pytest.approx((row.mean, row.sd, row.maximum), rel=1e-3)


def test_too_few_readings_cannot_have_the_statistics() -> None:
    with pytest.raises(UsageError, check=has_code("standin-too-short")):
        make_standin("TX", steps=1, train_steps=0)


def test_an_unknown_stand_in_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, check=has_code("standin-unknown", "CER, CA, MI, TX")):
        make_standin("NY")


def test_a_seed_is_a_town_and_another_seed_another() -> None:
    assert np.array_equal(make_standin("CA", 3).readings, make_standin("CA", 3).readings)
    one, other = (make_standin("CA", seed).readings for seed in (3, 4))
    # They share the rhythm of the day, and nothing else.
    assert np.corrcoef(np.log1p(one.ravel()), np.log1p(other.ravel()))[0, 1] < 0.15
    assert np.corrcoef(one.mean(1), other.mean(1))[0, 1] < 0.4


def test_two_stand_ins_of_one_seed_are_not_the_same_town_rescaled() -> None:
    ca, tx = (make_standin(name).readings.mean(1) for name in ("CA", "TX"))
    assert np.corrcoef(np.log(ca), np.log(tx))[0, 1] < 0.4


def test_they_call_themselves_stand_ins(cer: Dataset) -> None:
    assert cer.origin.startswith("stand-in for CER")
    assert cer.window.start.weekday() == 0


def test_levels_persist(cer: Dataset) -> None:
    early, late = cer.readings[:, :110].sum(1), cer.readings[:, 110:].sum(1)
    assert np.corrcoef(np.log(early), np.log(late))[0, 1] > 0.85


def test_day_and_week_have_a_rhythm(cer: Dataset) -> None:
    by_hour = cer.readings[:, -120:].mean(0).reshape(5, 24).mean(0)
    night, morning, noon, evening = by_hour[[3, 8, 11, 19]]
    assert night < noon < morning < evening
    monday, *_, saturday, sunday = describe(cer).weekdays
    assert min(saturday, sunday) > 1.03 * monday


def test_what_is_high_now_is_rather_high_an_hour_later(cer: Dataset) -> None:
    deviation = np.log1p(cer.readings) - np.log1p(cer.readings).mean(1, keepdims=True)
    deviation -= deviation.mean(0)
    lag = (deviation[:, 1:] * deviation[:, :-1]).mean() / (deviation**2).mean()
    assert 0.2 < lag < 0.6


def test_tails_are_heavy_and_few_readings_are_cut(cer: Dataset) -> None:
    assert np.quantile(cer.readings, 0.999) > 15 * cer.readings.mean()
    assert (cer.readings == cer.readings.max()).mean() < 1e-3


def test_clips_are_mean_plus_standard_deviation() -> None:
    assert CLIPS == {"CER": 1850, "CA": 1510, "MI": 1700, "TX": 2180}
    assert all(row.clip == pytest.approx(row.mean + row.sd) for row in TABLE2.values())


def test_beyond_counts_readings_and_energy() -> None:
    dataset = make_standin("MI")
    assert measure_clip(dataset, 49_500) == (0, 0)
    readings, energy = measure_clip(dataset, 0)
    assert energy == 1
    assert readings == (dataset.readings > 0).mean()


def test_tuning_is_another_town() -> None:
    assert np.array_equal(open_dataset("MI", seed=2).readings, make_standin("MI", 2).readings)
    assert not np.array_equal(open_dataset("MI", tuning=True).readings, open_dataset("MI").readings)


def test_an_unknown_data_set_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, check=has_code("dataset-unknown", "lcl, CER, CA, MI, TX")):
        open_dataset("NY")


def test_the_page_shows_the_figures_as_they_are() -> None:
    assert make_tables() in (DOCS / "data.md").read_text("utf-8"), "run benchmarks/describe_data.py"
