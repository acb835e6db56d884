"""DAWA, pillar by pillar: buckets of steps that differ little, found with noise; then noisy sums of the buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.totals import Share
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, NoisyParts


@dataclass(frozen=True)
class Dawa:
    """Noisy sums of runs of like steps in each pillar; which runs are alike is found with part of the budget.

    ratio: part of the budget spent on finding the runs.
    """

    ratio: Share = 0.5

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure how uneven dyadic runs are, choose the cheapest partition, measure its sums, spread them evenly."""
        nx, ny, steps = measure.grid.nx, measure.grid.ny, measure.window.steps
        levels = (steps - 1).bit_length()
        finding = self.ratio * measure.epsilon if levels else 0.0
        # What the noise of one bucket's sum is expected to add to the error of its cells.
        penalty = min(measure.bound.step * steps, measure.bound.window) / (measure.epsilon - finding)
        costs = []
        for level in range(1, levels + 1):
            labels = label_runs(nx, ny, steps, level)
            found = measure.deviations(labels, finding / levels)
            costs.append(np.maximum(found.values, 0.0).reshape(nx * ny, -1) + penalty)
            progress("find runs of like steps", level / levels)
        labels = number_buckets(choose_buckets(costs, nx * ny, steps, penalty)).reshape(nx, ny, steps)
        measured = measure.sums(labels, measure.epsilon - finding)
        progress("measure their sums", 1.0)
        share = 1 / np.bincount(labels.ravel())[labels]
        values = measured.values[labels] * share
        return Estimate(values, NoisyParts(labels, measured.scales, share), {"buckets": len(measured.scales)})


def label_runs(nx: int, ny: int, steps: int, level: int) -> Ints:
    """Return labels of the dyadic runs of `2**level` steps in every pillar.

    The last run of a window may be shorter. One that is no longer than half stands for the same steps as its only
    child, and is not measured again.
    """
    half = 1 << (level - 1)
    count = -(-(steps - half) // (2 * half))
    run = np.arange(steps) >> level
    pillar = np.arange(nx * ny).reshape(nx, ny, 1)
    return np.where(run < count, pillar * count + run, -1)


def choose_buckets(costs: list[Floats], pillars: int, steps: int, penalty: float) -> NDArray[np.int8]:
    """Return the level of the bucket that each step of each pillar belongs to, axes (pillar, step).

    costs: of each level from 1 on, those of its runs with two children, axes (pillar, run); a single step costs
        `penalty`.

    From the bottom up, a run is a bucket if that costs no more than the best that its two halves can do: this gives the
    least-cost partition into dyadic runs.
    """
    best = np.full((pillars, steps), penalty)
    chosen = np.zeros((pillars, steps), dtype=np.int8)
    for level, cost in enumerate(costs, start=1):
        halves = np.pad(best, ((0, 0), (0, best.shape[1] % 2))).reshape(pillars, -1, 2).sum(axis=2)
        whole = np.full(halves.shape, np.inf)
        whole[:, : cost.shape[1]] = cost
        joined = whole <= halves
        best = np.where(joined, whole, halves)
        chosen[joined[:, np.arange(steps) >> level]] = level
    return chosen


def number_buckets(chosen: NDArray[np.int8]) -> Ints:
    """Return labels 0, 1, ... of the buckets, axes (pillar, step)."""
    step = np.arange(chosen.shape[1])
    first = step == (step >> chosen) << chosen
    return (np.cumsum(first) - 1).reshape(chosen.shape)
