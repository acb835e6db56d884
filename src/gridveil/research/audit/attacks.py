"""Attacks on a published town: by likelihood ratio, by the released values, and by subtracting publications."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.base import make
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.research.audit.transcript import Recorder, Repeater, TranscriptPair
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel, Source
from gridveil.trusted.kernel.noise import ExactNoise, Noise

Flags = NDArray[np.bool_]

NOTHING = Bound(1, 1)
"""A count rule has no bound; its interface asks for one."""


@dataclass(frozen=True)
class Publication:
    """All that is public of a publication. A bound that is what the steps add up to is no bound: one is chosen."""

    mechanism: str
    epsilon: float
    window: Window
    bound: Bound

    @property
    def chooses_bound(self) -> bool:
        """Whether the bound on a household's total is chosen privately, and paid for from epsilon."""
        return self.bound.window >= self.bound.step * self.window.steps

    def release(self, source: Source, noise: Noise | None = None) -> Floats:
        """Return the released values, kWh (x, y, t); `noise` is the kernel's, by default the exact one."""
        kernel = Kernel(source, self.window, budget=PureDP(self.epsilon), bound=self.bound, noise=noise)
        mechanism = make(self.mechanism, {})
        if self.chooses_bound:
            estimate = release_with_private_bound(kernel, mechanism, error_bars=False)
        else:
            estimate = mechanism.release(kernel.session())
        return estimate.dense() / WH_PER_KWH


def replay_publication(
    publication: Publication, with_household: Source, without: Source, *, present: bool
) -> TranscriptPair:
    """Publish in one of two worlds, and return all that an attacker can use: the best attack there is.

    A release is computed from the kernel's answers and public numbers alone, so nobody who sees the release can
    distinguish two worlds better than someone who sees the answers and knows their probabilities in both (Neyman and
    Pearson). The kernel of the other world is made to give the same answers, so that it gets the same questions.
    """
    here, there = (with_household, without) if present else (without, with_household)
    recorder = Recorder(ExactNoise())
    publication.release(here, recorder)
    repeater = Repeater(recorder.entries)
    publication.release(there, repeater)
    both = tuple(recorder.entries), tuple(repeater.entries)
    return TranscriptPair(*both) if present else TranscriptPair(*both[::-1])


@dataclass(frozen=True)
class Suspect:
    """A household that an attacker looks for: its cell, its curve and what the others of the cell use, kWh (t,)."""

    cell: tuple[int, int]
    curve: Floats
    others: Floats

    def matched(self, values: Floats) -> float:
        """Return how well the curve explains what the released cell (x, y, t) has beyond the others: a projection."""
        return float((values[self.cell] - self.others) @ self.curve / np.linalg.norm(self.curve))

    def total(self, values: Floats) -> float:
        """Return what the released cell has beyond the others in the whole window, kWh."""
        return float((values[self.cell] - self.others).sum())


@dataclass(frozen=True)
class Likeness:
    """How like a household's true curve a reconstruction is: their correlation, and the root mean square error, kWh."""

    correlation: float
    error: float

    @classmethod
    def of(cls, reconstruction: Floats, curve: Floats) -> Likeness:
        """Compare; what is constant is like nothing."""
        spread = float(np.std(reconstruction) * np.std(curve))
        both = float(np.mean((reconstruction - reconstruction.mean()) * (curve - curve.mean())))
        return cls(both / spread if spread > 0 else 0.0, float(np.sqrt(np.mean((reconstruction - curve) ** 2))))


@dataclass(frozen=True)
class Exposure:
    """What a count rule gives away of each household (household,), when it alone comes or goes.

    published: its cell is published while it is there: whoever knows the others has its exact curve by subtraction.
    by_difference: its cell is published with it and without it: two publications have its exact curve between them, and
        nothing else need be known.
    by_threshold: its cell is published in only one of the two cases: that the cell appears, or disappears, tells that
        it came or went.
    """

    published: Flags
    by_difference: Flags
    by_threshold: Flags


def publish_by_rule(placed: PlacedDataset, rule: CountRule) -> Floats:
    """Return what a count rule publishes of a town, kWh (x, y, t); NaN in the cells that it withholds."""
    return rule.release(placed, epsilon=0.0, bound=NOTHING, clip=0, seed=0)


def remove_household(placed: PlacedDataset, household: int) -> PlacedDataset:
    """Return the town that lacks one household."""
    keep = np.arange(len(placed.cells)) != household
    return replace(
        placed,
        dataset=replace(placed.dataset, readings=placed.dataset.readings[keep]),
        cells=placed.cells[keep],
    )


def round_to_wh(kwh: Floats) -> Ints:
    """Return energies in the whole Wh that meters count: the attacker's rounding takes the floats' last bits away."""
    return np.rint(kwh * WH_PER_KWH).astype(np.int64)


def find_exposed(placed: PlacedDataset, rule: CountRule) -> Exposure:
    """Return, for every household, what its coming or going gives away."""
    used = placed.dataset.readings[:, placed.dataset.train_steps :].sum(axis=1)
    cell = placed.cells[:, 0] * placed.grid.ny + placed.cells[:, 1]
    count = np.bincount(cell, minlength=placed.grid.cells)
    total, largest, second = (np.zeros(placed.grid.cells, dtype=np.int64) for _ in range(3))
    np.add.at(total, cell, used)
    for member in np.argsort(used):  # the largest come last, and push the one before to second place
        second[cell[member]], largest[cell[member]] = largest[cell[member]], used[member]
    others = np.where(used == largest[cell], second[cell], largest[cell])
    before = _passes(rule, count[cell], total[cell], largest[cell])
    after = _passes(rule, count[cell] - 1, total[cell] - used, others)
    return Exposure(before, before & after, before != after)


def find_isolated(first: PlacedDataset, second: PlacedDataset, rule: CountRule) -> Ints:
    """Return the households whose exact curve is the difference of two publications of overlapping areas.

    Both are of the same households, one row each, drawn with slightly other borders. A household is alone if a cell
    that both publish has it in one of them only, and differs in nobody else.
    """
    here, there = (np.isfinite(publish_by_rule(placed, rule)).all(axis=2).ravel() for placed in (first, second))
    a, b = (placed.cells[:, 0] * placed.grid.ny + placed.cells[:, 1] for placed in (first, second))
    movers = np.flatnonzero(a != b)
    changes = np.bincount(np.concatenate([a[movers], b[movers]]), minlength=len(here))
    single = here & there & (changes == 1)
    alone: Ints = movers[single[a[movers]] | single[b[movers]]]
    return alone


def _passes(rule: CountRule, count: Ints, total: Ints, largest: Ints) -> Flags:
    return np.asarray((count >= rule.households) & (100 * largest <= rule.percent * total))
