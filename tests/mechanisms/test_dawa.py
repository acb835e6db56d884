from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from gridveil.mechanisms.literature.dawa import Dawa, choose_buckets, label_runs, number_buckets
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import NoisyParts

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)


def partitions(first: int, level: int, steps: int) -> list[list[tuple[int, int]]]:
    """All partitions of a dyadic run, cut at the window's end, into dyadic runs; each as (first, end)."""
    end = min(first + 2**level, steps)
    whole = [[(first, end)]]
    if level == 0 or end - first == 1:
        return whole
    middle = first + 2 ** (level - 1)
    if middle >= end:
        return partitions(first, level - 1, steps)
    halves = partitions(first, level - 1, steps), partitions(middle, level - 1, steps)
    return whole + [left + right for left in halves[0] for right in halves[1]]


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 6, 8, 11, 13])
def test_the_partition_is_the_cheapest_of_all(steps: int) -> None:
    """Brute force over all partitions into dyadic runs, with random costs."""
    levels, pillars, random = (steps - 1).bit_length(), 20, np.random.default_rng(steps)
    costs, of_run = [], {}
    for level in range(1, levels + 1):
        labels = label_runs(1, 1, steps, level).ravel()
        cost = 1 + random.exponential(2.0, (pillars, labels.max() + 1))
        costs.append(cost)
        for run in range(labels.max() + 1):
            inside = np.flatnonzero(labels == run)
            of_run[int(inside[0]), int(inside[-1]) + 1] = cost[:, run]
    of_run |= {(step, step + 1): np.ones(pillars) for step in range(steps)}
    labels = number_buckets(choose_buckets(costs, pillars, steps, 1.0))
    for pillar in range(pillars):
        found = np.flatnonzero(np.diff(labels[pillar], prepend=-1)).tolist()
        runs = list(pairwise([*found, steps]))
        best = min(sum(of_run[run][pillar] for run in each) for each in partitions(0, levels, steps))
        assert sum(of_run[run][pillar] for run in runs) == pytest.approx(best)


def test_buckets_are_numbered_through_and_never_cross_pillars() -> None:
    chosen = np.array([[1, 1, 0, 0], [2, 2, 2, 2]], dtype=np.int8)
    assert number_buckets(chosen).tolist() == [[0, 0, 1, 2], [3, 3, 3, 3]]


def test_runs_of_a_level_cover_the_window_once() -> None:
    assert label_runs(1, 2, 5, 1).tolist() == [[[0, 0, 1, 1, -1], [2, 2, 3, 3, -1]]]
    assert label_runs(1, 2, 5, 3).tolist() == [[[0] * 5, [1] * 5]]


def test_without_noise_constant_runs_become_buckets() -> None:
    blocks = np.array([[100] * 8 + [700] * 4 + [300] * 4 + [50] * 8, [20] * 16 + [900] * 8])
    kernel = kernel_on(blocks.reshape(1, 2, 24), WINDOW, epsilon="1e9", bound=Bound(1000, 24_000), seed=None)
    estimate = Dawa().release(kernel.session())
    np.testing.assert_allclose(estimate.values.reshape(2, 24), blocks)
    # The dyadic tree over 32 steps has 0-8, 8-12, 12-16, 16-24 and 0-16, 16-24.
    assert estimate.details["buckets"] == 6


def test_noise_on_nothing_is_that_of_the_buckets_sums() -> None:
    """1,600 pillars: standardised, the buckets' sums have variance 1 within six standard deviations (1 in 1e8)."""
    bound = Bound(step=1000, window=5000)
    kernel = kernel_on(np.zeros((40, 40, 24)), WINDOW, epsilon=1, bound=bound, seed=None)
    estimate = Dawa(ratio=0.25).release(kernel.session())
    errors = estimate.errors
    assert isinstance(errors, NoisyParts)
    assert errors.labels is not None
    assert errors.scales == pytest.approx(bound.window / 0.75)
    sums = np.bincount(errors.labels.ravel(), estimate.values.ravel())
    np.testing.assert_allclose(np.bincount(errors.labels.ravel(), errors.shares.ravel()), 1)
    assert abs((sums**2).mean() / (2 * errors.scales[0] ** 2) - 1) < 6 * (5 / len(sums)) ** 0.5
    assert abs(sums.mean()) < 6 * (2 * errors.scales[0] ** 2 / len(sums)) ** 0.5


def test_a_single_step_needs_no_search() -> None:
    window = Window(WINDOW.start, WINDOW.step, 1)
    kernel = kernel_on(np.full((2, 2, 1), 7), window, epsilon=3, bound=Bound(10, 10))
    estimate = Dawa().release(kernel.session())
    assert isinstance(estimate.errors, NoisyParts)
    assert estimate.errors.scales == pytest.approx(10 / 3)
