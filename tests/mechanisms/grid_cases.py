"""What the tests of grids and trees share: kernels on cubes, and what every such method must satisfy."""

from datetime import UTC, datetime, timedelta

import numpy as np

from gridveil.mechanisms.base import Mechanism
from gridveil.mechanisms.literature.grids import make_whole_box, paint, subdivide
from gridveil.model.arrays import Floats
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import Estimate, NoisyParts

BOUND = Bound(step=1000, window=4000)


def window(steps: int) -> Window:
    return Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), steps)


def readings(shape: tuple[int, int, int], seed: int = 0) -> Floats:
    return np.random.default_rng(seed).integers(0, 4000 // shape[2], shape)  # type: ignore[return-value]  # numpy widens the type


def release(mechanism: Mechanism, cube: Floats, epsilon: float | str, seed: int | None = 0) -> Estimate:
    kernel = kernel_on(cube, window(cube.shape[2]), epsilon=epsilon, bound=BOUND, seed=seed)
    return mechanism.release(kernel.session())


def check_block_means(mechanism: Mechanism, cube: Floats) -> None:
    """Without noise, every part holds the mean of the cube over it."""
    estimate = release(mechanism, cube, "1e9")
    assert isinstance(estimate.errors, NoisyParts)
    assert estimate.errors.labels is not None
    labels = np.broadcast_to(estimate.errors.labels, cube.shape).ravel()
    means = np.bincount(labels, cube.ravel()) / np.bincount(labels)
    np.testing.assert_allclose(estimate.values.ravel(), means[labels], rtol=0, atol=1e-3)


def check_noise_on_nothing(
    mechanism: Mechanism, shape: tuple[int, int, int], runs: int, *, unbiased: bool = True
) -> int:
    """On an empty cube each part's sum has the variance that the error model says. Returns how many parts were seen.

    Parts may be correlated within a run, so a run is one draw; draws are independent. The pooled mean of
    `sum**2 / variance` is 1 within six of its standard errors, as estimated from the runs: false alarms, over the
    choice of seeds, about 1 in 1e7 times. Of the total the model may only say too much; its mean is 0 if `unbiased`.
    """
    excess, totals, parts = [], [], 0
    for seed in range(runs):
        estimate = release(mechanism, np.zeros(shape), 1, seed=seed)
        assert isinstance(estimate.errors, NoisyParts)
        assert estimate.errors.labels is not None
        labels, variances = estimate.errors.labels.ravel(), 2 * estimate.errors.scales**2
        sums = np.bincount(labels, estimate.values.ravel())
        excess.append(float((sums**2 / variances - 1).sum()))
        totals.append(float(sums.sum() / np.sqrt(variances.sum())))
        parts += len(sums)
    assert abs(sum(excess)) < 6 * np.linalg.norm(excess)
    assert not unbiased or abs(sum(totals)) < 6 * np.linalg.norm(totals)
    beyond = np.square(totals) - 1
    assert beyond.sum() < 6 * np.linalg.norm(beyond)
    return parts


def blocky(shape: tuple[int, int, int], counts: tuple[int, int, int], seed: int = 0) -> tuple[Floats, Floats]:
    """Return a cube that is constant in each block of a grid, and the blocks' labels."""
    labels = paint(subdivide(make_whole_box(shape), np.array([counts]))[0], shape)
    levels = np.random.default_rng(seed).permutation(np.arange(1, labels.max() + 2)) * (160 // (labels.max() + 1))
    return levels[labels].astype(np.float64), labels  # type: ignore[return-value]  # numpy widens the type
