"""The kernel's face: what a mechanism is handed. It has no way to the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.staircase import Staircase
from gridveil.trusted.kernel.transforms import Fourier, Haar

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


class Sums(Protocol):
    """See `Kernel.sums`."""

    def __call__(
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
        """Noisy sums of the cube over labels."""


class Matrix(Protocol):
    """See `Kernel.matrix`."""

    def __call__(
        self,
        x: ArrayLike | None,
        y: ArrayLike | None,
        t: ArrayLike | None,
        epsilon: float,
        *,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Noisy answers of a strategy."""


class Transform(Protocol):
    """See `Kernel.transform`."""

    def __call__(
        self,
        transform: Fourier | Haar,
        epsilon: float,
        *,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Noisy coefficients of every pillar."""


class DeviationsOf(Protocol):
    """See `Kernel.deviations`."""

    def __call__(
        self, labels: ArrayLike, epsilon: float, *, window: Window | None = None, bound: Bound | None = None
    ) -> Deviations:
        """Noisy sums of absolute deviations from each label's mean."""


class HouseholdTotals(Protocol):
    """See `Kernel.household_totals`."""

    def __call__(self, edges: ArrayLike, epsilon: float, *, window: Window | None = None) -> Measurement:
        """Noisy histogram of households' window totals."""


@dataclass(frozen=True)
class Measure:
    """Everything a mechanism may know and ask: public facts, and measurements that are paid for.

    `epsilon` is what it may spend; `remaining()` is what the worst-off pillar has left. `window` and `bound`
    are the published window and its bound; `window.before(n)` is a training window, if the source has it.
    """

    grid: Grid
    window: Window
    bound: Bound
    epsilon: float
    sums: Sums
    matrix: Matrix
    transform: Transform
    deviations: DeviationsOf
    household_totals: HouseholdTotals
    remaining: Callable[[], float]
