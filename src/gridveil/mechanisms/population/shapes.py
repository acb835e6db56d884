"""The distributions of window totals that are considered, each with its prior: lognormals, and mixtures of two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.estimate import Floats
from gridveil.mechanisms.population.histogram import Bins

CENTRE_SD, SPREAD, SPREAD_SD = 0.4, 0.8, 0.12
"""Prior of the logarithm of a total, from the typical one: where its centre is, and how far it spreads."""
MIXED = 0.02
"""Prior chance that a second kind of household matters: heated by electricity, or businesses."""
SHIFTS, SPREADS, SHARES = (1.5, 2.0, 2.5, 3.0), (0.4, 0.8), (0.01, 0.03, 0.1, 0.3)
"""Of the second kind: logarithm of how many times more it uses, how far that spreads, part of the households."""


@dataclass(frozen=True)
class Shapes:
    """Distributions on the points of a support (shape, point), their parts in bins (shape, bin), and log-priors."""

    points: Floats
    parts: Floats
    prior: Floats

    @classmethod
    def of(cls, bins: Bins) -> Shapes:
        """Return all shapes for these bins."""
        centre, wide = _every(np.linspace(-2.5, 2.5, 51), np.linspace(0.1, 1.6, 16))
        first, spread, shift, second, share = _every(
            np.linspace(-2.4, 2.4, 25), np.linspace(0.3, 1.1, 5), np.array(SHIFTS), np.array(SPREADS), np.array(SHARES)
        )
        part = share[:, None]
        mixed = (1 - part) * _lognormal(bins, first, spread) + part * _lognormal(bins, first + shift, second)
        points = np.concatenate([_lognormal(bins, centre, wide), mixed])
        prior = np.concatenate([_prior(centre, wide, 1 - MIXED), _prior(first, spread, MIXED)])
        return cls(points, bins.masses(points), prior)


def _every(*axes: Floats) -> list[Floats]:
    """Return all combinations of numbers, one list for each axis."""
    return [np.asarray(axis.ravel(), dtype=np.float64) for axis in np.meshgrid(*axes, indexing="ij")]


def _lognormal(bins: Bins, centre: Floats, spread: Floats) -> Floats:
    """Return the masses of lognormals on the support (shape, point)."""
    away = ((np.log(bins.support / bins.typical) - centre[:, None]) / spread[:, None]) ** 2
    # Relative to the nearest point: a narrow one beside the support does not vanish, it is all at the nearest point.
    masses = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))) * bins.widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)


def _prior(centre: Floats, spread: Floats, chance: float) -> Floats:
    """Return log-priors that sum to the chance of the whole kind."""
    density = np.exp(-0.5 * ((centre / CENTRE_SD) ** 2 + ((spread - SPREAD) / SPREAD_SD) ** 2))
    return np.asarray(np.log(chance * density / density.sum()), dtype=np.float64)
