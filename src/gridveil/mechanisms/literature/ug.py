"""A uniform grid of blocks in space and time, as fine as a noisy total says noise allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.grids import (
    TOTAL_SHARE,
    Positive,
    Share,
    choose_parts,
    count_worthwhile_blocks,
    find_max_contribution,
    make_whole_box,
    measure_total,
    paint,
    shape_of,
    sides_of,
    spread_boxes,
    subdivide,
)
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate


@dataclass(frozen=True)
class UniformGrid:
    """Equal blocks of space and time, as many as noise and a noisy total allow (UG).

    Qardaji, Yang and Li, Differentially Private Grids for Geospatial Data (ICDE 2013), in three dimensions.

    total_share: of epsilon, for the noisy total that decides on the grid.
    constant: of the rule; larger means fewer blocks. 10 is the paper's.
    """

    total_share: Share = TOTAL_SHARE
    constant: Positive = 10.0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the total, then the blocks."""
        shape = shape_of(measure)
        cube = make_whole_box(shape)
        epsilon_total = self.total_share * measure.epsilon
        epsilon = measure.epsilon - epsilon_total
        people = measure_total(measure, epsilon_total).values / find_max_contribution(measure)
        counts = choose_parts(sides_of(cube), count_worthwhile_blocks(people, epsilon, sides_of(cube), self.constant))
        blocks, _ = subdivide(cube, counts)
        progress("measure blocks", 0.0)
        measured = measure.sums(paint(blocks, shape), epsilon)
        progress("measure blocks", 1.0)
        sums = measured.values.astype(np.float64)
        return spread_boxes(blocks, sums, 2 * measured.scales**2, shape, {"blocks": counts[0].tolist()})
