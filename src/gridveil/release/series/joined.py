"""Releases that follow each other in time, as one: values, prefix sums and error bars."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, box_sums
from gridveil.model.errors import UsageError
from gridveil.release.format.files import Stored
from gridveil.release.format.read import reading
from gridveil.release.series.catalogue import Shelf
from gridveil.uncertainty.laplace import quick_widths, t_quantile
from gridveil.uncertainty.model import Boxes, ErrorModel, Intervals

# Intervals over several releases that follow each other in time. Within one release they are its own. Over several:
#
# - Noise is drawn afresh for every release, so that *errors of the noise alone* are independent: variances add, and so
#   do fourth and sixth cumulants, from which the interval follows (`JoinedNoise`).
# - Errors *about the consumption itself* are hardly independent. What a release does not know (how a measured sum is
#   spread over its cells, what bounds cut from the heaviest users) the next one does not know either, of the same
#   homes. On invented towns, standard errors of eight weeks added up as if independent gave 95 % intervals that held in
#   57 to 74 of 100 questions. So the ends of intervals are added, as if all erred alike: of all ways in which errors
#   can depend on each other none gives a sum a larger standard deviation. Of 95 % ends that is no theorem (errors with
#   heavy tails can have a sum that ends farther out), so they were tried: they hold in more than 95 of 100,
#   docs/release-format.md.
# - Of both kinds together: the noise's half-width comes on top of the others' ends.

OPENING = 2e6  # numbers that could be read in the time it takes to open a release
EQUAL = np.linspace(0.0, 1.0, 4097)
WIDTHS = quick_widths(EQUAL, EQUAL**2)  # of 1 / EQUAL equal weights, in standard deviations

Piece = tuple[int, NDArray[np.int64], NDArray[np.int64]]  # a release, queries that touch it, their periods in it


class JoinedNoise:
    """Independent symmetric noise, added up release by release for queries of any shape.

    Of a release's noise only standard error and half-width are known. Sums of Laplace variables are taken for as many
    *equal* ones as have that half-width; cumulants of independent variables add. Random sets of weights came out within
    0.5 % of the exact half-width. Replicates have Student's t, whose degrees of freedom follow by Welch and
    Satterthwaite. The two kinds, in one series, are added in quadrature of half-widths: wide enough, as each is more
    peaked than a normal variable.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.laplace = np.zeros((3, *shape))  # sums of variances, and of what fourth and sixth cumulants are made of
        self.student = np.zeros((2, *shape))  # sums of variances, and of their squares over degrees of freedom

    def add(self, model: ErrorModel, some: NDArray[np.int64], error: Floats, width: Floats) -> None:
        """Add the noise of one release to some of the queries."""
        variance = error**2
        if model.freedom is not None:
            self.student[:, some] += [variance, variance**2 / model.freedom]
            return
        ratio = width / np.where(error > 0, error, 1.0)
        weight = np.interp(ratio, WIDTHS, EQUAL)
        self.laplace[:, some] += [variance, variance**2 * weight, variance**3 * weight**2]

    def widths(self) -> tuple[Floats, Floats]:
        """Return standard errors and half-widths of the sums."""
        (laplace, fourth, sixth), (student, squares) = self.laplace, self.student
        second = np.where(laplace > 0, laplace, 1.0)
        wide = laplace * quick_widths(fourth / second**2, sixth / second**3) ** 2
        freedom = np.where(squares > 0, student**2 / np.where(squares > 0, squares, 1.0), np.inf)
        return np.sqrt(laplace + student), np.sqrt(wide + student * t_quantile(freedom) ** 2)


class JoinedSums:
    """Intervals of queries, added up release by release."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.noise = JoinedNoise(shape)
        self.error, self.low, self.high = np.zeros((3, *shape))
        self.last = np.zeros((3, *shape))
        self.releases = np.zeros(shape, int)

    def add(self, model: ErrorModel, some: NDArray[np.int64], values: Floats, intervals: Intervals) -> None:
        """Add one release's values and intervals to some of the queries."""
        error, low, high = intervals
        self.last[:, some] = intervals
        self.releases[some] += 1
        if model.about_the_truth:
            self.error[some] += error
            self.low[some] += low
            self.high[some] += high
            return
        self.noise.add(model, some, error, high - values)
        self.low[some] += values
        self.high[some] += values

    def intervals(self, values: Floats) -> Intervals:
        """Return a release's own intervals where a query lies in one, elsewhere those of sums; values are inside."""
        error, width = self.noise.widths()
        sums = self.error + error, np.minimum(self.low - width, values), np.maximum(self.high + width, values)
        error, low, high = (
            np.where(self.releases == 1, own, several) for own, several in zip(self.last, sums, strict=True)
        )
        return error, low, high


class JoinedErrors:
    """The errors of all releases on a shelf; an `Uncertainty`."""

    def __init__(self, shelf: Shelf, *, about_the_truth: bool) -> None:
        self.shelf = shelf
        self.about_the_truth = about_the_truth

    def of_boxes(self, boxes: Boxes, values: Floats) -> Intervals:
        """Return the intervals of range queries."""
        sums = JoinedSums((len(boxes),))
        for number, some, periods in _pieces(self.shelf, boxes[:, :2]):
            content = self.shelf[number]
            with reading(content.path):
                own = np.hstack([periods, boxes[some, 2:]])
                part = box_sums(content.prefix, own)
                sums.add(content.errors, some, part, content.errors.of_boxes(own, part))
        return sums.intervals(values)

    def of_area(self, weights: Floats) -> JoinedArea:
        """Return the intervals of an area, weights (y, x)."""
        return JoinedArea(self.shelf, weights)

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period."""
        numbers = self.shelf.touched(start, stop)
        sums = JoinedSums(values.shape)
        every = np.arange(len(values))
        for number in numbers:
            content, first = self.shelf[number], int(self.shelf.edges[number])
            period = max(start - first, 0), min(stop - first, self.shelf.steps(number))
            with reading(content.path):
                if len(numbers) == 1:
                    return content.errors.of_cells(*period, values)
                before, after = content.prefix.planes([*period])
                part = np.diff(np.diff(after - before, axis=0), axis=1)
                sums.add(content.errors, every, part, content.errors.of_cells(*period, part))
        return sums.intervals(values)

    def cost_of(self, boxes: Boxes) -> Floats:
        """Return how many stored numbers the intervals of each range query must read, and what opening takes."""
        cost = np.zeros(len(boxes))
        for number, some, periods in _pieces(self.shelf, boxes[:, :2]):
            cost[some] += 0.0 if number in self.shelf else OPENING
            cost[some] += self.shelf[number].errors.cost_of(np.hstack([periods, boxes[some, 2:]]))
        return cost


class JoinedArea:
    """The intervals of one area's consumption over all releases on a shelf; weights (y, x)."""

    def __init__(self, shelf: Shelf, weights: Floats) -> None:
        self.shelf = shelf
        self.weights = weights

    def over(self, periods: NDArray[np.int64], values: Floats) -> Intervals:
        """Return the intervals of the consumption over periods, rows (start, end) in steps."""
        sums = JoinedSums((len(periods),))
        for number, some, own in _pieces(self.shelf, periods):
            content = self.shelf[number]
            with reading(content.path):
                edges, places = np.unique(own, return_inverse=True)
                until = content.prefix.weighted(self.weights, edges)[places.reshape(own.shape)]
                part = until[:, 1] - until[:, 0]
                sums.add(content.errors, some, part, content.errors.of_area(self.weights).over(own, part))
        return sums.intervals(values)

    def at(self, schedules: Floats, values: Floats) -> Intervals:
        """Return the intervals of weighted sums over steps; schedules (query, step)."""
        edges = self.shelf.edges
        sums = JoinedSums((len(schedules),))
        for number in range(len(self.shelf)):
            own = schedules[:, edges[number] : edges[number + 1]]
            some = np.flatnonzero(own.any(axis=1))
            if len(some) == 0:
                continue
            content, own = self.shelf[number], own[some]
            if content.errors.about_the_truth and (own < 0).any():
                msg = "schedules: a weight is negative, and these error bars are of sums only, not of differences"
                raise UsageError(msg, code="schedules-negative")
            with reading(content.path):
                changes = -np.diff(own, axis=1, prepend=0.0, append=0.0)
                used = np.flatnonzero(changes.any(axis=0))
                part = changes[:, used] @ content.prefix.weighted(self.weights, used)
                sums.add(content.errors, some, part, content.errors.of_area(self.weights).at(own, part))
        return sums.intervals(values)


def _pieces(shelf: Shelf, periods: NDArray[np.int64]) -> Iterator[Piece]:
    """Give each release that is touched, by which queries, and from which to which of its steps."""
    if len(periods) == 0:
        return
    for number in shelf.touched(int(periods[:, 0].min()), int(periods[:, 1].max())):
        here = np.clip(periods - shelf.edges[number], 0, shelf.steps(number))
        some = np.flatnonzero(here[:, 0] < here[:, 1])
        if len(some):
            yield number, some, here[some]


# Values and prefix sums of releases that follow each other in time, as if they were one's.


class JoinedValues:
    """Values (time, y, x) of all releases: those of a step are read, or all of them."""

    def __init__(self, shelf: Shelf, cells: tuple[int, int]) -> None:
        self.shelf = shelf
        self.shape = (int(shelf.edges[-1]), *cells)

    def __getitem__(self, step: int | tuple[()]) -> Stored:
        """Return the values of a step, or with `()` all."""
        if isinstance(step, tuple):
            whole = np.empty(self.shape, np.float32)
            for number, first in enumerate(self.shelf.edges[:-1].tolist()):
                content = self.shelf[number]
                with reading(content.path):
                    whole[first : first + self.shelf.steps(number)] = content.values[()]
            return whole
        number = self.shelf.of(step)
        content = self.shelf[number]
        with reading(content.path):
            return content.values[step - int(self.shelf.edges[number])]


class JoinedPrefix:
    """Prefix sums (time, y, x) of all releases: a later one's plus all of those before it.

    Sums are taken from the beginning of the first release that is asked for, so that none before it is opened; only
    differences between the sums of one call mean anything.
    """

    def __init__(self, shelf: Shelf, cells: tuple[int, int]) -> None:
        self.shelf = shelf
        self.shape: tuple[int, ...] = (int(shelf.edges[-1]) + 1, cells[0] + 1, cells[1] + 1)

    def __getitem__(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Return the values at points, one index array for each axis."""
        edges, rows, columns = points
        if len(edges) == 0:
            return np.empty(0)
        places, back = np.unique(rows * self.shape[2] + columns, return_inverse=True)
        y, x = np.divmod(places, self.shape[2])
        before = np.zeros(len(places))
        values = np.empty(len(edges))
        for number, own, last in self._walk(edges):
            values[own] = before[back[own]]
            some = own[edges[own] > self.shelf.edges[number]]  # where it begins its own sums are 0
            if len(some):
                values[some] += self._at(number, edges[some], rows[some], columns[some])
            if not last:
                before += self._at(number, np.full(len(places), self.shelf.edges[number + 1]), y, x)
        return values

    def weighted(self, weights: Floats, edges: NDArray[np.int64]) -> Floats:
        """Return the weighted sum of all cells (y, x) up to each of some edges of time."""
        total = np.zeros(len(edges))
        before = 0.0
        for number, own, last in self._walk(edges):
            total[own] = before
            some = own[edges[own] > self.shelf.edges[number]]
            asked = edges[some] - self.shelf.edges[number]
            if not last:
                asked = np.append(asked, self.shelf.steps(number))
            if len(asked) == 0:
                continue
            content = self.shelf[number]
            with reading(content.path):
                sums = content.prefix.weighted(weights, asked)
            total[some] += sums[: len(some)]
            before += 0.0 if last else float(sums[-1])
        return total

    def planes(self, edges: list[int]) -> Iterator[Floats]:
        """Give the sums up to some edges of time (y_edge, x_edge); edges in ascending order."""
        before = np.zeros(self.shape[1:])
        numbers = np.array(edges, dtype=np.int64)
        for number, own, last in self._walk(numbers):
            asked = (numbers[own] - self.shelf.edges[number]).tolist()
            wanted = [edge for edge in asked if edge] + ([] if last else [self.shelf.steps(number)])
            sums = self._planes(number, wanted)
            for edge in asked:
                yield before + next(sums) if edge else before
            if not last:
                before = before + next(sums)

    def _planes(self, number: int, edges: list[int]) -> Iterator[Floats]:
        for edge in edges:
            content = self.shelf[number]
            with reading(content.path):
                (plane,) = content.prefix.planes([edge])
            yield plane

    def _at(self, number: int, edges: NDArray[np.int64], *cells: NDArray[np.int64]) -> Floats:
        content = self.shelf[number]
        with reading(content.path):
            return content.prefix[(edges - self.shelf.edges[number], *cells)]

    def _walk(self, edges: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], bool]]:
        """Give the releases from the first to the last edge, which edges each has, and whether it is the last one."""
        owners = np.searchsorted(self.shelf.edges, edges, side="right") - 1
        first, stop = int(owners.min()), int(owners.max())
        for number in range(first, stop + 1):
            yield number, np.flatnonzero(owners == number), number == stop
