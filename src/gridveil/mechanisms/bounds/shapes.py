"""The distributions of window totals that are considered, each with its prior: lognormals, and mixtures of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gridveil.mechanisms.bounds.histogram import Bins
from gridveil.model.units import Floats, Ints

CENTRE_SD, SPREAD, SPREAD_SD = 0.4, 0.8, 0.12
"""Prior of the logarithm of a total, from the typical one: where its centre is, and how far it spreads."""
UNUSUAL, WIDER = 0.1, 3.0
"""Chance that a town is unlike those the prior was made from, and how many times wider the prior is then."""
HEAVY, IDLE, ALIKE = 0.02, 0.02, 0.002
"""Prior chances of a second kind that uses more (businesses, heating by electricity), of one that uses nothing (empty
homes, solar roofs), and of households that all use the same."""
SHIFTS, SPREADS, SHARES = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5), (0.4, 0.8), (0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
"""Of the heavy kind: logarithm of how many times more it uses, how far that spreads, part of the households."""
IDLE_SHARES = (0.03, 0.1, 0.2, 0.4)
NARROW, NOTHING = 0.03, -50.0
"""The spread of households that use the same, and a centre so low that all is at the lowest point of any support."""


@dataclass(frozen=True)
class Shapes:
    """Many distributions of totals, each of a main kind of households and a share of another.

    kinds: the kinds' masses on the points of a support (kind, point).
    main, other, share: of each shape.
    parts: what a shape has in each bin (shape, bin).
    prior: log-priors.
    heavy: whether the other kind is one that uses more.
    """

    kinds: Floats
    main: Ints
    other: Ints
    share: Floats
    parts: Floats
    prior: Floats
    heavy: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins) -> Shapes:
        """Return all shapes for these bins."""
        families = (_single(), _alike(), _idle(), _heavy())
        centre, spread, other_centre, other_spread, share, prior = (
            np.concatenate(each) for each in zip(*families, strict=True)
        )
        pairs = np.stack([np.append(centre, other_centre), np.append(spread, other_spread)])
        different, which = np.unique(pairs, axis=1, return_inverse=True)
        kinds = _lognormal(bins, *different)
        main, other = which.reshape(2, -1)
        in_bins, part = bins.masses(kinds), share[:, None]
        parts = (1 - part) * in_bins[main] + part * in_bins[other]
        return cls(kinds, main, other, share, parts, prior, other_centre > centre)

    def points(self, picked: Ints) -> Floats:
        """Return the masses of some shapes on the points of the support (picked, point)."""
        part = self.share[picked, None]
        return (1 - part) * self.kinds[self.main[picked]] + part * self.kinds[self.other[picked]]


class _Family(NamedTuple):
    """Shapes of one sort: the logarithms of both kinds' totals, the share of the other kind, and log-priors."""

    centre: Floats
    spread: Floats
    other_centre: Floats
    other_spread: Floats
    share: Floats
    prior: Floats


MAIN = np.linspace(-2.4, 2.4, 25), np.array([0.15, 0.4, 0.7, 1.0])
"""Centres and spreads of the main kind in mixtures: coarser than alone, for there are many mixtures."""


def _single() -> _Family:
    centre, spread = _every(np.linspace(-2.5, 2.5, 51), np.linspace(0.1, 1.6, 16))
    return _Family(centre, spread, centre, spread, 0 * centre, _prior(centre, spread, 1 - HEAVY - IDLE - ALIKE))


def _alike() -> _Family:
    centre = np.arange(-2.5, 2.5, NARROW)
    spread = np.full(len(centre), NARROW)
    return _Family(centre, spread, centre, spread, 0 * centre, np.full(len(centre), np.log(ALIKE / len(centre))))


def _idle() -> _Family:
    centre, spread, share = _every(*MAIN, np.array(IDLE_SHARES))
    return _Family(centre, spread, 0 * centre + NOTHING, 0 * centre + NARROW, share, _prior(centre, spread, IDLE))


def _heavy() -> _Family:
    centre, spread, shift, other, share = _every(*MAIN, np.array(SHIFTS), np.array(SPREADS), np.array(SHARES))
    return _Family(centre, spread, centre + shift, other, share, _prior(centre, spread, HEAVY))


def _every(*axes: Floats) -> list[Floats]:
    """Return all combinations of numbers, one list for each axis."""
    return [np.asarray(axis.ravel(), dtype=np.float64) for axis in np.meshgrid(*axes, indexing="ij")]


def _lognormal(bins: Bins, centre: Floats, spread: Floats) -> Floats:
    """Return the masses of lognormals on the support (kind, point)."""
    away = ((np.log(bins.support / bins.typical) - centre[:, None]) / spread[:, None]) ** 2
    # Relative to the nearest point: a narrow one beside the support does not vanish, it is all at the nearest point.
    masses = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))) * bins.widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)


def _prior(centre: Floats, spread: Floats, chance: float) -> Floats:
    """Return log-priors of a family that sum to its chance."""
    away = (centre / CENTRE_SD) ** 2 + ((spread - SPREAD) / SPREAD_SD) ** 2
    usual, unusual = (np.exp(-0.5 * away / wider**2) for wider in (1.0, WIDER))
    density = (1 - UNUSUAL) * usual / usual.sum() + UNUSUAL * unusual / unusual.sum()
    return np.asarray(np.log(chance * density), dtype=np.float64)
