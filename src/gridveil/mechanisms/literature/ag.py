"""An adaptive grid: coarse blocks in space and time, each cut further by its own noisy sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.grids import (
    TOTAL_SHARE,
    Positive,
    Shape,
    Share,
    TreeLevel,
    choose_parts,
    count_worthwhile_blocks,
    find_max_contribution,
    make_consistent,
    make_whole_box,
    measure_total,
    paint,
    shape_of,
    sides_of,
    sizes_of,
    spread_boxes,
    subdivide,
)
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

MIN_COARSE = 100
"""Coarse blocks, if there is room for them: the paper's 10 x 10."""

COARSENESS = 4
"""How many times fewer blocks per axis the coarse grid has than a uniform grid would: the paper's."""


@dataclass(frozen=True)
class AdaptiveGrid:
    """Coarse blocks of space and time, each cut into finer ones where there is much to see (AG).

    Qardaji, Yang and Li, Differentially Private Grids for Geospatial Data (ICDE 2013), in three dimensions.

    total_share: of epsilon, for the noisy total that decides on the coarse grid.
    coarse_share: of the rest, for the coarse blocks; the paper's alpha.
    constant, fine_constant: of the rule for the coarse and for the fine grid; 10 and 5 are the paper's.
    """

    total_share: Share = TOTAL_SHARE
    coarse_share: Share = 0.5
    constant: Positive = 10.0
    fine_constant: Positive = 5.0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the total, the coarse blocks, the fine blocks; make the two consistent.

        The error model has each fine block's variance after that, and takes blocks for independent: bars of regions
        that hold much of a coarse block are wider than needed. It leaves out that a coarse sum is weighed the more the
        larger it came out, which matters only where blocks are cut for noise alone.
        """
        shape, most = shape_of(measure), find_max_contribution(measure)
        cube = make_whole_box(shape)
        epsilon_total = self.total_share * measure.epsilon
        epsilon = measure.epsilon - epsilon_total
        epsilon_coarse = self.coarse_share * epsilon
        epsilon_fine = epsilon - epsilon_coarse

        people = measure_total(measure, epsilon_total).values / most
        coarse, _ = subdivide(cube, choose_parts(sides_of(cube), self._coarse_blocks(people, epsilon, shape)))
        progress("measure blocks", 0.0)
        upper = measure.sums(paint(coarse, shape), epsilon_coarse)
        worth = count_worthwhile_blocks(upper.values / most, epsilon_fine, sides_of(coarse), self.fine_constant)
        fine, parents = subdivide(coarse, choose_parts(sides_of(coarse), worth))
        progress("measure blocks", 0.5)
        lower = measure.sums(paint(fine, shape), epsilon_fine)
        progress("measure blocks", 1.0)
        levels = [
            TreeLevel(np.zeros(len(coarse), dtype=np.int64), upper.values.astype(np.float64), 2 * upper.scales**2),
            TreeLevel(parents, lower.values.astype(np.float64), 2 * lower.scales**2),
        ]
        sums, variances = make_consistent(levels)
        return spread_boxes(fine, sums, variances, shape, {"coarse_blocks": len(coarse)})

    def _coarse_blocks(self, people: Floats, epsilon: float, shape: Shape) -> Floats:
        cube = make_whole_box(shape)
        per_axis = float(COARSENESS) ** np.count_nonzero(sides_of(cube) > 1)
        blocks = count_worthwhile_blocks(people, epsilon, sides_of(cube), self.constant) / per_axis
        return np.maximum(blocks, np.minimum(MIN_COARSE, sizes_of(cube)))
