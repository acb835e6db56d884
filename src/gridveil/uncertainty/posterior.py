"""Posterior draws: what may be true given all that was measured, the consumption itself and not only the noise.

The use in a box is a mixture over draws `r`, each with the mean `sum_k S_rk T_rk` over regions `k` (`S` the energy of
the box's cells in the region, `T` the part of the region's profile in the period) and the variance `sum_k Q_rk v_k`:
`v` of the behaviour of one household, and `Q` the sum of squares of the households' totals, which nobody measured. With
households of the mean square over mean `size` it is about `size * S`, and of a lonely one `S^2`. A profile is that of
all the region's households together, so what strays in one part of a region is missed in the rest: `Q` is multiplied
with the part of the region's energy that lies outside the box.

This variance is written three times, because boxes, maps and stored standard errors each need another order of sums:
`mixture.DrawMixture.intervals`, `mixture.CellBlock.intervals` and `Posterior.cell_errors`. Change all three. Numbers
that change an interval are stored in the release, as `Behaviour` is: an old release must answer as it did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, Ints, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.uncertainty.behaviour import LONDON, Behaviour, half_variances, schedule_variances, variances
from gridveil.uncertainty.mixture import NOTHING, CellBlock, DrawMixture, Singles, include_values, make_blocks
from gridveil.uncertainty.model import (
    FLOAT,
    INTEGER,
    KWH,
    Boxes,
    ErrorModel,
    Intervals,
    Shape,
    StoredArray,
    StoredArrays,
    bounding_box,
)

MAX_SPACE_VALUES = 2**23  # in the draws of space: 200 draws up to 200 x 200 cells, 128 on 256 x 256
MIN_RELEASED_DRAWS = 32  # in a release of a large grid
MIN_DRAWS = 5  # fewer make no interval
MANTISSA_BITS = 12  # of the 23 that a float32 has after the binary point: draws are not exact, and they compress
BATCH_NUMBERS = 2**20
MAX_EXACT_CELLS = 1024  # take a twentieth of a second
UNCOMPRESSED_FROM = 2**22  # numbers; from here on unpacking would be most of the time that opening takes
MAX_BYTES = 2**31
MAX_BEHAVIOUR_TERMS = 64
TERMS = {"strength": "1", "hours": "h", "period": "h"}  # of behaviour, and their units


@dataclass(frozen=True)
class Posterior(ErrorModel):
    """Draws of what may be true. Draw `r` is the cube `space[r, cell] * time[r, region[cell], t]`.

    Around it there is the own behaviour of every household, independent of the others'.

    space: (draw, x, y) energy of the window, Wh, with what the bounds cut off added again; never negative. In a release
        (draw, y, x), kWh.
    region: (x, y) which profile a cell follows, 0 to k - 1; in a release (y, x).
    time: (draw, k, t) the profile of each region; sums to 1 over t.
    size: (draw,) mean square over mean of households' window totals, Wh, kWh in a release: how lumpy a cell is.
    behaviour: of households in time.
    hours: of a step; known in a release.
    """

    kind: ClassVar[str] = "posterior"
    about_the_truth: ClassVar[bool] = True

    space: Floats | Singles
    region: Ints
    time: Floats | Singles
    size: Floats | Singles
    behaviour: Behaviour = LONDON
    hours: float = 1.0

    def times(self, factor: float, draws: Floats, steps: int) -> Self:
        """Return the draws as they are: of consumption itself, which no factor changes."""
        del factor, draws, steps
        return self

    def to_release(self, shape: Shape, hours: float) -> Self:
        """Return no more draws than a release has room for, rounded as they are stored."""
        steps, ny, nx = shape
        count, regions = self.time.shape[:2]
        shapes = (self.space.shape, self.region.shape, self.time.shape, self.size.shape)
        if shapes != ((count, nx, ny), (nx, ny), (count, regions, steps), (count,)):
            msg = f"draws of shapes {shapes} do not fit a cube of {(nx, ny, steps)}"
            raise UsageError(msg, code="draws-shape")
        most = max(MIN_RELEASED_DRAWS, MAX_SPACE_VALUES // (nx * ny))
        some = np.linspace(0, count - 1, min(count, most)).round().astype(int)
        draws = replace(
            self,
            space=round_bits(self.space[some].transpose(0, 2, 1) / WH_PER_KWH),
            region=np.ascontiguousarray(self.region.T),
            time=round_bits(self.time[some]),
            size=round_bits(self.size[some] / WH_PER_KWH),
            hours=hours,
        )
        draws.check()
        return draws

    def check(self) -> None:
        """Refuse numbers that make no sense, whoever wrote them."""
        numbers = (self.space, self.time, self.size)
        if len(self.size) < MIN_DRAWS:
            msg = f"{len(self.size)} draws make no error bar"
            raise UsageError(msg, code="draws-too-few")
        if not all(np.isfinite(some).all() and (some >= 0).all() for some in numbers):
            msg = "draws of what may be true are negative or not finite"
            raise UsageError(msg, code="draws-invalid")
        if self.region.min() < 0 or self.region.max() >= self.time.shape[1]:
            msg = f"regions from {self.region.min()} to {self.region.max()} for {self.time.shape[1]} profiles"
            raise UsageError(msg, code="draws-regions")
        terms = np.array([self.behaviour.strengths, self.behaviour.hours, self.behaviour.periods])
        if not (np.isfinite(terms[:2]).all() and (terms[0] >= 0).all() and (terms[1:] > 0).all() and self.hours > 0):
            msg = "a behaviour of households that makes no sense"
            raise UsageError(msg, code="behaviour-invalid")

    def store(self) -> list[StoredArray]:
        """Return the draws, and the public numbers of households' behaviour."""
        behaviour = zip(
            TERMS.items(), (self.behaviour.strengths, self.behaviour.hours, self.behaviour.periods), strict=True
        )
        return [
            _draws("draw_space", ("draw", "y", "x"), self.space, KWH),
            _draws("draw_region", ("y", "x"), self.region.astype(np.int32)),
            _draws("draw_time", ("draw", "region", "time"), self.time),
            _draws("draw_size", ("draw",), self.size, KWH),
            *(
                StoredArray(f"behaviour_{name}", ("term",), np.array(numbers), units)
                for (name, units), numbers in behaviour
            ),
        ]

    @classmethod
    def load(cls, stored: StoredArrays, shape: Shape, hours: float) -> Self:
        """Return the model of a release from its file."""
        steps, *cells = shape
        count, regions = stored.shape("draw_time")[:2]
        space = stored.dataset("draw_space", (count, *cells), FLOAT)
        time = stored.dataset("draw_time", (count, regions, steps), FLOAT)
        if space.nbytes + time.nbytes > MAX_BYTES:
            msg = f"{count} draws for {regions} regions are more than any release has"
            raise ValueError(msg)
        terms = (min(stored.shape("behaviour_hours")[0], MAX_BEHAVIOUR_TERMS),)
        draws = cls(
            space[()],
            stored.dataset("draw_region", tuple(cells), INTEGER)[()].astype(np.int64),
            time[()],
            stored.dataset("draw_size", (count,), FLOAT)[()],
            Behaviour(*(tuple(stored.dataset(f"behaviour_{name}", terms)[()].tolist()) for name in TERMS)),
            hours,
        )
        try:
            draws.check()
        except UsageError as error:
            raise ValueError(str(error)) from error
        return draws

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps."""
        count = len(self.size)
        result = np.empty((len(range(*steps.indices(shape[0]))), *shape[1:]))
        for region in np.unique(self.region):
            inside = self.region == region
            cells, time = self.space[:, inside].astype(np.float64), self.time[:, region, steps].astype(np.float64)
            mean = time.T @ cells / count
            spread = (time.T**2 @ cells**2 - count * mean**2) / (count - 1)
            own = np.outer(self._single[region, steps], self._squares[inside])
            result[:, inside] = np.sqrt(np.maximum(spread, 0.0) + own)
        return result

    def of_boxes(self, boxes: Boxes, values: Floats) -> Intervals:
        """Return standard error, lower and upper end of each range query's 95 % interval, values inside."""
        most = max(1, BATCH_NUMBERS // (self.mixture.scores.size + 8 * self.time.shape[1] * len(self.size)))
        batches = np.array_split(boxes, -(-len(boxes) // most)) if len(boxes) else [boxes]
        error, low, high = (np.concatenate(column) for column in zip(*map(self._of_boxes, batches), strict=True))
        return include_values((error, low, high), values)

    def _of_boxes(self, boxes: Boxes) -> Intervals:
        space, time = self._space_of(boxes), self._time_of(boxes[:, :2])
        return self.mixture.intervals(space, time, variances(self._half, boxes[:, :2], time.mean(axis=2)))

    def of_area(self, weights: Floats) -> PosteriorArea:
        """Return the intervals of an area, weights (y, x)."""
        touched = np.unique(self.region[weights > 0])
        space = np.zeros((max(1, len(touched)), len(self.size)))
        for place, region in enumerate(touched):
            own = np.where(self.region == region, weights, 0.0)
            box = bounding_box(own)
            space[place] = self.space[:, *box].astype(np.float64).reshape(len(self.size), -1) @ own[box].ravel()
        regions = touched if len(touched) else np.zeros(1, int)  # where there is nothing, any profile will do
        return PosteriorArea(
            self.mixture,
            space,
            (self._time_sums, regions),
            float(weights.max()),
            self._half,
            (self.behaviour, self.hours),
        )

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period, values inside.

        On a small grid as `of_boxes` has them, on a large one solved for in a coarser mixture; see `mixture.CellBlock`.
        """
        period = np.array([[start, stop]])
        time = self.time[:, :, start:stop].sum(axis=2, dtype=np.float64).T  # the first slice need not wait for all sums
        own = variances(self._half, period, time.mean(axis=1)[None])[0]
        found = np.empty((3, values.size))
        if values.size > MAX_EXACT_CELLS:
            for block in self._blocks:
                found[:, block.cells] = block.intervals(time[block.region], float(own[block.region]))
        else:
            for region in np.unique(self.region):
                inside = np.flatnonzero(self.region.ravel() == region)
                space = self.space.reshape(len(self.size), -1)[:, None, inside].T.astype(np.float64)
                found[:, inside] = self.mixture.intervals(space, time[None, [region]], own[None, [region]])
        error, low, high = found.reshape(3, *values.shape)
        return include_values((error, low, high), values)

    @cached_property
    def _blocks(self) -> list[CellBlock]:
        return make_blocks(self.space.astype(np.float32, copy=False), self.region, self.mixture)

    @cached_property
    def mixture(self) -> DrawMixture:
        """What all queries share. The map's profile was measured: what strays in one part is missed in the rest."""
        whole = self.space.sum(axis=(1, 2), dtype=np.float64)
        return DrawMixture(self.size, np.asarray(np.maximum(whole, NOTHING)))

    @cached_property
    def _half(self) -> Floats:
        return half_variances(self.behaviour, self.time.shape[2], self.hours)

    @cached_property
    def _squares(self) -> Floats:
        """The mean over draws of the sum of squares of households' totals in every cell (y, x)."""
        rows = [row.T.astype(np.float64) for row in np.moveaxis(self.space, 1, 0)]
        return np.stack([(cells * self.mixture.squares(cells)).mean(axis=1) for cells in rows])

    @cached_property
    def _single(self) -> Floats:
        """The variance of every single step (region, step)."""
        first = np.arange(self.time.shape[2])
        periods = np.stack([first, first + 1], axis=1)
        return variances(self._half, periods, self.time.mean(axis=0, dtype=np.float64).T).T

    @cached_property
    def _time_sums(self) -> Floats:
        """Prefix sums of profiles (edge, region, draw)."""
        count, regions, steps = self.time.shape
        sums = np.zeros((steps + 1, regions, count))
        sums[1:] = np.cumsum(self.time, axis=2, dtype=np.float64).transpose(2, 1, 0)
        return sums

    def _time_of(self, periods: NDArray[np.int64]) -> Floats:
        """Return the part of each profile that lies in each period (query, region, draw)."""
        return np.asarray(self._time_sums[periods[:, 1]] - self._time_sums[periods[:, 0]])

    @cached_property
    def _space_sums(self) -> tuple[Floats, Ints]:
        """Prefix sums of each region inside its own bounding box, one after the other (point, draw), and the boxes.

        A box has the columns y0, y1, x0, x1 and the place of its first point. Regions are mostly blocks, so this takes
        no more room than the draws do.
        """
        sums, boxes, place = [], [], 0
        for region in range(self.time.shape[1]):
            inside = self.region == region
            rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
            if len(rows) == 0:
                boxes.append([0, 0, 0, 0, 0])
                continue
            box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
            own = np.where(inside[box], self.space[:, *box], 0.0).astype(np.float64)
            sums.append(prefix_sums(own.transpose(1, 2, 0), axes=(0, 1)).reshape(-1, len(self.size)))
            boxes.append([rows[0], rows[-1] + 1, columns[0], columns[-1] + 1, place])
            place += len(sums[-1])
        return np.concatenate(sums), np.array(boxes)

    def _space_of(self, boxes: Boxes) -> Floats:
        """Return the energy of each box in each region (query, region, draw)."""
        sums, regions = self._space_sums
        y0, y1, x0, x1, place = regions.T
        width = x1 - x0 + 1
        bottom, top, left, right = (
            np.clip(boxes[:, [column]], start, stop) - start
            for column, start, stop in ((2, y0, y1), (3, y0, y1), (4, x0, x1), (5, x0, x1))
        )
        corners = [sums[place + row * width + column] for row in (bottom, top) for column in (left, right)]
        return np.asarray(corners[3] - corners[2] - corners[1] + corners[0])


class PosteriorArea:
    """The intervals of an area with the energy `space` (region, draw) in the regions it touches.

    time: prefix sums of all regions' profiles (edge, region, draw), and which of them these are.
    most: the largest share of a cell that is in the area.
    """

    def __init__(
        self,
        mixture: DrawMixture,
        space: Floats,
        time: tuple[Floats, Ints],
        most: float,
        half: Floats,
        own: tuple[Behaviour, float],
    ) -> None:
        self.mixture = mixture
        self.space = space[None]
        self.time_sums, self.regions = time
        self.most = most
        self.half = half
        self.behaviour, self.hours = own

    def over(self, periods: NDArray[np.int64], values: Floats) -> Intervals:
        """Return standard error, lower and upper end of the 95 % interval of each period."""

        def parts(some: NDArray[np.int64]) -> tuple[Floats, Floats]:
            time = self.time_sums[some[:, 1:], self.regions] - self.time_sums[some[:, :1], self.regions]
            return time, variances(self.half, some, time.mean(axis=2))

        return self._in_batches(periods, parts, values)

    def at(self, schedules: Floats, values: Floats) -> Intervals:
        """Return standard error, lower and upper end of the 95 % interval of each schedule."""
        profiles = np.diff(self.time_sums[:, self.regions], axis=0).reshape(schedules.shape[1], -1)

        def parts(some: Floats) -> tuple[Floats, Floats]:
            time = (some @ profiles).reshape(-1, *self.space.shape[1:])
            return time, schedule_variances(self.behaviour, self.hours, some, time.mean(axis=2))

        return self._in_batches(schedules, parts, values)

    def _in_batches(
        self, queries: NDArray[Any], parts: Callable[[NDArray[Any]], tuple[Floats, Floats]], values: Floats
    ) -> Intervals:
        """Return the intervals of queries, a few at a time; `parts` gives their parts of profiles and variances."""
        most = max(1, BATCH_NUMBERS // (self.mixture.scores.size + 2 * self.space.size))
        batches = np.array_split(queries, -(-len(queries) // most)) if len(queries) else [queries]
        found = [self.mixture.intervals(self.space, *parts(some), self.most) for some in batches]
        error, low, high = (np.concatenate(column) for column in zip(*found, strict=True))
        return include_values((error, low, high), values)


def _draws(name: str, axes: tuple[str, ...], array: NDArray[Any], units: str = "1") -> StoredArray:
    return StoredArray(name, axes, array, units, plain=array.size > UNCOMPRESSED_FROM)


def round_bits(numbers: Floats) -> Singles:
    """Return numbers as float32 with few digits: 1e-4 off, and they compress to half.

    >>> round_bits(np.array([1.0, 1 / 3])).tolist()
    [1.0, 0.33331298828125]
    """
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    dropped = 23 - MANTISSA_BITS
    half = np.uint32(1 << (dropped - 1))
    return ((bits + half) >> np.uint32(dropped) << np.uint32(dropped)).view(np.float32)
