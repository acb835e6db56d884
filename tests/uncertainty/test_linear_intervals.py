"""Widths where heavy weights meet many light ones, against closed forms and against all weights one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from gridveil.model.arrays import Floats
from gridveil.uncertainty.laplace import EXPANDED_KURTOSIS, HEAVY, errors_of, exact_widths, representatives

LIGHT = 1e6  # as many are normal to 1e-7 of the width


def laplace_and_normal(variance: float) -> float:
    """Return the half-width for the sum of standard Laplace and normal noise, whose tail has a closed form."""
    sd = math.sqrt(variance)

    def tail(q: float) -> float:
        near = math.exp(variance / 2 - q + log_ndtr(q / sd - sd)) / 2
        far = math.exp(variance / 2 + q + log_ndtr(-q / sd - sd)) / 2
        return math.exp(log_ndtr(-q / sd)) + near - far

    whole = math.sqrt(2 + variance)
    return float(brentq(lambda q: tail(q) - 0.025, 1.5 * whole, 2.5 * whole, xtol=1e-13))


@pytest.mark.parametrize("variance", np.logspace(-4, 1.6, 20).tolist())
def test_one_weight_beside_a_million_light_ones(variance: float) -> None:
    weights = np.array([1.0, math.sqrt(variance / (2 * LIGHT))])
    _, width = errors_of([(weights, np.array([1.0, LIGHT]))])
    assert width.item() == pytest.approx(laplace_and_normal(variance), rel=2e-7)


def exact(squares: Floats) -> float:
    weights, counts = np.unique(np.sqrt(squares[squares > 0]), return_counts=True)
    return float(exact_widths(weights[None], counts[None].astype(float)).item())


@pytest.mark.parametrize("heavies", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("heavy_share", [0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.99, 1 - 1e-7, 1 - 1e-13])
@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_light_weights_together_are_as_good_as_one_by_one(heavies: int, heavy_share: float, fraction: float) -> None:
    """Worst are light weights of which some are just not heavy and the others next to nothing."""
    share = heavy_share if heavies else 0.0
    just = 0.999999 * HEAVY
    many = int((1 - share) * fraction / just)
    squares = np.concatenate(
        [
            np.full(heavies, share / max(heavies, 1)),
            np.full(many, just),
            np.full(2000, (1 - share - many * just) / 2000),
        ]
    )
    squares /= squares.sum()
    fourth = np.array([(squares**2).sum()])
    if 3 * fourth <= EXPANDED_KURTOSIS:
        return
    weights, counts = representatives([squares[None]], np.ones(1), fourth)
    assert weights.shape[1] <= heavies + 1
    assert exact_widths(weights, counts).item() == pytest.approx(exact(squares), rel=1.5e-6)


@pytest.mark.parametrize("seed", range(20))
def test_products_of_three_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [np.abs(rng.standard_cauchy((3, size))) ** rng.uniform(0.2, 3) for size in rng.integers(1, 25, 3)]
    tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
    equal = rng.integers(1, 9, 3).astype(float)
    products = np.einsum("qi,qj,qk->qijk", *tables).reshape(3, -1) / equal[:, None]
    fourth = equal * (products**2).sum(axis=1)
    weights, counts = representatives(tables, equal, fourth)
    np.testing.assert_allclose((counts * weights**2).sum(axis=1), 1, rtol=1e-12)
    expected = [exact(np.repeat(row, int(times))) for row, times in zip(products, equal, strict=True)]
    np.testing.assert_allclose(exact_widths(weights, counts), expected, rtol=1.5e-6)


def test_at_most_256_weights_and_one_more() -> None:
    squares = np.full((1, 256), HEAVY)
    weights, counts = representatives([squares, np.ones((1, 1))], np.ones(1), np.array([HEAVY]))
    assert np.count_nonzero(weights) == counts.sum() == 256
    weights, counts = representatives([np.full((1, 300), 1 / 300)], np.ones(1), np.array([1 / 300]))
    assert weights.shape == (1, 1)
    assert counts.item() == pytest.approx(300)
