"""A session with the kernel: the interface of a mechanism. It has no path to the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.staircase import Staircase
from gridveil.trusted.kernel.transforms import Fourier, Haar

if TYPE_CHECKING:  # questions load OpenDP, which recipients do not need
    from gridveil.trusted.kernel.questions import KernelQuestion

NoiseKind = Literal["laplace", "staircase"]


@dataclass(frozen=True)
class Measurement:
    """A noisy answer: one integer per label, with the scale of the discrete Laplace noise on each, Wh.

    Of every cell and step by itself (`labels=None`): one integer for each in the order x, y, t, and `scales` is one
    number that looks as long (a broadcast array, read-only; `scales[0]` is it).
    With staircase noise, `staircase` is its distribution, and `scales` that of Laplace noise of the same variance.
    """

    values: NDArray[np.int64]
    scales: NDArray[np.float64]
    staircase: Staircase | None = None


@dataclass(frozen=True)
class NoisyAnswers:
    """Noisy answers of a strategy: `values = (x (x) y (x) t) cube + Laplace(scales)`, Wh, axes (x, y, t).

    The factors are the ones applied, rounded to multiples of a power of two; `None` is an identity.
    """

    values: NDArray[np.float64]
    scales: NDArray[np.float64]
    x: NDArray[np.float64] | None
    y: NDArray[np.float64] | None
    t: NDArray[np.float64] | None


@dataclass(frozen=True)
class Deviations:
    """Noisy sums of absolute deviations, one per label, with the scale of the discrete Laplace noise on each, Wh."""

    values: NDArray[np.float64]
    scales: NDArray[np.float64]


@dataclass(frozen=True)
class Session:
    """Everything a mechanism may know and ask: public facts, and measurements that are charged to the budget.

    `epsilon` is what it may spend; `remaining()` is what the worst-off pillar has left. `window` and `bound` are the
    published window and its bound; `window.before(n)` is a training window, if the source has it. Questions are about
    these, unless they name others; the bound is carried over to another window pro rata.

    The one way to the kernel is `_ask`: the name of a question, window, bound, epsilon, and the question's own options.
    The kernel works the question out by itself, so that nobody can ask it for less noise than is charged for. What
    comes back is the question, all of it public, and the noisy answers; the rest of this class is post-processing.
    """

    grid: Grid
    window: Window
    bound: Bound
    epsilon: float
    _ask: Callable[..., tuple[KernelQuestion, Ints]]
    remaining: Callable[[], float]

    def sums(
        self,
        labels: ArrayLike | None,
        epsilon: float,
        *,
        window: Window | None = None,
        bound: Bound | None = None,
        relative: ArrayLike | None = None,
        sequential: bool = False,
        noise: NoiseKind = "laplace",
    ) -> Measurement:
        """Measure the sum of the cube over each label, with noise that costs `epsilon`.

        labels: integers broadcastable to the cube (x, y, t); label `i` makes answer `i`, -1 is not measured. `None` is
            every cell and step by itself, in the order x, y, t: as if they were numbered so, without the numbers.
        relative: how large the noise scales are relative to each other; equal by default.
        sequential: charge every label by itself, as if a household could be at its worst in all labels at once
            (the paper's Theorem 8). Valid, and never less noise than the joint calculation.
        noise: "staircase" has less variance than "laplace" where no pillar has steps in more than one label, and much
            less at an epsilon of 10 and above; there it shows what a lonely household used almost exactly.

        Guarantee: see `ask_sums`. The joint loss of all measurements is what counts against the budget.
        """
        options = {"labels": labels, "relative": relative, "sequential": sequential, "noise": noise}
        question, values = self._ask("sums", *self._resolve_scope(window, bound), epsilon, **options)
        return Measurement(values, question.scales, question.staircase)

    def matrix(
        self,
        x: ArrayLike | None,
        y: ArrayLike | None,
        t: ArrayLike | None,
        epsilon: float,
        *,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Measure the strategy `x (x) y (x) t` of the cube, with equal noise on all answers that costs `epsilon`.

        x, y, t: a matrix for each axis (row, place), or `None` for an identity. Their entries are rounded to multiples
        of a power of two that public numbers give; what was applied comes back with the answers.

        Guarantee: see `ask_matrix`.
        """
        question, values = self._ask("matrix", *self._resolve_scope(window, bound), epsilon, x=x, y=y, t=t)
        return NoisyAnswers(values / question.per_wh, question.scales / question.per_wh, *question.matrices)

    def transform(
        self,
        transform: Fourier | Haar,
        epsilon: float,
        *,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Measure a transform of every pillar's time series, with noise that costs `epsilon`.

        x, y: matrices across space, as in `matrix`.

        Guarantee: see `ask_transform`.
        """
        asked = self._ask("transform", *self._resolve_scope(window, bound), epsilon, transform=transform, x=x, y=y)
        question, values = asked
        return NoisyAnswers(values / question.per_wh, question.scales / question.per_wh, *question.matrices)

    def deviations(
        self, labels: ArrayLike, epsilon: float, *, window: Window | None = None, bound: Bound | None = None
    ) -> Deviations:
        """Measure how unevenly the cube is spread in each label: `sum |value - mean of the label|`, Wh.

        Guarantee: see `ask_deviations`.
        """
        question, values = self._ask("deviations", *self._resolve_scope(window, bound), epsilon, labels=labels)
        return Deviations(values / question.per_wh, question.scales / question.per_wh)

    def household_totals(self, edges: ArrayLike, epsilon: float, *, window: Window | None = None) -> Measurement:
        """Measure how many households have a window total in each bin, with noise that costs `epsilon`.

        edges: increasing integers, Wh. Bin `i` is `[edges[i], edges[i+1])`, the last one is open; a total below the
        first edge is in none. Steps are capped at the kernel's step bound first, whatever the session's bound is.

        Guarantee: see `ask_household_totals`.
        """
        question, values = self._ask(
            "household_totals", self.window if window is None else window, None, epsilon, edges=edges
        )
        return Measurement(values, question.scales)

    def _resolve_scope(self, window: Window | None, bound: Bound | None) -> tuple[Window, Bound]:
        """Return the window and the bound of a question: by default the session's own."""
        of = self.window if window is None else window
        if bound is not None:
            return of, bound
        # The kernel refuses anything that is not a window.
        same = type(of) is not Window or of == self.window
        return of, self.bound if same else self.bound.prorate(self.window.steps, of.steps)
