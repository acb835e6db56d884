"""AR(1): independent noise on every cell and step, then mixed with what the step before lets expect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, LinearNoise

LARGEST_MEMORY = 0.999


@dataclass(frozen=True)
class Ar1:
    """Independent noise on every cell and step, mixed with an autoregressive forecast from the step before."""

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure every cell and step by itself; learn the process from the noisy answers; filter them with it."""
        shape = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        measured = measure.sums(None, measure.epsilon)
        progress("measure every cell and step", 1.0)
        noisy = measured.values.reshape(-1, shape[2]).astype(np.float64)
        noise_variance = 2 * float(measured.scales[0]) ** 2
        variance, memory = learn(noisy, noise_variance)
        mix = filter_matrix(shape[2], variance, memory, noise_variance)
        errors = LinearNoise(None, None, noise_variance**0.5 * mix)
        return Estimate((noisy @ mix.T).reshape(shape), errors, {"memory": round(memory, 6)})


def learn(noisy: Floats, noise_variance: float) -> tuple[float, float]:
    """Return variance and memory (correlation from step to step) of pillars around their means, all taken together.

    Noise adds its variance to that of the pillars, and nothing to the covariance of steps apart from what the
    mean of a pillar, itself noisy, takes away.
    """
    steps = noisy.shape[1]
    if steps == 1:
        return 0.0, 0.0
    around = noisy - noisy.mean(axis=1, keepdims=True)
    variance = float((around**2).mean()) - noise_variance * (1 - 1 / steps)
    if variance <= 0:
        return 0.0, 0.0
    covariance = float((around[:, 1:] * around[:, :-1]).mean()) + noise_variance / steps
    return variance, min(max(covariance / variance, 0.0), LARGEST_MEMORY)


def filter_matrix(steps: int, variance: float, memory: float, noise_variance: float) -> Floats:
    """Return the matrix (step, step) that turns noisy pillars into filtered ones.

    Row `t` is `mean + memory * (row t-1 - mean)`, the forecast, moved by the gain of a Kalman filter towards the noisy
    value of step `t`. `mean` is that of the whole noisy pillar.
    """
    mean = np.full(steps, 1 / steps)
    matrix = np.empty((steps, steps))
    before, uncertain = mean, variance
    for step in range(steps):
        gain = uncertain / (uncertain + noise_variance)
        forecast = mean + memory * (before - mean)
        matrix[step] = (1 - gain) * forecast
        matrix[step, step] += gain
        before = matrix[step]
        uncertain = memory**2 * gain * noise_variance + (1 - memory**2) * variance
    return matrix
