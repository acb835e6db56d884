from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil.mechanisms.stpt.parts import (
    Calibration,
    Spread,
    compute_part_shares,
    compute_theorem8_scales,
    release_parts,
)
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)


@pytest.mark.parametrize(("calibration", "scale"), [("theorem8", 17_850), ("joint", 9_000)])
def test_the_oracle_of_two_pillar_types(calibration: Calibration, scale: float) -> None:
    """Pillars with (1, 119) and (119, 1) steps in two parts, clip 1.5 kWh, epsilon 20."""
    labels = np.stack([np.arange(120) > 0, np.arange(120) == 0]).astype(int)[:, None, :]
    kernel = kernel_on(np.ones((2, 1, 120)), WINDOW, epsilon=20, bound=Bound(1500, 180_000))
    estimate = release_parts(
        kernel.session(), np.ones((2, 1, 120)), labels, kernel.session().epsilon, calibration, "uniform"
    )
    assert estimate.errors.scales == pytest.approx([scale, scale], rel=1e-6)
    assert kernel.spent == pytest.approx(20, rel=1e-8)


def test_theorem8_minimises_the_variance_of_the_sums() -> None:
    labels = np.array([[[0, 1, 1, 1, 1, 1, 1, 1, 1]]])
    scales = compute_theorem8_scales(labels, 1000, 9000)
    assert scales == pytest.approx([10.0, 20.0])
    budgets = np.array([1.0, 8.0]) ** (2 / 3)
    assert scales / scales[0] == pytest.approx(np.array([1.0, 8.0]) / budgets)


def test_theorem8_knows_the_window_bound() -> None:
    labels = np.array([[[0, 1, 1, 1, 1, 1, 1, 1, 1]]])
    assert compute_theorem8_scales(labels, 1000, 1000) == pytest.approx([10.0, 10.0])


@given(
    arrays(float, (2, 3, 4), elements=st.floats(-5, 5)),
    arrays(np.int64, (2, 3, 4), elements=st.integers(0, 3)),
)
def test_shares_are_fractions_of_their_part(weights: Floats, labels: Ints) -> None:
    shares = compute_part_shares(weights, labels)
    assert (shares >= 0).all()
    for part in np.unique(labels):
        assert shares[labels == part].sum() == pytest.approx(1)


def test_shares_follow_positive_weights_and_are_even_without_any() -> None:
    labels = np.array([0, 0, 0, 1, 1])
    assert compute_part_shares(np.array([1.0, 3.0, -2.0, -1.0, 0.0]), labels).tolist() == [0.25, 0.75, 0, 0.5, 0.5]


@pytest.mark.parametrize("spread", ["proportional", "uniform"])
def test_part_sums_are_spread_and_their_noise_is_told(spread: Spread) -> None:
    random = np.random.default_rng(0)
    readings = random.integers(0, 1000, (3, 2, 120))
    pattern, labels = random.uniform(1, 2, readings.shape), random.integers(0, 5, readings.shape)
    kernel = kernel_on(readings, WINDOW, epsilon=1e9, bound=Bound(1000, 120_000))
    estimate = release_parts(kernel.session(), pattern, labels, 1e9 * (1 - 1e-9), "joint", spread)
    for part in range(5):
        inside = labels == part
        assert estimate.values[inside].sum() == pytest.approx(readings[inside].sum())
        weights = pattern[inside] if spread == "proportional" else np.ones(inside.sum())
        assert np.allclose(estimate.values[inside] / weights, readings[inside].sum() / weights.sum())
    assert np.array_equal(estimate.errors.labels, labels)
    assert np.allclose(estimate.errors.shares * np.bincount(labels.ravel(), readings.ravel())[labels], estimate.values)
