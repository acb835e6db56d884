"""STPT as its authors' code runs it, to see what reading raw data is worth. Not private, whatever epsilon says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.mechanisms.inference.space import depth_of_quarters, make_levels
from gridveil.mechanisms.stpt.parts import compute_theorem8_scales, quantize
from gridveil.mechanisms.stpt.series import make_equal_slices
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.errors import MissingExtraError
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.trusted.budget import Bound

QUIET = 1.0
"""kWh: a cell that really used no more in the window is dropped."""
PATTERN_SHARE = 10 / 30
"""Of epsilon, for the quadtree; the rest is for the sums."""


@dataclass(frozen=True)
class StptLeaky:
    """STPT as its authors' code runs it, written from a description of that code (github.com/ANRGUSC/pars, 54143fa).

    Known of it: the quadtree's training window is 72 steps long, its depth 2; blocks are averaged over their
    *households*, each household's series having been scaled to [0, 1] by its own extremes; 5 epochs of Adam; the
    trained network is shown the *raw* readings before each published step, so the pattern, 150 equal-width levels of
    it and therefore the partition are made of raw data; cells with a raw sum of 1 or less are dropped; the sums get
    the noise of Theorem 8, epsilon split 10 to 20; means of households are published, not sums. No noise protects the
    pattern, the quiet cells or the numbers of households, so no epsilon describes what is published.

    Our reading, where the description is silent: the quiet rule is in kWh over the window, and a dropped cell is
    published as 0; the first steps look back into the training steps, so that all steps are predicted (the authors
    publish 114 of 120); the extremes are those of the training and published steps together; a learning rate of 1e-3
    and batches of 32 as in the paper. Left out, because they belong to the data and not to the method: households drawn
    into several cells, and a clip taken from the data (`clip` stands for it). The authors have one household in a cell;
    where there are several, readings are clipped, averaged in the cell, and what is published is multiplied by the
    exact number of households.
    """

    train_steps: int = 72
    depth: int = 2
    lookback: int = 6
    epochs: int = 5
    buckets: int = 150
    promise: ClassVar[str] = COMPARISON_ONLY["stpt-leaky"].promise

    def release(self, placed: PlacedDataset, epsilon: float, bound: Bound, clip: int, seed: int) -> Floats:
        """Return noisy sums of parts that were formed by looking, spread evenly over each part."""
        del bound
        released = np.zeros((placed.grid.nx, placed.grid.ny, placed.dataset.window.steps))
        kept, labels = self.partition(placed, epsilon * PATTERN_SHARE, seed)
        if not kept.any():
            return released
        homes = _per_cell(placed, np.ones((len(placed.cells), 1)))[kept]
        means = placed.truth(clip)[kept] / homes
        scales = noise_scales(labels, clip, epsilon * (1 - PATTERN_SHARE)) / WH_PER_KWH
        noise = np.random.default_rng([seed, 1]).laplace(0.0, scales)
        sums = np.bincount(labels.ravel(), weights=means.ravel()) + noise
        released[kept] = (sums / np.bincount(labels.ravel()))[labels] * homes
        return released

    def partition(self, placed: PlacedDataset, epsilon: float, seed: int) -> tuple[NDArray[np.bool_], Ints]:
        """Return which cells are kept (x, y), and the part of each kept cell and step (kept cell, t).

        `epsilon` is for the noise on the network's training data, the only private thing about it.
        """
        kept, pattern, _ = self.predict(placed, epsilon, seed)
        if not kept.any():
            return kept, np.zeros(pattern.shape, dtype=np.int64)
        return kept, quantize(pattern, self.buckets, "equal-width")

    def predict(self, placed: PlacedDataset, epsilon: float, seed: int) -> tuple[NDArray[np.bool_], Floats, Floats]:
        """Return which cells are kept (x, y), the pattern of those, and the raw means that it predicts (kept cell, t).

        A mean of 1 is every household of the cell at its own maximum, 0 at its minimum.
        """
        try:
            from gridveil.research.nonprivate.teacher_forced import predict_each_step
        except ModuleNotFoundError as error:
            raise MissingExtraError(what="stpt-leaky", extra="stpt") from error
        trained = min(self.train_steps, placed.dataset.train_steps)
        scaled = _per_cell(placed, _min_max(placed.dataset.readings[:, placed.dataset.train_steps - trained :]))
        homes = _per_cell(placed, np.ones((len(placed.cells), 1)))[:, :, 0]
        sanitised = self._sanitised_means(placed.grid, scaled[:, :, :trained], homes, epsilon, seed)
        kept = placed.truth().sum(axis=2) > QUIET
        if not kept.any():
            nothing = np.zeros((0, placed.dataset.window.steps))
            return kept, nothing, nothing
        raw = scaled[kept][:, trained - self.lookback :] / homes[kept][:, None]
        pattern = predict_each_step(sanitised, raw, self.lookback, self.epochs, seed)
        return kept, pattern, raw[:, self.lookback :]

    def _sanitised_means(self, grid: Grid, scaled: Floats, homes: Floats, epsilon: float, seed: int) -> list[Floats]:
        """Return noisy means per household of the blocks of each depth (block, step), as the paper's Theorem 6 has it.

        Theorem 6 takes one household to move a mean by 1 / cells of the block, though the mean is over households.
        """
        noise, trained = np.random.default_rng([seed, 0]), scaled.shape[2]
        tree = make_levels(grid, min(self.depth, depth_of_quarters(grid)))
        series = []
        for part in make_equal_slices(tree, trained, self.lookback):
            sums = part.level.gather(np.moveaxis(scaled[:, :, part.start : part.end], 2, 0))
            means = sums / np.maximum(part.level.gather(homes), 1)
            noisy = means + noise.laplace(0.0, trained / (epsilon * part.level.cells), means.shape)
            series.append(noisy.reshape(part.steps, -1).T)
        return series


def noise_scales(labels: Ints, clip: int, epsilon: float) -> Floats:
    """Return Theorem 8's Laplace scales for the parts of pillars (pillar, t), Wh.

    Epsilon is shared out in proportion to `s**(2/3)`, `s` being the most that one household adds to a part, and a
    part's scale is `s` over its share.
    """
    cube_root = compute_theorem8_scales(labels[:, None, :], clip, clip * labels.shape[1])
    scales: Floats = cube_root * np.sum(cube_root**2) / epsilon
    return scales


def _min_max(readings: Ints) -> Floats:
    """Return every household's readings between 0, its lowest, and 1, its highest; a constant series is 0."""
    low = readings.min(axis=1, keepdims=True)
    scaled: Floats = (readings - low) / np.maximum(readings.max(axis=1, keepdims=True) - low, 1)
    return scaled


def _per_cell(placed: PlacedDataset, series: Floats) -> Floats:
    """Sum households' series into cells, axes (x, y, t)."""
    cube = np.zeros((placed.grid.nx, placed.grid.ny, series.shape[1]))
    np.add.at(cube, (placed.cells[:, 0], placed.cells[:, 1]), series)
    return cube
