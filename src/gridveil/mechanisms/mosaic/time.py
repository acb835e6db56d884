"""The profile in time: which part of the window's consumption each step has, from noisy sums of runs of steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.cube import Window
from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.mosaic.calendar_prior import SPREADS, Calendar, Kernels
from gridveil.mechanisms.simplex import project
from gridveil.privacy.measure import Measurement


@dataclass(frozen=True)
class TimeEstimate:
    """Each step's part of the whole, `profile` (t,), and draws (r, t) of what it may truly be. All sum to 1."""

    profile: Floats
    draws: Floats


def estimate_time(
    window: Window,
    runs: Ints,
    noisy: Measurement,
    total: float,
    total_sd: float,
    shape: Floats | None,
    draws: int,
    seed: int,
) -> TimeEstimate:
    """Return the profile that noisy sums of runs of steps and the calendar make likely. Post-processing.

    runs: which of the noisy sums a step is part of.
    total, total_sd: of the same bounded consumption, measured elsewhere, Wh.
    shape: what the profile is believed to look like beforehand; flat if `None`.
    """
    steps = window.steps
    shape = np.full(steps, 1 / steps) if shape is None else shape / shape.sum()
    values, variances = noisy.values.astype(np.float64), 2 * noisy.scales**2
    # The level of the whole: both measurements of it, weighted by how little noise each has; and never so low that
    # relative noise would lose its meaning.
    weights = 1 / np.array([max(total_sd, 1.0) ** 2, max(variances.sum(), 1.0)])
    level = float(max(weights @ [total, values.sum()] / weights.sum(), weights.sum() ** -0.5))
    summing = np.zeros((len(values) + 1, steps))
    summing[runs, np.arange(steps)] = shape
    summing[-1] = shape
    gaps = np.append(values, total) / level - summing.sum(axis=1)
    noise = np.append(variances, max(total_sd, 1.0) ** 2) / level**2
    kernels = Kernels.of(Calendar.of(window))
    fits = []
    for spread in SPREADS:
        covariance = kernels.covariance(spread) + 1.0
        towards = summing @ covariance
        lower = np.linalg.cholesky(towards @ summing.T + np.diag(noise + 1e-12))
        white = np.linalg.solve(lower, gaps)
        evidence = -0.5 * white @ white - np.log(np.diag(lower)).sum() + spread.log_prior()
        fits.append((evidence, spread, lower, white, towards))
    evidence, spread, lower, white, towards = max(fits, key=lambda f: f[0])
    back = np.linalg.solve(lower, towards)
    departure = back.T @ white
    covariance = kernels.covariance(spread) + 1.0 - back.T @ back
    random = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(steps))
    drawn = departure + random.standard_normal((draws, steps)) @ root.T
    return TimeEstimate(_profile(shape * (1 + departure)), _profile(shape * (1 + drawn)))


def _profile(parts: Floats) -> Floats:
    """Return the nearest parts that are not negative with the same sum, as parts of 1."""
    total = np.maximum(parts.sum(axis=-1), 1e-9)
    kept = project(parts, total)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))
