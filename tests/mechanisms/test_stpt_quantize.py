from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridveil.mechanisms.stpt.parts import Quantizer, quantize
from gridveil.model.arrays import Floats, Ints

QUANTIZERS = get_args(Quantizer)


@pytest.mark.parametrize(
    ("quantizer", "parts"),
    [
        ("equal-width", [0, 0, 0, 0, 1]),  # [0, 5), [5, 10]
        ("equal-mass", [0, 0, 0, 0, 1]),  # sums of 8 and 10
        ("kmeans", [0, 0, 0, 0, 1]),
    ],
)
def test_two_parts(quantizer: Quantizer, parts: list[int]) -> None:
    assert quantize(np.array([0.0, 2.0, 3.0, 3.0, 10.0]), 2, quantizer).tolist() == parts


def test_the_quantizers_differ_where_they_should() -> None:
    pattern = np.array([0.0, 1.0, 3.0, 4.0, 100.0])
    assert quantize(pattern, 3, "equal-width").tolist() == [0, 0, 0, 0, 1]
    assert quantize(pattern, 3, "kmeans").tolist() == [0, 0, 1, 1, 2]
    assert quantize(np.array([1.0, 1.5, 2.0, 2.0, 2.5, 3.0]), 2, "equal-mass").tolist() == [0, 0, 0, 0, 1, 1]


def test_the_greatest_value_is_in_the_last_bucket() -> None:
    assert quantize(np.linspace(0, 1, 11), 10, "equal-width").tolist() == [*range(10), 9]


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@pytest.mark.parametrize("value", [0.0, -3.0, 7.0])
def test_a_constant_pattern_is_one_part(quantizer: Quantizer, value: float) -> None:
    assert quantize(np.full((2, 3, 4), value), 5, quantizer).tolist() == np.zeros((2, 3, 4)).tolist()


@pytest.mark.parametrize("quantizer", QUANTIZERS)
def test_more_buckets_than_values_separate_all_values(quantizer: Quantizer) -> None:
    assert quantize(np.array([3.0, 1.0, 2.0, 1.0]), 50, quantizer).tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize("quantizer", QUANTIZERS)
@given(
    pattern=arrays(float, st.integers(1, 60), elements=st.floats(-1e6, 1e6, width=32)),
    buckets=st.integers(1, 20),
)
def test_parts_are_few_numbered_without_gaps_and_ordered_like_the_pattern(
    quantizer: Quantizer, pattern: Floats, buckets: int
) -> None:
    parts = quantize(pattern, buckets, quantizer)
    assert np.array_equal(np.unique(parts), np.arange(parts.max() + 1))
    assert parts.max() < buckets
    order = np.argsort(pattern, kind="stable")
    assert (np.diff(parts[order]) >= 0).all()
    for part in range(parts.max() + 1):
        assert set(pattern[parts == part]).isdisjoint(pattern[parts != part])


def test_kmeans_is_a_fixed_point_and_tighter_than_equal_width() -> None:
    pattern = np.random.default_rng(0).lognormal(size=5000)

    def scatter(parts: Ints) -> float:
        return sum(
            ((pattern[parts == part] - pattern[parts == part].mean()) ** 2).sum() for part in range(parts.max() + 1)
        )

    parts = quantize(pattern, 20, "kmeans")
    centres = np.array([pattern[parts == part].mean() for part in range(parts.max() + 1)])
    nearest = np.abs(pattern[:, None] - centres).argmin(axis=1)
    assert np.array_equal(nearest, parts)
    assert scatter(parts) < 0.3 * scatter(quantize(pattern, 20, "equal-width"))


def test_equal_mass_parts_have_equal_sums() -> None:
    pattern = np.random.default_rng(0).lognormal(size=5000)
    sums = np.bincount(quantize(pattern, 20, "equal-mass"), weights=pattern)
    assert len(sums) == 20
    assert np.ptp(sums) < 0.2 * sums.mean()
