from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gridveil.mechanisms.inference.totals import Marginals, project
from gridveil.mechanisms.literature.pgm import Pgm, fit_pgm
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import Replicates

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)
BOUND = Bound(step=20_000, window=100_000)


def noisy(seed: int, level: float) -> Marginals:
    random = np.random.default_rng(seed)
    cells, steps = random.exponential(level, 30), np.full(12, 30 * level / 12)
    return Marginals(cells + random.laplace(0, 2.0, 30), steps + random.laplace(0, 3.0, 12), 2.0, 3.0)


def loss(cells: np.ndarray, steps: np.ndarray, target: Marginals) -> float:
    of_cells = ((cells - target.cells) ** 2).sum() / target.cell_scale**2
    return float(of_cells + ((steps - target.steps) ** 2).sum() / target.step_scale**2)


@pytest.mark.parametrize("level", [0.5, 5.0, 500.0])
def test_the_fit_is_the_least_squares_one_with_a_free_total(level: float) -> None:
    """Oracle: for a fixed total the best fit is a projection; the best total is found by search."""
    each = [noisy(seed, level) for seed in range(5)]
    together = Marginals(np.stack([m.cells for m in each]), np.stack([m.steps for m in each]), 2.0, 3.0)
    for target, cells, steps in zip(each, *fit_pgm(together, 20_000), strict=True):
        assert (cells > 0).all()
        assert (steps > 0).all()
        assert cells.sum() == pytest.approx(steps.sum())
        best = minimize_scalar(
            lambda total, target=target: loss(project(target.cells, total), project(target.steps, total), target),
            bounds=(1e-6, 2 * target.steps.clip(0).sum() + 2 * target.cells.clip(0).sum()),
            method="bounded",
            options={"xatol": 1e-9},
        )
        assert loss(cells, steps, target) == pytest.approx(best.fun, rel=1e-4, abs=1e-6)
        assert cells.sum() == pytest.approx(best.x, rel=1e-2)


def test_rounds_never_raise_the_loss() -> None:
    target = noisy(0, 5.0)
    losses = [loss(*fit_pgm(target, rounds), target) for rounds in (1, 2, 3, 5, 10, 50, 200, 1000)]
    assert losses == sorted(losses, reverse=True)


def test_many_fits_at_once_are_the_same_as_one_by_one() -> None:
    each = [noisy(seed, 5.0) for seed in range(4)]
    together = Marginals(np.stack([m.cells for m in each]), np.stack([m.steps for m in each]), 2.0, 3.0)
    cells, steps = fit_pgm(together, 200)
    for row, alone in enumerate(each):
        np.testing.assert_allclose(cells[row], fit_pgm(alone, 200)[0])
        np.testing.assert_allclose(steps[row], fit_pgm(alone, 200)[1])


def test_a_product_is_found_again_without_noise() -> None:
    cube = np.arange(20, 55).reshape(5, 7, 1) * np.arange(8, 32)
    estimate = Pgm().release(kernel_on(cube, WINDOW, epsilon="1e9", bound=BOUND, seed=None).session())
    np.testing.assert_allclose(estimate.values, cube, rtol=1e-6)


def test_noise_and_error_bars_are_what_they_should_be() -> None:
    """As for outer: a flat town far above the noise, variances within six of their standard deviations (1 in 1e8)."""
    side, level, epsilon = 20, 1000, 100
    kernel = kernel_on(np.full((side, side, 24), level), WINDOW, epsilon=epsilon, bound=BOUND, seed=None)
    estimate = Pgm(share=0.5).release(kernel.session())
    cells = side * side
    variance = 2 * (BOUND.window / (epsilon * 0.5)) ** 2 * (1 - 1 / cells)
    errors = estimate.values.sum(axis=2) - level * 24
    assert abs(errors.var() / variance - 1) < 6 * (5 / cells) ** 0.5
    assert isinstance(estimate.errors, Replicates)
    again = estimate.errors.space.var(axis=0, ddof=1)
    assert abs(again.mean() / variance - 1) < 6 * (5 / estimate.errors.space.size) ** 0.5 + 0.01
