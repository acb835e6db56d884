"""Releases under bounds that were chosen privately, and the kernel's session that they are measured through."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.base import Progress, make, silent
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.window import Window
from gridveil.publishing.run import FACTOR, release_with_private_bound
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, NoisyParts

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)
OF_STEPS = Bound(23_000, 23_000 * 24)
TRAIN = 12


def town(epsilon: float = 1.0) -> Kernel:
    readings = np.random.default_rng(0).gamma(1.0, 500.0, (16, 16, TRAIN + WINDOW.steps))
    return kernel_on(readings, WINDOW, epsilon=epsilon, bound=OF_STEPS, train_steps=TRAIN)


@dataclass(frozen=True)
class Choosing:
    """A mechanism that chooses bounds itself."""

    chooses_bounds = True

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Ask for the sum of all, under a bound of its own."""
        del progress
        assert measure.bound == OF_STEPS
        bound = Bound(measure.bound.step, 9_000)
        total = measure.sums(np.zeros((1, 1, 1), dtype=np.int64), measure.epsilon, bound=bound)
        shape = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        values = np.broadcast_to(total.values[0] / np.prod(shape), shape)
        return Estimate(values, NoisyParts(None, np.ones((1, 1, 1)), np.ones((1, 1, 1))))


def test_the_mechanism_measures_under_the_chosen_bound_and_its_estimate_is_corrected() -> None:
    kernel = town(epsilon=30.0)
    estimate = release_with_private_bound(kernel, make("outer", {}))
    histogram, *measured = kernel.records
    assert histogram.kind == "household_totals"
    bounds = {record.bound for record in measured}
    assert len(bounds) == 1
    assert bounds.pop().window < OF_STEPS.window / 10  # households use 12 kWh, on average
    assert estimate.details[FACTOR] >= 1
    assert estimate.dense().sum() == pytest.approx(16 * 16 * 24 * 500, rel=0.1)
    assert 30 * (1 - 1e-9) <= kernel.spent <= 30


def test_a_mechanism_that_chooses_bounds_is_left_to_it() -> None:
    kernel = town()
    estimate = release_with_private_bound(kernel, Choosing())
    assert [record.bound.window for record in kernel.records if record.bound] == [9_000]
    assert FACTOR not in estimate.details
    assert 1 - 1e-9 <= kernel.spent <= 1


def test_a_face_asks_every_question_under_its_bound_and_carries_it_over() -> None:
    kernel, whole = town(), np.zeros((1, 1, 1), dtype=np.int64)
    bound, before = Bound(23_000, 9_000), WINDOW.before(TRAIN)
    session = kernel.session(bound)
    assert session.bound == bound
    session.sums(whole, 0.1)
    session.sums(whole, 0.1, window=WINDOW)
    session.matrix(None, None, np.ones((1, 24)), 0.1)
    session.deviations(whole, 0.1)
    session.sums(whole, 0.1, window=before)
    session.sums(whole, 0.1, bound=OF_STEPS)
    carried = Bound(23_000, 4_500)
    assert [record.bound for record in kernel.records] == [bound, bound, bound, bound, carried, OF_STEPS]
    for wrong in ({"window": 24}, {"bound": (1, 2)}):
        with pytest.raises(UsageError):
            session.sums(whole, 0.1, **wrong)


def test_a_face_has_what_remains() -> None:
    kernel, whole = town(), np.zeros((1, 1, 1), dtype=np.int64)
    first = kernel.session()
    assert first.epsilon == np.nextafter(1.0, 0.0)
    first.household_totals([0], 0.25)
    second = kernel.session(Bound(23_000, 9_000))
    assert second.epsilon == kernel.remaining == pytest.approx(0.75)
    second.sums(whole, second.epsilon)
    assert 1 - 1e-9 <= kernel.spent <= 1
    with pytest.raises(BudgetError):
        kernel.session().sums(whole, 0.01)
