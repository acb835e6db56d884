"""The profile in time: valid on every window, exact without noise, better than its measurement."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.mosaic.time import TimeEstimate, estimate_time
from gridveil.model.window import Window
from gridveil.trusted.kernel.session import Measurement

START = datetime(2013, 1, 14, tzinfo=UTC)


def hourly(steps: int) -> Window:
    return Window(START, timedelta(hours=1), steps)


def measured(window: Window, truth: np.ndarray, scale: float, seed: int, runs: np.ndarray | None = None) -> Measurement:
    runs = np.arange(window.steps) if runs is None else runs
    sums = np.bincount(runs, truth)
    noisy = sums + np.random.default_rng(seed).laplace(0.0, scale, len(sums))
    return Measurement(np.rint(noisy).astype(np.int64), np.full(len(sums), scale))


def check(got: TimeEstimate, steps: int, draws: int) -> None:
    assert got.profile.shape == (steps,)
    assert got.draws.shape == (draws, steps)
    for each in (got.profile, got.draws):
        assert np.isfinite(each).all()
        assert (each >= 0).all()
        np.testing.assert_allclose(each.sum(axis=-1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("minutes", [15, 60, 420, 1440])
@pytest.mark.parametrize("steps", [1, 2, 50])
@pytest.mark.parametrize(("scale", "level"), [(1e-9, 5e4), (1e3, 5e4), (1e12, 5e4), (1e-9, 0.0), (1e3, 0.0)])
def test_every_window_gets_a_profile(minutes: int, steps: int, scale: float, level: float) -> None:
    window = Window(START, timedelta(minutes=minutes), steps)
    truth = np.full(steps, level)
    noisy = measured(window, truth, scale, 1)
    check(estimate_time(window, np.arange(steps), noisy, truth.sum(), scale, None, 5, 0), steps, 5)


def test_without_noise_the_profile_is_the_truth() -> None:
    window = hourly(72)
    truth = np.random.default_rng(0).uniform(1e5, 3e5, 72)
    noisy = measured(window, truth, 1e-6, 1)
    got = estimate_time(window, np.arange(72), noisy, truth.sum(), 1e4, None, 20, 0)
    np.testing.assert_allclose(got.profile, truth / truth.sum(), rtol=2e-3)
    np.testing.assert_allclose(got.draws, np.tile(truth / truth.sum(), (20, 1)), rtol=1e-2)


def test_the_profile_is_nearer_to_the_truth_than_its_measurement() -> None:
    # Noise of a third of a step's consumption; over 20 repeats the errors differ by a factor of more than 3, so that
    # the odds of a false alarm at a factor of 2 are far below 1e-6.
    window = hourly(120)
    truth = 5e5 * (1 + 0.4 * np.sin(2 * np.pi * (np.arange(120) - 12) / 24))
    raw, fitted = [], []
    for seed in range(20):
        noisy = measured(window, truth, 1.2e5, seed)
        got = estimate_time(window, np.arange(120), noisy, truth.sum(), 1e6, None, 1, 0)
        raw.append(np.abs(noisy.values / noisy.values.sum() - truth / truth.sum()).sum())
        fitted.append(np.abs(got.profile - truth / truth.sum()).sum())
    assert np.mean(fitted) < np.mean(raw) / 2


def test_a_public_shape_is_what_remains_when_noise_drowns_everything() -> None:
    window = hourly(48)
    shape = 1 + np.sin(np.arange(48.0)) ** 2
    noisy = measured(window, np.full(48, 1e3), 1e9, 3)
    got = estimate_time(window, np.arange(48), noisy, 48e3, 1e3, shape, 3, 0)
    np.testing.assert_allclose(got.profile, shape / shape.sum(), rtol=0.02)
    check(got, 48, 3)


def test_steps_measured_together_have_the_sum_that_was_measured() -> None:
    window = hourly(48)
    runs = np.arange(48) % 24
    truth = np.tile(np.random.default_rng(2).uniform(1e5, 3e5, 24), 2)
    got = estimate_time(window, runs, measured(window, truth, 1e-6, 1, runs), truth.sum(), 1e3, None, 3, 0)
    np.testing.assert_allclose(got.profile.reshape(2, 24).sum(axis=0), truth[:24] * 2 / truth.sum(), rtol=2e-3)


def test_the_same_seed_gives_the_same_draws() -> None:
    window = hourly(24)
    noisy = measured(window, np.full(24, 1e5), 1e4, 0)
    one, two = (estimate_time(window, np.arange(24), noisy, 2.4e6, 1e5, None, 4, seed) for seed in (7, 7))
    np.testing.assert_array_equal(one.draws, two.draws)


def test_what_a_bound_cut_away_makes_the_draws_wider() -> None:
    window = hourly(48)
    noisy = measured(window, np.full(48, 1e6), 1e3, 0)
    narrow, wide = (estimate_time(window, np.arange(48), noisy, 48e6, 1e5, None, 50, 0, cut=cut) for cut in (0.0, 0.3))
    assert wide.draws.std(axis=0).mean() > 3 * narrow.draws.std(axis=0).mean()
    check(wide, 48, 50)


def test_a_long_window_is_fitted_block_by_block() -> None:
    window = hourly(1000)
    truth = 5e5 * (1 + 0.4 * np.sin(2 * np.pi * (np.arange(1000) - 12) / 24))
    got = estimate_time(window, np.arange(1000), measured(window, truth, 1e4, 0), truth.sum(), 1e6, None, 20, 0)
    check(got, 1000, 20)
    # The noise's mean size is 2 % of the mean step.
    assert np.abs(got.profile * 1000 - truth / truth.mean()).mean() < 0.014


def test_many_runs_of_several_steps_keep_their_sums() -> None:
    window = hourly(1400)
    runs = np.arange(1400) // 2
    truth = np.random.default_rng(0).uniform(1e5, 3e5, 1400)
    got = estimate_time(window, runs, measured(window, truth, 1e-6, 1, runs), truth.sum(), 1e4, None, 2, 0)
    np.testing.assert_allclose(np.bincount(runs, got.profile), np.bincount(runs, truth) / truth.sum(), rtol=0.02)
