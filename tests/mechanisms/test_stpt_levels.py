import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.geography.grid import Grid
from gridveil.mechanisms.inference.space import depth_of_quarters, make_levels
from gridveil.mechanisms.stpt.parts import MIN_FRACTION, compute_posterior_mean, shrink
from gridveil.mechanisms.stpt.series import (
    Series,
    compute_block_shares,
    compute_cell_shares,
    fit_map_level,
    hindcast,
    make_weighted_slices,
)
from gridveil.model.arrays import Floats


def tree_of(cube: Floats, scale: float, seed: int | None = None) -> list[Series]:
    """Block sums of a cube, noisy if there is a seed."""
    nx, ny, steps = cube.shape
    grid = Grid(0, 0, nx, ny, nx, ny)
    random = np.random.default_rng(seed)
    series = []
    for part in make_weighted_slices(make_levels(grid, depth_of_quarters(grid)), steps, lookback=3):
        here = np.moveaxis(cube[:, :, part.start : part.end], 2, 0)
        sums = part.level.gather(here if part.stepwise else here.sum(axis=0, keepdims=True))
        noise = 0 if seed is None else random.laplace(0, scale, sums.shape)
        series.append(Series(part, sums + noise, scale))
    return series


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([1e-3, 10.0, 1e7]), st.integers(0, 5))
def test_shares_add_up_on_every_level_whatever_the_noise(nx: int, ny: int, scale: float, seed: int) -> None:
    cube = np.random.default_rng(seed).integers(0, 100, (nx, ny, 60)).astype(float)
    series = tree_of(cube, scale, seed)
    level = fit_map_level(series[0])
    shares = compute_block_shares(series, hindcast(series, level, np.zeros((60, 0))))
    for each, share, children in zip(series, shares, [*shares[1:], None], strict=True):
        assert (share > 0).all()
        assert share.sum() == pytest.approx(1)
        if children is not None:
            assert np.allclose(each.part.level.gather(children), share)
    assert compute_cell_shares(series[-1].part.level, shares[-1]).sum() == pytest.approx(1)


@pytest.mark.parametrize("side", [2, 8])  # at depth 1 blocks are measured step by step, at depth 3 once
def test_shares_without_noise_are_those_of_the_cells(side: int) -> None:
    cells = np.random.default_rng(1).uniform(1, 9, (side, side))
    series = tree_of(np.repeat(cells[:, :, None], 60, axis=2), scale=1e-6)
    shares = compute_block_shares(series, hindcast(series, fit_map_level(series[0]), np.zeros((60, 0))))
    assert np.allclose(shares[-1], cells / cells.sum(), rtol=1e-6)


def test_a_poorly_measured_level_is_told_by_its_children() -> None:
    cells = np.random.default_rng(1).uniform(1, 9, (4, 4))
    root, quarters, deepest = tree_of(np.repeat(cells[:, :, None], 60, axis=2), scale=1e-6)
    poor = Series(quarters.part, quarters.sums[:, ::-1], scale=1e6)
    shares = compute_block_shares(
        [root, poor, deepest], hindcast([root, poor, deepest], fit_map_level(root), np.zeros((60, 0)))
    )
    assert np.allclose(shares[1], quarters.part.level.gather(cells) / cells.sum(), rtol=1e-6)


def test_pure_noise_tells_no_cells_apart() -> None:
    series = tree_of(np.ones((8, 8, 60)), scale=1e5, seed=3)
    shares = compute_block_shares(series, hindcast(series, fit_map_level(series[0]), np.zeros((60, 0))))
    assert np.ptp(shares[-1]) < 0.5 * shares[-1].mean()


def test_hindcast_knows_the_time_of_day() -> None:
    steps = 72
    hours = np.arange(steps)
    waves = np.column_stack([np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24)])
    cube = np.ones((8, 8, 1)) * (1000 + 300 * waves[:, 0] - 200 * waves[:, 1])
    series = tree_of(cube, scale=1.0)
    totals = hindcast(series, fit_map_level(series[0]), waves)
    true = [cube[:, :, each.part.start : each.part.end].sum() for each in series]
    assert np.allclose(totals, true, rtol=0.01)


@pytest.mark.parametrize("value", [-1e6, 0.0])
def test_the_map_level_stays_positive(value: float) -> None:
    series = tree_of(np.full((2, 2, 30), value), scale=50.0)
    level = fit_map_level(series[0])
    assert level.mean > 0
    assert level.noise == pytest.approx(1)
    assert min(hindcast(series, level, np.zeros((30, 0)))) > 0


def test_shrink_believes_what_is_exact_and_ignores_what_is_noise() -> None:
    random = np.random.default_rng(0)
    expected, true = np.full(1000, 100.0), random.gamma(4.0, 25.0, 1000)
    assert np.allclose(shrink(true, expected, 1e-9), np.maximum(true, MIN_FRACTION * expected))
    noisy = expected + random.laplace(0, 1000, 1000)
    assert np.allclose(shrink(noisy, expected, 2e6), expected)
    noisy = true + random.laplace(0, 50, 1000)
    assert np.mean((shrink(noisy, expected, 5000) - true) ** 2) < min(
        np.mean((noisy - true) ** 2), np.mean((expected - true) ** 2)
    )


def test_posterior_mean_finds_empty_cells_and_large_ones() -> None:
    random = np.random.default_rng(0)
    expected = np.full((40, 40), 100.0)
    true = random.choice([0.0, 50.0, 800.0], p=[0.6, 0.3, 0.1], size=(40, 40))
    noisy = true + random.laplace(0, 60, true.shape)
    posterior = compute_posterior_mean(noisy, expected, 60.0)
    assert (posterior > 0).all()
    assert np.mean((posterior - true) ** 2) < 0.5 * np.mean((shrink(noisy, expected, 7200.0) - true) ** 2)


def test_posterior_mean_of_a_far_outlier_is_finite() -> None:
    noisy = np.array([[1e15, -1e15, 10.0]])
    assert np.isfinite(compute_posterior_mean(noisy, np.ones((1, 3)), 1e-3)).all()
