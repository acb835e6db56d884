"""Mosaic as a whole: what it measures, that it spends everything, and what it makes of what it measured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from gridveil.mechanisms.base import make
from gridveil.mechanisms.mosaic import Mosaic
from gridveil.mechanisms.mosaic.mechanism import divide_budget
from gridveil.model.window import Window
from gridveil.simulate.rehearse import draw_workload, mre, range_sums
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import Posterior

START = datetime(2013, 2, 4, tzinfo=UTC)
FREE = Bound(23_000, 23_000 * 48)


def window(steps: int, step: timedelta = timedelta(hours=1)) -> Window:
    return Window(START, step, steps)


def town(nx: int, ny: int, steps: int, seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """One household a cell: lognormal totals, more in the evening."""
    random = np.random.default_rng(seed)
    totals = random.lognormal(6.0, 0.7, (nx, ny, 1))
    evening = 1 + 0.8 * np.sin(2 * np.pi * (np.arange(steps) - 12) / 24)
    return (totals * evening * random.gamma(2.0, 0.5, (nx, ny, steps))).astype(np.int64)


@pytest.mark.parametrize(
    ("shape", "step"),
    [
        ((1, 1, 24), timedelta(hours=1)),
        ((5, 7, 24), timedelta(hours=1)),
        ((4, 4, 1), timedelta(hours=1)),
        ((3, 1, 96), timedelta(minutes=15)),
        ((2, 2, 9), timedelta(days=1)),
    ],
)
@pytest.mark.parametrize("epsilon", [0.01, 3.0, 1e9])
@pytest.mark.parametrize("noise", ["laplace", "staircase"])
def test_any_grid_and_window_at_any_epsilon(
    shape: tuple[int, int, int], step: timedelta, epsilon: float, noise: str
) -> None:
    for cube in (np.zeros(shape, dtype=np.int64), town(*shape)):
        kernel = kernel_on(cube, window(shape[2], step), epsilon=epsilon, bound=Bound(23_000, 23_000 * shape[2]))
        estimate = make("mosaic", {"noise": noise}).release(kernel.session())
        assert estimate.dense().shape == shape
        assert np.isfinite(estimate.dense()).all()
        assert (estimate.dense() >= 0).all()
        assert isinstance(estimate.errors, Posterior)
        assert np.allclose(estimate.errors.time.sum(axis=2), 1)
        assert epsilon * (1 - 1e-9) <= kernel.spent <= epsilon


def test_it_nears_the_truth_as_epsilon_grows() -> None:
    cube = town(8, 8, 48)
    ranges = draw_workload("random", cube.shape, 0)
    truth = range_sums(cube.astype(np.float64), ranges)
    errors = []
    for epsilon in (0.1, 3.0, 1e6):
        kernel = kernel_on(cube, window(48), epsilon=epsilon, bound=FREE)
        errors.append(mre(truth, range_sums(Mosaic().release(kernel.session()).dense(), ranges)).percent)
    assert all(before > after for before, after in pairwise(errors))
    assert errors[-1] < 8  # what single households do that one profile for all does not tell


def test_a_given_bound_stands_and_is_corrected_for() -> None:
    cube = town(8, 8, 48)
    given = Bound(23_000, 20_000)
    kernel = kernel_on(cube, window(48), epsilon=1e6, bound=given)
    estimate = Mosaic().release(kernel.session())
    assert {record.bound for record in kernel.records if record.bound is not None} == {given}
    assert estimate.details["debias_factor"] > 1.05
    assert estimate.dense().sum() == pytest.approx(cube.sum(), rel=0.05)


def test_a_public_profile_is_where_it_starts_from() -> None:
    cube = town(4, 4, 48)
    day = tuple(1.0 + (hour == 18) * 20 for hour in range(24))
    kernel = kernel_on(cube, window(48), epsilon=0.01, bound=FREE)
    values = Mosaic(profile=(*day, *day)).release(kernel.session()).dense().sum(axis=(0, 1))
    assert set(np.argsort(values)[-2:]) == {18, 42}


def test_every_part_of_the_budget_is_spent() -> None:
    for epsilon in (0.01, 1.0, 30.0):
        spending = divide_budget(epsilon, 1000.0)
        assert spending.total + spending.space + spending.time == pytest.approx(epsilon)
        assert min(spending.total, spending.space, spending.time) > 0
