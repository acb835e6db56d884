"""Lazy values are those of the array they stand for."""

import numpy as np
import pytest

from gridveil.model import arrays as values
from gridveil.model.arrays import HeldValues, Lazy, Product, Scaled
from gridveil.uncertainty import Estimate, NoisyParts

RANDOM = np.random.default_rng(0)
SPACE, TIME = RANDOM.gamma(2.0, 1e5, (5, 4)), RANDOM.random((3, 17))
REGION = RANDOM.integers(0, 3, (5, 4))
COUNTS = RANDOM.integers(-(10**9), 10**9, (5, 4, 17))
CASES = {
    "held": (HeldValues(SPACE[:, :, None] * TIME[0]), SPACE[:, :, None] * TIME[0]),
    "one profile": (Product.of(SPACE, TIME[0]), SPACE[:, :, None] * TIME[0]),
    "regions": (Product(SPACE, TIME, REGION), SPACE[:, :, None] * TIME[REGION]),
    "whole numbers": (Scaled(COUNTS), COUNTS.astype(np.float64)),
    "scaled": (Scaled(COUNTS, 1.25), COUNTS * 1.25),
}


@pytest.mark.parametrize(("lazy", "dense"), CASES.values(), ids=CASES)
def test_lazy_equals_dense(lazy: Lazy, dense: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lazy.shape == dense.shape
    assert lazy.dense().dtype == np.float64
    np.testing.assert_array_equal(lazy.dense(), dense)
    np.testing.assert_array_equal(np.asarray(lazy), dense)
    np.testing.assert_array_equal(np.asarray(lazy, dtype=np.float32), dense.astype(np.float32))
    for some in (slice(0, 1), slice(3, 9), slice(16, 17)):
        np.testing.assert_array_equal(lazy.steps(some), dense[:, :, some])
    np.testing.assert_allclose(lazy.over_steps(), dense.sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(lazy.over_cells(), dense.sum(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose(lazy.times(3.7).dense(), 3.7 * dense, rtol=1e-15)
    monkeypatch.setattr(values, "SLAB_NUMBERS", 5 * 4 * 3)
    slabs = list(lazy.slabs())
    assert [slab.shape[2] for slab in slabs] == [3, 3, 3, 3, 3, 2]
    np.testing.assert_array_equal(np.concatenate(slabs, axis=2), dense)


def test_an_estimate_has_either() -> None:
    noise = NoisyParts(None, np.ones((1, 1, 1)), np.ones((1, 1, 1)))
    array = np.ones((2, 3, 4))
    assert Estimate(array, noise).dense() is array
    assert Estimate(Scaled(COUNTS), noise).cube.shape == (5, 4, 17)
