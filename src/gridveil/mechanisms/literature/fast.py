"""FAST: sample some steps of every pillar, more often where they surprise, and filter the samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, LinearNoise

Mask = NDArray[np.bool_]

# The controller's constants, as in the re-implementation that was checked against the original binaries; no D term.
PROPORTIONAL, INTEGRAL, MEMORY = 0.9, 0.1, 5
STRETCH, SET_POINT = 5.0, 0.1
SURPRISE_LIMIT = 50.0  # beyond it an interval is cut to one step anyway; exp must not overflow


@dataclass(frozen=True)
class Fast:
    """Kalman filter on a few noisy samples of every pillar, taken more often where they surprise.

    fraction: of its steps that a pillar samples, rounded up.
    drift: standard deviation of a pillar's change from step to step that the filter expects, as a part of what the
        bound allows a household in an average step.
    """

    fraction: Annotated[float, Field(gt=0, le=1)] = 0.15
    drift: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.3

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Go through the steps once: predict, measure where a sample is due, correct, plan the next sample.

        Every pillar takes the same number of samples, so the noise scale that all of them together call for is known
        from the start: `min(step * samples, window) / epsilon`. Which steps they are depends on noisy answers only.
        """
        nx, ny, steps = measure.grid.nx, measure.grid.ny, measure.window.steps
        cells, most = nx * ny, max(1, math.ceil(self.fraction * steps - 1e-9))
        at_once = min(measure.bound.step, measure.bound.window)
        epsilon = measure.epsilon * (at_once / min(at_once * most, measure.bound.window))
        unit = min(measure.bound.step, measure.bound.window / steps)
        schedule, filtered = SamplingSchedule(cells, steps, most), Filter(cells, steps, (self.drift * unit) ** 2)
        for step in range(steps):
            due = schedule.due(step)
            expected = filtered.predict()
            if due.any():
                labels = np.full((nx, ny, steps), -1, dtype=np.int32)
                labels[:, :, step] = np.where(due, np.cumsum(due) - 1, -1).reshape(nx, ny)
                measured = measure.sums(labels, epsilon)
                filtered.correct(due, measured.values.astype(np.float64), 2 * float(measured.scales[0]) ** 2)
                surprise = np.abs(filtered.level - expected) / np.maximum(filtered.level, unit)
                schedule.took(due, step, surprise)
            filtered.publish(step)
            progress("sample and filter", (step + 1) / steps)
        values = filtered.levels.reshape(nx, ny, steps)
        return Estimate(values, LinearNoise(None, None, _factorise(filtered.covariance)), {"samples_per_cell": most})


@dataclass
class SamplingSchedule:
    """When each pillar is sampled: at first every step, then at intervals that a PID controller sets.

    A pillar that would end with samples to spare takes them in its last steps: what is paid for is used.
    """

    cells: int
    steps: int
    most: int
    taken: Ints = field(init=False)
    interval: Floats = field(init=False)
    planned: Floats = field(init=False)
    surprises: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Start with intervals of one step."""
        self.taken = np.zeros(self.cells, dtype=np.int64)
        self.interval = np.ones(self.cells)
        self.planned = np.full(self.cells, float(MEMORY))
        self.surprises = np.zeros((MEMORY, self.cells))

    def due(self, step: int) -> Mask:
        """Return which pillars are sampled in a step."""
        left = self.most - self.taken
        wanted = (self.taken < MEMORY) | (self.planned == step) | (left >= self.steps - step)
        return np.asarray(wanted & (left > 0))

    def took(self, due: Mask, step: int, surprise: Floats) -> None:
        """Plan the next sample of the pillars just sampled from their last surprises."""
        self.taken += due
        self.surprises[:, due] = np.vstack([self.surprises[1:, due], surprise[due]])
        error = PROPORTIONAL * surprise + INTEGRAL * self.surprises.sum(axis=0)
        excess = np.minimum((error - SET_POINT) / SET_POINT, SURPRISE_LIMIT)
        longer = np.maximum(1.0, self.interval + np.trunc(STRETCH * (1 - np.exp(excess))))
        settled = due & (self.taken > MEMORY)
        self.interval = np.where(settled, longer, self.interval)
        self.planned = np.where(settled, step + self.interval, self.planned)


@dataclass
class Filter:
    """A Kalman filter per pillar for a level that drifts; it also keeps how the noise of its levels is correlated.

    `covariance` is of the levels at any two steps, averaged over pillars; it holds what the samples' noise does, not
    the drift between samples.
    """

    cells: int
    steps: int
    drift_variance: float
    level: Floats = field(init=False)
    variance: Floats = field(init=False)
    levels: Floats = field(init=False)
    covariance: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Know nothing: the first sample is believed as it is."""
        self.level = np.zeros(self.cells)
        self.variance = np.full(self.cells, np.inf)
        self.levels = np.empty((self.cells, self.steps))
        self.covariance = np.zeros((self.steps, self.steps))
        self._with_earlier = np.zeros((self.cells, self.steps))  # covariance of this level with those published
        self._noise = np.zeros(self.cells)  # variance of this level

    def predict(self) -> Floats:
        """Go on by one step and return the levels expected."""
        self.variance = self.variance + self.drift_variance
        return self.level

    def correct(self, due: Mask, sample: Floats, sample_variance: float) -> None:
        """Take in the samples of some pillars."""
        gain, posterior = compute_gain(self.variance[due], sample_variance)
        self.variance[due] = posterior
        self.level = self.level.copy()
        self.level[due] += gain * (sample - self.level[due])
        self._noise[due] = (1 - gain) ** 2 * self._noise[due] + gain**2 * sample_variance
        self._with_earlier[due] *= (1 - gain)[:, None]

    def publish(self, step: int) -> None:
        """Keep the levels as those of this step."""
        self.levels[:, step] = self.level
        self._with_earlier[:, step] = self._noise
        row = self._with_earlier[:, : step + 1].mean(axis=0)
        self.covariance[step, : step + 1] = self.covariance[: step + 1, step] = row


def compute_gain(variance: Floats, sample_variance: float) -> tuple[Floats, Floats]:
    """Return how far to go from a level of some variance to its sample, and the variance then.

    >>> compute_gain(np.array([2.0, np.inf]), 2.0)
    (array([0.5, 1. ]), array([1., 2.]))
    """
    gain = 1 / (1 + sample_variance / variance)
    return gain, gain * sample_variance


def _factorise(covariance: Floats) -> Floats:
    """Return a matrix whose product with its transpose is the covariance."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values[-1] * 1e-12
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
