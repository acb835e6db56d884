"""London in two halves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.research.datasets.london import SAMPLE, WEEKS, HalfTowns


def towns() -> HalfTowns:
    return HalfTowns(str(SAMPLE))


def test_a_town_has_its_number_of_households_and_another_draw_every_seed() -> None:
    one, other = towns()("report-250", "uniform", 0), towns()("report-250", "uniform", 3)
    assert one.dataset.readings.shape == other.dataset.readings.shape
    assert len(one.dataset.readings) == 250
    assert not np.array_equal(one.dataset.readings, other.dataset.readings)
    assert one.dataset.window.start == WEEKS["report"][0]


def test_halves_share_neither_hours_nor_households() -> None:
    assert max(WEEKS["tune"]) < min(WEEKS["report"])
    tuned, reported = towns()("tune-all", "uniform", 0), towns()("report-all", "uniform", 0)
    assert tuned.dataset.window.end <= reported.dataset.window.start
    assert len(tuned.dataset.readings) == len(reported.dataset.readings) // 2  # report-all has everybody


@pytest.mark.parametrize("name", ["half-250", "report", "report-many", "lcl"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, check=has_code("half-syntax")):
        towns()(name, "uniform", 0)
