"""The installed sampler, tested for what the guarantee needs, with power.

False alarms: chi-square and binomial tests reject with probability ALPHA each; there are fewer than 40 of them, so that
a run of this file fails by chance with probability below 4e-5. Nothing is seeded.
"""

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.statistics.independence import independent, pairs
from tests.statistics.precision import ruled_out

from gridveil.privacy import noise as noise_module
from gridveil.privacy.noise import ExactNoise

ALPHA = 1e-6
DRAWS = 60_000
SCALES = (0.37, 1.0, 1.5, 3.3, 1000.0)
Ints = NDArray[np.int64]


def draw(scale: float, count: int = DRAWS, value: int = 0) -> Ints:
    return ExactNoise().add(np.full(count, value, dtype=np.int64), np.full(count, scale))


def bins(scale: float, draws: int) -> Ints:
    """Edges of whole-number bins that expect at least ten draws each under the scale."""
    reach = int(scale * math.log(draws / 40)) + 1
    return np.unique(np.linspace(-reach, reach + 1, min(2 * reach + 2, 61)).astype(np.int64))


def below(edge: Ints, scale: float) -> NDArray[np.float64]:
    """P(noise < edge) of the discrete Laplace."""
    q = math.exp(-1 / scale)
    edge = edge.astype(np.float64)
    return np.where(edge <= 0, q ** np.maximum(1 - edge, 0) / (1 + q), 1 - q ** np.maximum(edge, 0) / (1 + q))


def fit(sample: Ints, scale: float) -> float:
    """Return the p-value of a chi-square test with pooled tails."""
    edges = bins(scale, len(sample))
    observed = np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(edges) + 1)
    expected = len(sample) * np.diff(np.concatenate([[0.0], below(edges, scale), [1.0]]))
    while expected.min() < 10 and len(expected) > 2:
        expected = np.array([expected[:2].sum(), *expected[2:-2], expected[-2:].sum()])
        observed = np.array([observed[:2].sum(), *observed[2:-2], observed[-2:].sum()])
    assert expected.min() >= 10
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.parametrize("scale", SCALES)
def test_noise_follows_the_discrete_laplace_and_the_test_has_power(scale: float) -> None:
    sample = draw(scale)
    assert fit(sample, scale) > ALPHA
    assert fit(sample, 0.9 * scale) < ALPHA, "too much noise must be noticed"
    assert fit(sample, 1.1 * scale) < ALPHA, "too little noise must be noticed"


@pytest.mark.parametrize("scale", SCALES)
def test_noise_is_symmetric_and_has_the_right_mass_at_zero(scale: float) -> None:
    sample = draw(scale)
    q = math.exp(-1 / scale)
    above, under = int((sample > 0).sum()), int((sample < 0).sum())
    assert stats.binomtest(above, above + under, 0.5).pvalue > ALPHA
    assert stats.binomtest(int((sample == 0).sum()), DRAWS, (1 - q) / (1 + q)).pvalue > ALPHA


def test_successive_masses_fall_by_the_factor_the_loss_is_computed_from() -> None:
    scale = 2.0
    sample = np.abs(draw(scale))
    for k in range(1, 6):
        here, next_ = int((sample == k).sum()), int((sample == k + 1).sum())
        factor = math.exp(-1 / scale)
        assert stats.binomtest(next_, here + next_, factor / (1 + factor)).pvalue > ALPHA


def test_every_small_integer_occurs_for_both_neighbours() -> None:
    for value in (0, 1):
        assert set(range(-8, 9)) <= set(draw(1.0, value=value).tolist())


def test_answers_are_whole_numbers_whatever_the_true_value() -> None:
    """Finer answers would tell true values apart: tests/faults/test_noise.py runs the attack on numpy's noise."""
    for value in (0, 1140):
        answers = draw(1140 / 3, 1000, value)
        assert not ruled_out(answers, 1140).any(), "the precision attack finds out who was not there"
        assert answers.dtype == np.int64


def test_each_value_gets_noise_of_its_own_scale() -> None:
    scales = np.tile([0.001, 50.0], 2000)
    noisy = ExactNoise().add(np.zeros(4000, dtype=np.int64), scales)
    assert (noisy[::2] == 0).all()
    assert fit(noisy[1::2], 50.0) > ALPHA


MIXED = np.array([0.37, 3.3, 1000.0])
"""Scales that take turns in one call."""


def draw_mixed() -> Ints:
    """Return noise (round, scale), of answers whose true values tell them apart."""
    values = 10**6 * np.random.default_rng().permutation(60_000)
    noise = ExactNoise().add(values, np.tile(MIXED, 20_000)) - values
    return noise.reshape(-1, 3)


def alike(noise: Ints) -> dict[int, float]:
    """Return, for each lag in places, the least p-value of draws being independent of those `lag` places on."""
    kinds = ((noise >= 0) + 2 * (np.abs(noise) > MIXED)).ravel()
    return {lag: min(independent(kinds[turn::3], kinds[turn + lag :: 3]) for turn in range(3)) for lag in (1, 2, 3, 6)}


def test_answers_of_several_scales_keep_their_places_and_have_independent_noise() -> None:
    """Noise beyond 40 scales has probability below 1e-17: answers that changed places differ by 10**6."""
    noise = draw_mixed()
    assert (np.abs(noise) <= 40 * MIXED).all()
    for column, scale in zip(noise.T, MIXED, strict=True):
        assert fit(column, scale) > ALPHA
    assert min(alike(noise).values()) > ALPHA


def test_noise_that_answers_share_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    of_one = np.random.default_rng().laplace(0, 1, 20_000)
    shared_by_scales = {scale: np.rint(scale * of_one).astype(np.int64) for scale in MIXED.tolist()}
    shared_by_neighbours = {scale: pairs(draw(scale, 20_000)) for scale in MIXED.tolist()}
    for mutant, lag in ((shared_by_scales, 1), (shared_by_neighbours, 3)):
        with monkeypatch.context() as patched:
            patched.setattr(noise_module, "_measurement", lambda scale, noise=mutant: lambda true: true + noise[scale])
            assert alike(draw_mixed())[lag] < ALPHA


def test_no_noise_is_used_again() -> None:
    """Two draws of this scale agree with probability below 2**-50: any of 20,000 do with less than 2e-7."""
    assert len(np.unique(draw(2.0**49, 20_000))) == 20_000


def _draw_in_worker(_: int) -> list[int]:
    return draw(1e6, 50).tolist()


def test_forked_processes_never_share_noise() -> None:
    draw(1e6, 1)  # a generator state that the children could inherit
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        first, second = pool.map(_draw_in_worker, range(2))
    assert first != second


def test_threads_never_share_noise() -> None:
    with ThreadPoolExecutor(4) as pool:
        samples = list(pool.map(_draw_in_worker, range(8)))
    assert len({tuple(sample) for sample in samples}) == 8
