"""What holds for all linear methods: exact answers without noise, and an exact error model."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make
from gridveil.mechanisms.literature.linear import invert
from gridveil.model.window import Window
from gridveil.simulate.sources import Nobody, Tape, kernel_on
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import Estimate, LinearNoise

NAMES = ("fourier", "fourier-20", "wavelet", "wavelet-20", "privelet", "hdmm", "hb")
COMPLETE = {"fourier": {"k": 61}, "wavelet": {"k": 128}, "privelet": {}, "hdmm": {}, "hb": {}}
START, STEP = datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1)
Box = tuple[slice, slice, slice]


def released(name: str, cube: np.ndarray, epsilon: str, bound: Bound, seed: int | None = 0) -> Estimate:
    kernel = kernel_on(cube, Window(START, STEP, cube.shape[2]), epsilon=epsilon, bound=bound, seed=seed)
    return make(name, {}).release(kernel.session())


def factors(errors: LinearNoise, shape: tuple[int, ...]) -> list[np.ndarray]:
    given = (errors.x, errors.y, errors.time)
    return [np.eye(n) if factor is None else factor for factor, n in zip(given, shape, strict=True)]


def variance(errors: LinearNoise, shape: tuple[int, ...], box: Box) -> float:
    sides = zip(factors(errors, shape), box, strict=True)
    return float(np.prod([(factor[side].sum(axis=0) ** 2).sum() for factor, side in sides]))


@pytest.mark.parametrize("steps", [120, 24, 1])
@pytest.mark.parametrize("name", COMPLETE)
def test_without_noise_the_cube_comes_back(name: str, steps: int) -> None:
    """Methods that measure everything, at epsilon 1e12, with the real noise."""
    cube = np.random.default_rng(1).integers(10, 1500, (33, 5, steps))
    window, bound = Window(START, STEP, steps), Bound(1500, 1500 * steps)
    kernel = kernel_on(cube, window, epsilon="1e12", bound=bound, seed=None)
    estimate = make(name, COMPLETE[name]).release(kernel.session())
    np.testing.assert_allclose(estimate.values, cube, rtol=1e-6)


@pytest.mark.parametrize("shape", [(5, 7, 50), (23, 2, 24)])
@pytest.mark.parametrize("name", NAMES)
def test_the_error_model_is_exactly_the_noise(name: str, shape: tuple[int, int, int]) -> None:
    """On an empty town the estimate is the model applied to the noise that was drawn, each divided by its s.d."""
    tape = Tape.record(seed=2)
    window = Window(START, STEP, shape[2])
    town = Nobody(Grid(0, 0, *shape[:2], *shape[:2]), window)
    kernel = Kernel(town, window, budget=PureDP(1), bound=Bound(1500, 40_000), noise=tape)
    estimate = make(name, {}).release(kernel.session())
    assert isinstance(estimate.errors, LinearNoise)
    x, y, t = factors(estimate.errors, shape)
    ((noise, scales),) = tape.answers
    standard = (noise / (np.sqrt(2) * scales)).reshape(x.shape[1], y.shape[1], t.shape[1])
    expected = np.einsum("xi,yj,tk,ijk->xyt", x, y, t, standard, optimize=True)
    np.testing.assert_allclose(estimate.values, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["fourier", "wavelet-20", "privelet", "hb"])
def test_errors_of_cells_pillars_and_boxes_of_independent_pillars(name: str) -> None:
    """16,384 pillars (for boxes, 4,096 independent 2x2 blocks) with independent noise: 6 s.d. of their sample variance.

    A sum of Laplace variables has a kurtosis of at most 6, so that s.d. is at most sqrt(5 / n). 16 checks; about 1e-8
    false alarms in all.
    """
    shape = (128, 128, 60)
    estimate = released(name, np.zeros(shape), "1", Bound(1500, 50_000))
    assert isinstance(estimate.errors, LinearNoise)
    for width, steps in ((1, slice(17, 18)), (1, slice(59, 60)), (1, slice(0, 60)), (2, slice(10, 37))):
        sums = (
            estimate.values[:, :, steps].sum(axis=2).reshape(128 // width, width, 128 // width, width).sum(axis=(1, 3))
        )
        expected = variance(estimate.errors, shape, (slice(0, width), slice(0, width), steps))
        assert abs((sums**2).mean() / expected - 1) < 6 * (5 / sums.size) ** 0.5


def test_errors_of_cells_pillars_and_boxes_of_hdmm() -> None:
    """300 releases of 20 independent rows each: 6,000 draws, 6 s.d. as above; 3 checks, 1e-8 false alarms."""
    shape, bound = (22, 20, 24), Bound(1500, 20_000)
    cube = np.zeros(shape)
    boxes = [(slice(3, 4), slice(5, 6)), (slice(7, 8), slice(0, 24)), (slice(2, 19), slice(4, 15))]
    found = np.zeros((len(boxes), 300))
    for run in range(300):
        estimate = released("hdmm", cube, "1", bound, seed=run)
        for i, (x, t) in enumerate(boxes):
            found[i, run] = (estimate.values[x, :, t].sum(axis=(0, 2)) ** 2).mean()
    assert isinstance(estimate.errors, LinearNoise)
    assert estimate.errors.y is None
    assert estimate.errors.x is not None
    for i, (x, t) in enumerate(boxes):
        expected = variance(estimate.errors, shape, (x, slice(0, 1), t))
        assert abs(found[i].mean() / expected - 1) < 6 * (5 / (300 * 20)) ** 0.5


def test_least_squares_has_the_least_variance_of_all_that_are_unbiased() -> None:
    """Gauss and Markov: its covariance is that of generalised least squares, (A' S^-1 A)^-1."""
    generator = np.random.default_rng(3)
    matrix, scales = generator.normal(size=(9, 5)), generator.uniform(0.1, 3, 9)
    back = invert(matrix, scales)
    np.testing.assert_allclose(back @ matrix, np.eye(5), atol=1e-12)
    best = np.linalg.inv(matrix.T @ np.diag(1 / scales**2) @ matrix)
    np.testing.assert_allclose((back * scales**2) @ back.T, best, rtol=1e-9, atol=1e-12)
