from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil.mechanisms.inference.totals import Marginals, project
from gridveil.mechanisms.literature.outer import Outer, fit_outer
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import Replicates

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)
BOUND = Bound(step=20_000, window=100_000)


@given(arrays(float, st.integers(1, 12), elements=st.floats(-100, 100)), st.floats(0.001, 1000))
def test_projection_is_the_nearest_point(values: np.ndarray, total: float) -> None:
    """Optimality conditions: all that stay were lowered by the same amount, and none that was cut was larger."""
    nearest = project(values, total)
    assert (nearest >= 0).all()
    assert nearest.sum() == pytest.approx(total)
    by = values - nearest
    amount = by[nearest > 0].mean()
    np.testing.assert_allclose(by[nearest > 0], amount, atol=1e-9 * (1 + total))
    assert (values[nearest == 0] <= amount + 1e-9 * (1 + total)).all()


def test_projection_works_row_by_row_and_leaves_nothing_of_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(5, 3, 7))
    totals = np.arange(-3.0, 12.0).reshape(5, 3)
    for row in np.ndindex(5, 3):
        np.testing.assert_array_equal(project(values, totals)[row], project(values[row], totals[row]))
    assert not project(values[0, 0], 0.0).any()


def test_a_product_is_found_again_without_noise() -> None:
    cube = np.arange(35).reshape(5, 7, 1) * np.arange(1, 25)
    estimate = Outer().release(kernel_on(cube, WINDOW, epsilon="1e9", bound=BOUND, seed=None).session())
    np.testing.assert_allclose(estimate.values, cube, rtol=1e-9)


def test_the_total_is_the_best_of_both_sums() -> None:
    marginals = Marginals(np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), cell_scale=3.0, step_scale=2.0)
    by_cells, by_steps = 1 / (2 * 9), 1 / (3 * 4)
    assert marginals.total() == pytest.approx((3 * by_cells + 12 * by_steps) / (by_cells + by_steps))
    assert marginals.total_sd() == pytest.approx((2 / (by_cells + by_steps)) ** 0.5)


def test_values_are_never_negative_and_keep_the_total() -> None:
    """Nothing but noise: cells cut one by one would sum to hundreds of standard deviations."""
    noise = np.random.default_rng(0).laplace(0, 1, (50, 1024)), np.random.default_rng(1).laplace(0, 1, (50, 120))
    marginals = Marginals(noise[0], noise[1] + 1, 1.0, 1.0)
    cells, steps = fit_outer(marginals)
    assert (cells >= 0).all()
    assert (steps >= 0).all()
    np.testing.assert_allclose(cells.sum(axis=-1), np.maximum(marginals.total(), 0))
    np.testing.assert_allclose(steps.sum(axis=-1), np.maximum(marginals.total(), 0))


@pytest.mark.parametrize("share", [None, 0.3])
def test_noise_and_error_bars_are_what_they_should_be(share: float | None) -> None:
    """A flat town far above the noise, where nothing is cut: every cell's total has the same known variance.

    1,600 cells, and 64,000 numbers in the replicates: each sample variance lies within six of its standard deviations
    (1 in 1e8 each; the fourth moment of a Laplace variable is 6 variances squared).
    """
    side, level, epsilon = 40, 1000, 100
    kernel = kernel_on(np.full((side, side, 24), level), WINDOW, epsilon=epsilon, bound=BOUND, seed=None)
    estimate = Outer(share=share).release(kernel.session())
    cells = side * side
    for_cells = share or cells ** (1 / 3) / (cells ** (1 / 3) + 24 ** (1 / 3))
    scale = BOUND.window / (epsilon * for_cells)
    variance = 2 * scale**2 * (1 - 1 / cells)  # the total's own noise is a cell's divided by 1,600: below a percent
    errors = estimate.values.sum(axis=2) - level * 24
    assert abs(errors.var() / variance - 1) < 6 * (5 / cells) ** 0.5
    assert isinstance(estimate.errors, Replicates)
    again = estimate.errors.space.var(axis=0, ddof=1)
    assert abs(again.mean() / variance - 1) < 6 * (5 / estimate.errors.space.size) ** 0.5 + 0.01
