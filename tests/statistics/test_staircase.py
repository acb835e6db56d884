"""The staircase sampler, tested for what the guarantee needs, with power.

False alarms: chi-square and binomial tests reject with probability ALPHA each; there are fewer than 50 of them, so that
a run of this file fails by chance with probability below 5e-5. The tests of moments reject beyond six standard errors,
which happens less often. Nothing is seeded.
"""

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.statistics.independence import independent, pairs

from gridveil.trusted.kernel import noise as noise_module
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.staircase import Staircase, choose_staircase

ALPHA = 1e-6
SMALL = [
    (Staircase(1, 1, 0.7), 40_000),
    (Staircase(2, 1, 1.0), 40_000),
    (Staircase(5, 2, 0.5), 40_000),
    (Staircase(7, 7, 1.5), 40_000),
    (Staircase(7, 2, 3.0), 100_000),
]
LARGE = [
    (Staircase(40, 13, 2.0), 100_000),
    (choose_staircase(150_000, 3.0), 100_000),
    (choose_staircase(150_000, 10.0), 3_000_000),
    (choose_staircase(2**35, 1.0), 40_000),
]
Ints = NDArray[np.int64]


@cache
def draw(staircase: Staircase, count: int, value: int = 0) -> Ints:
    """Drawn once: different tests look at the same sample."""
    return ExactNoise().add_staircase(np.full(count, value, dtype=np.int64), staircase) - value


def fit(sample: Ints, staircase: Staircase) -> float:
    """Return the p-value of a chi-square test: each level of each sign in up to four parts, far levels pooled."""
    outer = staircase.outer_odds / (1 + staircase.outer_odds)
    last = 1 + max(0, int(math.log(len(sample) * outer / 2 / 80) / staircase.epsilon))  # pooled from here on
    width = 2 * staircase.inner - 1
    parts = min(8, width)
    expected = [(1 - outer) * _size(width, parts, part) / width for part in range(parts)]
    level = staircase.level(sample)
    place = np.where(level == 0, sample + staircase.inner - 1, (np.abs(sample) - staircase.inner) % staircase.delta)
    observed = np.bincount((place * parts // width)[level == 0], minlength=parts).tolist()
    quarters = min(4, staircase.delta)
    for negative in (False, True):
        side = (sample < 0) == negative
        for j in range(1, last + 1):
            here = side & (level == j if j < last else level >= last)
            decay = math.exp(-(j - 1) * staircase.epsilon)
            chance = outer / 2 * decay * (-math.expm1(-staircase.epsilon) if j < last else 1)
            expected += [chance * _size(staircase.delta, quarters, part) / staircase.delta for part in range(quarters)]
            observed += np.bincount((place * quarters // staircase.delta)[here], minlength=quarters).tolist()
    counts = np.array(expected) * len(sample)
    assert counts.sum() == pytest.approx(len(sample), rel=1e-9)
    assert counts.min() >= 10
    return float(stats.chisquare(observed, counts).pvalue)


def far(sample: Ints, staircase: Staircase) -> float:
    """Return the p-value of the number of draws beyond the first shell, which may be too small for a chi-square."""
    beyond = math.exp(-staircase.epsilon) * staircase.outer_odds / (1 + staircase.outer_odds)
    return float(stats.binomtest(int((staircase.level(sample) > 1).sum()), len(sample), beyond).pvalue)


def _size(width: int, parts: int, part: int) -> int:
    """How many of `0 .. width - 1` have `place * parts // width == part`."""
    return -(-(part + 1) * width // parts) + (part * width // -parts)


@pytest.mark.parametrize(("staircase", "count"), SMALL + LARGE)
def test_noise_follows_the_staircase_and_the_test_has_power(staircase: Staircase, count: int) -> None:
    sample = draw(staircase, count)
    delta, inner, epsilon = staircase.delta, staircase.inner, staircase.epsilon
    assert fit(sample, staircase) > ALPHA
    assert fit(sample, Staircase(delta, inner, 0.9 * epsilon)) < ALPHA, "too little noise must be noticed"
    assert fit(sample, Staircase(delta, inner, 1.1 * epsilon)) < ALPHA, "too much noise must be noticed"
    step = max(1, delta // 10)  # narrow steps one by one, wide ones by a tenth
    for wrong in (middle for middle in (inner - step, inner + step) if 1 <= middle <= delta):
        assert fit(sample, Staircase(delta, wrong, epsilon)) < ALPHA, "another middle must be noticed"
    assert fit(sample, Staircase(delta + step, inner, epsilon)) < ALPHA, "wider shells must be noticed"
    outer = np.abs(sample) >= inner
    skipped = sample + delta * np.sign(sample) * outer
    assert far(sample, staircase) > ALPHA
    assert far(skipped, staircase) < ALPHA, "shells numbered from two must be noticed"
    moved = sample + step * np.sign(sample) * outer
    assert min(fit(moved, staircase), far(moved, staircase)) < ALPHA, "shells that begin too late must be noticed"
    assert fit(np.where(outer, np.abs(sample), sample), staircase) < ALPHA, "a sign that is missing must be noticed"


@pytest.mark.parametrize(("staircase", "count"), SMALL + LARGE)
def test_noise_is_symmetric(staircase: Staircase, count: int) -> None:
    sample = draw(staircase, count)
    above, under = int((sample > 0).sum()), int((sample < 0).sum())
    assert stats.binomtest(above, above + under, 0.5).pvalue > ALPHA


@pytest.mark.parametrize(("staircase", "count"), SMALL)
def test_moments_are_those_of_the_formulas(staircase: Staircase, count: int) -> None:
    sample = draw(staircase, count).astype(np.float64)
    reach = np.arange(-60 * staircase.delta, 60 * staircase.delta + 1)
    fourth = float((np.exp(staircase.log_mass(reach)) * reach.astype(np.float64) ** 4).sum())
    error = math.sqrt((fourth - staircase.variance**2) / count)
    assert abs((sample**2).mean() - staircase.variance) < 6 * error
    assert abs(sample.mean()) < 6 * math.sqrt(staircase.variance / count)


def test_every_small_integer_occurs_for_both_neighbours() -> None:
    """Each of them has a chance above 0.01 in 5,000 draws: any is missing with probability below 1e-18."""
    staircase = Staircase(5, 2, 0.5)
    seen = range(-11, 12)
    assert np.exp(staircase.log_mass(list(seen))).min() > 0.01
    for value in (0, 5, 10**15):
        assert set(seen) <= set(draw(staircase, 5_000, value).tolist())


def test_the_ends_of_the_middle_and_of_the_shells_are_hit_as_often_as_they_should() -> None:
    staircase, count = Staircase(7, 3, 1.0), 40_000
    sample = np.abs(draw(staircase, count))
    for end in (0, 2, 3, 9, 10, 16, 17):
        chance = math.exp(float(staircase.log_mass(end))) * (2 if end else 1)
        assert stats.binomtest(int((sample == end).sum()), count, chance).pvalue > ALPHA


@pytest.mark.parametrize("below", [3, 10, 2**37 - 1, 2**63 - 25])
def test_whole_numbers_are_uniform(below: int) -> None:
    sample = noise_module._draw_uniform(below, 100_000)
    assert sample.min() >= 0
    assert sample.max() < below
    parts = min(below, 50)
    observed = np.bincount([int(number) * parts // below for number in sample], minlength=parts)
    expected = [100_000 * _size(below, parts, part) / below for part in range(parts)]
    assert stats.chisquare(observed, expected).pvalue > ALPHA


def alike(lag: int, sample: Ints, staircase: Staircase) -> float:
    """Return the p-value of level and sign of draws being independent of those `lag` places on."""
    kinds = 2 * np.minimum(staircase.level(sample), 2) + (sample < 0)
    return independent(kinds, kinds[lag:])


@pytest.mark.parametrize("lag", [1, 2])
@pytest.mark.parametrize("staircase", [Staircase(5, 2, 0.5), choose_staircase(150_000, 1.0)])
def test_neighbouring_answers_have_independent_noise(staircase: Staircase, lag: int) -> None:
    assert alike(lag, draw(staircase, 40_000), staircase) > ALPHA


@pytest.mark.parametrize("shared", ["draw_words", "_draw_geometric"])
@pytest.mark.parametrize("staircase", [Staircase(5, 2, 0.5), choose_staircase(150_000, 1.0)])
def test_noise_that_neighbours_share_is_noticed(
    staircase: Staircase, shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = getattr(noise_module, shared)
    monkeypatch.setattr(noise_module, shared, lambda *options: pairs(exact(*options)))
    assert alike(1, draw.__wrapped__(staircase, 40_000), staircase) < ALPHA


def test_no_noise_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws agree with probability below 7e-12, so of 20,000 a pair does with 1.4e-3, but two only with 1e-6."""
    staircase = Staircase(2**36, 2**35, 1.0)
    assert math.exp(float(staircase.log_mass(0))) < 7e-12
    assert len(np.unique(draw(staircase, 20_000))) >= 20_000 - 1
    exact = noise_module.draw_words
    monkeypatch.setattr(noise_module, "draw_words", lambda count: pairs(exact(count)))
    assert len(np.unique(draw.__wrapped__(staircase, 20_000))) < 20_000 - 1000, "bits that are shared must be noticed"


def test_at_a_huge_epsilon_there_is_no_noise() -> None:
    assert not draw(choose_staircase(2**36, 1e9), 1000).any()


def _draw_in_worker(_: int) -> list[int]:
    return ExactNoise().add_staircase(np.zeros(50, dtype=np.int64), choose_staircase(2**36, 1.0)).tolist()


def test_forked_processes_never_share_noise() -> None:
    _draw_in_worker(0)  # a generator state that the children could inherit
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        first, second = pool.map(_draw_in_worker, range(2))
    assert first != second


def test_threads_never_share_noise() -> None:
    """Not one draw: two of 400 agree with probability below 6e-7 (see above), but often if they share their bits."""
    with ThreadPoolExecutor(4) as pool:
        samples = list(pool.map(_draw_in_worker, range(8)))
    assert len({drawn for sample in samples for drawn in sample}) == 400
