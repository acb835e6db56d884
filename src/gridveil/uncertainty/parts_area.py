"""Noisy parts in one area: how much of each part its weighted cells hold in every period or schedule.

The noise of a query is `sum_i c_i L_i`, `c_i` the scale of part `i` times the sum of factor * weight * share over the
part's steps and cells. Power sums of the `c_i`, and the few heavy ones, give its interval. Arrays may be datasets in a
file: only the area's bounding box is read, and only the steps that are asked for, a slab at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints
from gridveil.uncertainty.laplace import HEAVY, widths_of_sums
from gridveil.uncertainty.model import AreaNoise, bounding_box

Number = TypeVar("Number", bound=np.number)
Labels = NDArray[np.signedinteger[Any]]
Noise = tuple[Floats, Callable[[Ints], tuple[Ints, Floats]]]  # what `widths_of_sums` takes
SLAB_STEPS = 24  # as long as a stored chunk
SLAB_NUMBERS = 2**21
DENSE = 4


class PartsArea(AreaNoise):
    """The noise of parts in an area; arrays as in `NoisyParts`, weights (y, x)."""

    def __init__(self, labels: Labels | None, scales: Floats, shares: Floats, weights: Floats) -> None:
        self.labels = labels
        self.scales = scales
        self.shares = shares
        self.box = bounding_box(weights)
        self.weights = weights[self.box]

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each period."""
        return self._noise(StepWeights.of_periods(periods))

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each schedule."""
        return self._noise(StepWeights.of_weights(schedules))

    def _noise(self, schedule: StepWeights) -> tuple[Floats, Floats]:
        if self.weights.size == 0 or schedule.count == 0:
            return np.zeros(schedule.count), np.zeros(schedule.count)
        if self.labels is None:
            powers, heavies = self._every_step_and_cell(self.scales, schedule)
        elif self.labels.shape[0] == 1 and (self.shares.shape[0] == 1 or self.shares.shape[1:] == (1, 1)):
            powers, heavies = self._proportional(self.labels, schedule)
        elif schedule.count == 1:
            powers, heavies = self._one_query(self.labels, schedule)
        else:
            powers, heavies = self._by_part(self.labels, schedule)
        error = np.sqrt(2 * powers[0])
        return error, error * widths_of_sums(powers, heavies)

    def _every_step_and_cell(self, scales: Floats, schedule: StepWeights) -> Noise:
        """Every cell and step is a part: power sums by step, and a heavy weight of a query is one of its step, too."""
        constant = scales.shape[0] == 1 and self.shares.shape[0] == 1
        steps, held = np.unique(np.zeros_like(schedule.steps) if constant else schedule.steps, return_inverse=True)
        sums, rows, heavy = [np.empty((3, 0))], [np.empty(0, int)], [np.empty(0)]
        for first, some in self._slabs(steps):
            noise = self._cut(scales, some) * self._cut(self.shares, some) * self.weights
            squares = (noise**2).reshape(len(noise), -1)
            sums.append(powers_of(squares))
            kept = (squares >= HEAVY * sums[-1][0][:, None]) & (squares > 0)
            rows.append(first + np.nonzero(kept)[0])
            heavy.append(squares[kept])
        by_step, owners, numbers = np.hstack(sums), np.concatenate(rows), np.concatenate(heavy)
        powers = np.stack([schedule.totals(schedule.factors ** (2 * n + 2) * by_step[n, held]) for n in range(3)])
        starts = np.searchsorted(owners, np.arange(len(steps) + 1))
        numbered = StepWeights(schedule.count, held, schedule.queries, schedule.factors)

        def heavies(queries: Ints) -> tuple[Ints, Floats]:
            asked = numbered.only(queries)
            enough = asked.factors**2 * by_step[0, asked.steps] >= HEAVY * powers[0, queries][asked.queries]
            asked = asked.where(enough)
            sizes = starts[asked.steps + 1] - starts[asked.steps]
            pairs = np.repeat(np.arange(len(sizes)), sizes)
            found = numbers[starts[asked.steps][pairs] + count_up(sizes)]
            return asked.queries[pairs], asked.factors[pairs] ** 2 * found

        return powers, heavies

    def _proportional(self, labels: Labels, schedule: StepWeights) -> Noise:
        """Parts are the same at all times, and so are cells' shares but for one factor: all queries are alike."""
        alike = self.shares.shape[0] == 1
        total = schedule.totals(schedule.factors if alike else schedule.factors * self.shares[:, 0, 0][schedule.steps])
        parts, sums = self._sums_of(labels, self.shares if alike else np.ones((1, 1, 1)), np.zeros(1, int))
        return _scaled_noise(sums * self._scales_of_parts[parts], total)

    def _one_query(self, labels: Labels, schedule: StepWeights) -> Noise:
        """Add up the parts of a single query slab by slab, in little room however many parts there are."""
        sums = np.zeros(len(self._scales_of_parts))
        for first, steps in self._slabs(schedule.steps):
            numbers, amounts = self._amounts(labels, self.shares, steps)
            amounts = amounts * schedule.factors[first : first + len(steps), None, None]
            if len(numbers) == 1:
                amounts = amounts.sum(axis=0, keepdims=True)
            least = numbers.min()  # parts are often near each other in number
            found = np.bincount((numbers - least).ravel(), np.broadcast_to(amounts, numbers.shape).ravel())
            sums[least : least + len(found)] += found
        return _scaled_noise(sums * self._scales_of_parts, np.ones(1))

    def _by_part(self, labels: Labels, schedule: StepWeights) -> Noise:
        """Add up parts slab by slab; of a query whose last step has passed only power sums and heavy weights stay."""
        count = len(self._scales_of_parts)
        last = np.zeros(schedule.count, int)
        np.maximum.at(last, schedule.queries, schedule.steps)
        powers = np.zeros((3, schedule.count))
        owners, heavy = [np.empty(0, int)], [np.empty(0)]
        keys, sums = np.empty(0, int), np.empty(0)
        for _, steps in self._slabs(np.unique(schedule.steps)):
            found, amounts = self._sums_of(labels, self.shares, steps)
            step, part = np.divmod(found, count)
            first, stop = (np.searchsorted(schedule.steps, steps, side=side)[step] for side in ("left", "right"))
            entry, pair = np.repeat(np.arange(len(found)), stop - first), count_up(stop - first)
            pair += first[entry]
            keys = np.concatenate([keys, schedule.queries[pair] * count + part[entry]])
            sums = np.concatenate([sums, schedule.factors[pair] * amounts[entry]])
            keys, sums = sum_by_key(keys, sums)
            done = last[keys // count] <= steps[-1]
            query, squares = keys[done] // count, (sums[done] * self._scales_of_parts[keys[done] % count]) ** 2
            for n in range(3):
                powers[n] += np.bincount(query, squares ** (n + 1), minlength=schedule.count)
            kept = squares >= HEAVY * powers[0, query]
            owners.append(query[kept])
            heavy.append(squares[kept])
            keys, sums = keys[~done], sums[~done]
        owner, numbers = np.concatenate(owners), np.concatenate(heavy)

        def heavies(queries: Ints) -> tuple[Ints, Floats]:
            number = np.full(schedule.count, -1)
            number[queries] = np.arange(len(queries))
            kept = number[owner] >= 0
            return number[owner[kept]], numbers[kept]

        return powers, heavies

    @cached_property
    def _scales_of_parts(self) -> Floats:
        """Scales by part number, none of them first: labels start at -1."""
        return np.concatenate([[0.0], self.scales])

    def _sums_of(self, labels: Labels, shares: Floats, steps: Ints) -> tuple[Ints, Floats]:
        """Return the sums of weight * share by part number and step: `step * count + number`, steps from 0."""
        numbers, amounts = self._amounts(labels, shares, steps)
        keys = np.arange(len(steps))[:, None, None] * len(self._scales_of_parts) + numbers
        return sum_by_key(keys.ravel(), np.broadcast_to(amounts, keys.shape).ravel())

    def _amounts(self, labels: Labels, shares: Floats, steps: Ints) -> tuple[Labels, Floats]:
        """Return part numbers, from 1, and weight * share, added up along axes of space that have one part."""
        numbers = self._cut(labels, steps)
        if numbers.min() < -1 or numbers.max() >= len(self.scales):
            msg = f"labels from {numbers.min()} to {numbers.max()} for {len(self.scales)} parts"
            raise ValueError(msg)
        amounts = self._cut(shares, steps) * self.weights
        alike = tuple(axis for axis in (1, 2) if numbers.shape[axis] == 1)
        return numbers + 1, amounts.sum(axis=alike, keepdims=True)

    def _slabs(self, steps: Ints) -> Iterator[tuple[int, Ints]]:
        """Split steps into runs of neighbours that are read together, with the place of each run's first."""
        most = max(1, SLAB_NUMBERS // self.weights.size)
        block = steps // (most if most < SLAB_STEPS else most // SLAB_STEPS * SLAB_STEPS)
        first = 0
        for run in np.split(steps, np.flatnonzero(np.diff(block)) + 1):
            yield first, run
            first += len(run)

    def _cut(self, array: NDArray[Number], steps: Ints) -> NDArray[Number]:
        """Return the bounding box of the area at some steps; axes of size 1 stay."""
        sides = (slice(int(steps[0]), int(steps[-1]) + 1), *self.box)
        held = array[tuple(side if size > 1 else slice(None) for side, size in zip(sides, array.shape, strict=True))]
        return held if len(held) in {1, len(steps)} else held[steps - steps[0]]


def _scaled_noise(weights: Floats, times: Floats) -> Noise:
    """Return the noise of queries that have the same weights, each multiplied."""
    squares = weights**2
    own = powers_of(squares[None])[:, 0]
    heavy = squares[(squares >= HEAVY * own[0]) & (squares > 0)]

    def heavies(queries: Ints) -> tuple[Ints, Floats]:
        rows = np.repeat(np.arange(len(queries)), len(heavy))
        return rows, np.outer(times[queries] ** 2, heavy).ravel()

    return np.stack([own[n] * times ** (2 * n + 2) for n in range(3)]), heavies


def powers_of(squares: Floats) -> Floats:
    """Return the power sums 2, 4 and 6 (3, row) of weights with these squares (row, any)."""
    return np.stack([(squares**power).sum(axis=1) for power in (1, 2, 3)])


def sum_by_key(keys: Ints, amounts: Floats) -> tuple[Ints, Floats]:
    """Return the distinct keys and the sum of the amounts of each.

    >>> sum_by_key(np.array([3, 1, 3]), np.array([1.0, 2.0, 4.0]))
    (array([1, 3]), array([2., 5.]))
    """
    if keys.max(initial=0) <= DENSE * len(keys):  # counting is faster than sorting
        found = np.flatnonzero(np.bincount(keys))
        return found, np.bincount(keys, amounts)[found].astype(float)
    found, place = np.unique(keys, return_inverse=True)
    return found, np.bincount(place, amounts, minlength=len(found)).astype(float)


# Which steps queries of one area take: every step of a period, or a weighted choice.


@dataclass(frozen=True)
class StepWeights:
    """Pairs of a step and a query that takes it with a factor, in the order of steps."""

    count: int  # of queries
    steps: Ints
    queries: Ints
    factors: Floats

    @classmethod
    def of_periods(cls, periods: NDArray[np.int64]) -> StepWeights:
        """Every step from start up to the end, once.

        >>> StepWeights.of_periods(np.array([[1, 3], [0, 2]])).steps.tolist()
        [0, 1, 1, 2]
        """
        lengths = periods[:, 1] - periods[:, 0]
        queries = np.repeat(np.arange(len(periods)), lengths)
        steps = periods[queries, 0] + count_up(lengths)
        order = np.argsort(steps, kind="stable")
        return cls(len(periods), steps[order], queries[order], np.ones(len(queries)))

    @classmethod
    def of_weights(cls, schedules: Floats) -> StepWeights:
        """Every step whose weight is not 0; schedules (query, step)."""
        steps, queries = np.nonzero(schedules.T)
        return cls(len(schedules), steps, queries, schedules[queries, steps])

    def where(self, kept: NDArray[np.bool_]) -> StepWeights:
        """Return some of the pairs."""
        return StepWeights(self.count, self.steps[kept], self.queries[kept], self.factors[kept])

    def only(self, queries: Ints) -> StepWeights:
        """Return the schedule of some queries, numbered anew."""
        number = np.full(self.count, -1)
        number[queries] = np.arange(len(queries))
        kept = self.where(number[self.queries] >= 0)
        return StepWeights(len(queries), kept.steps, number[kept.queries], kept.factors)

    def totals(self, numbers: Floats) -> Floats:
        """Return the sum of a number of each pair, by query."""
        return np.bincount(self.queries, numbers, minlength=self.count).astype(float)


def count_up(lengths: Ints) -> Ints:
    """Return the numbers from 0 up to each length, one after the other.

    >>> count_up(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
