from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from gridveil.mechanisms.literature.fast import Fast, Filter, SamplingSchedule, compute_gain
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import LinearNoise

START = datetime(2013, 2, 4, tzinfo=UTC)


def window(steps: int) -> Window:
    return Window(START, timedelta(hours=1), steps)


def watched(session: Session) -> tuple[Session, list[np.ndarray]]:
    """A session that remembers where each question sampled: axes (x, y, step)."""
    sampled: list[np.ndarray] = []

    def ask(*question: Any, **options: Any) -> Any:
        sampled.append(np.asarray(options["labels"]) >= 0)
        return session._ask(*question, **options)

    return replace(session, _ask=ask), sampled


def test_a_constant_pillar_without_noise_is_sampled_as_by_the_original() -> None:
    """Steps 0 to 96 are those of the original binaries; the five samples to spare are taken at the end."""
    kernel = kernel_on(np.full((1, 1, 120), 500), window(120), epsilon="1e9", bound=Bound(1500, 180_000))
    session, sampled = watched(kernel.session())
    estimate = Fast().release(session)
    steps = np.flatnonzero(np.sum(sampled, axis=0))
    assert steps.tolist() == [0, 1, 2, 3, 4, 5, 9, 16, 26, 39, 55, 74, 96, 115, 116, 117, 118, 119]
    np.testing.assert_allclose(estimate.values, 500)


def test_surprises_shorten_the_interval() -> None:
    schedule = SamplingSchedule(cells=2, steps=120, most=30)
    for step in range(40):
        due = schedule.due(step)
        schedule.took(due, step, np.array([0.0, 1.0]))
    assert schedule.interval[0] > 10
    assert schedule.interval[1] == 1
    assert schedule.taken.tolist() == [10, 30]


def test_the_filter_settles_where_theory_says() -> None:
    variance = np.array([50.0])
    for _ in range(60):
        gain, variance = compute_gain(variance + 1.0, 2.0)
    assert gain[0] == pytest.approx(0.5)
    assert variance[0] == pytest.approx(1.0)


def test_the_filters_covariance_is_that_of_its_weights() -> None:
    """Oracle: put a one into each sample in turn, and see which levels it moves."""
    due = np.array([[1, 1, 0, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0, 0]], dtype=bool)

    def run(samples: np.ndarray) -> Filter:
        filtered = Filter(cells=2, steps=7, drift_variance=0.7)
        for step in range(7):
            filtered.predict()
            filtered.correct(due[:, step], samples[due[:, step], step], 2.0)
            filtered.publish(step)
        return filtered

    weights = [run(unit.reshape(2, 7)).levels for unit in np.eye(14)]
    expected = 2.0 * sum(each.T @ each for each in weights) / 2
    np.testing.assert_allclose(run(np.zeros((2, 7))).covariance, expected)


@pytest.mark.parametrize("bound", [Bound(1500, 180_000), Bound(20_000, 136_000), Bound(9000, 4000)])
def test_every_pillar_takes_as_many_samples_and_noise_is_as_large_as_it_must_be(bound: Bound) -> None:
    readings = np.random.default_rng(0).gamma(0.5, 800, (4, 5, 120)).astype(int)
    kernel = kernel_on(readings, window(120), epsilon=3, bound=bound)
    session, sampled = watched(kernel.session())
    Fast().release(session)
    counts = np.sum(sampled, axis=0)
    assert (counts.sum(axis=2) == 18).all()
    assert counts.max() == 1
    assert len({tuple(pillar) for pillar in counts.reshape(20, 120).tolist()}) > 1, "schedules adapt"


def test_noise_on_nothing_has_the_covariance_it_is_said_to_have() -> None:
    """With four samples of 24 the schedule is fixed: steps 0 to 3.

    2,500 pillars: the variances of some steps, of the sum of all and of a difference lie within six of their standard
    deviations (1 in 1e8 each).
    """
    kernel = kernel_on(np.zeros((50, 50, 24)), window(24), epsilon=1, bound=Bound(1500, 36_000), seed=None)
    estimate = Fast().release(kernel.session())
    assert isinstance(estimate.errors, LinearNoise)
    assert estimate.errors.time is not None
    covariance = estimate.errors.time @ estimate.errors.time.T
    assert covariance[0, 0] == pytest.approx(2 * (1500 * 4) ** 2, rel=1e-6)
    pillars = estimate.values.reshape(-1, 24)
    queries = [np.eye(24)[0], np.eye(24)[2], np.eye(24)[23], np.ones(24), np.eye(24)[0] - np.eye(24)[3]]
    for query in queries:
        answers, variance = pillars @ query, query @ covariance @ query
        assert abs((answers**2).mean() / variance - 1) < 6 * (5 / len(answers)) ** 0.5
