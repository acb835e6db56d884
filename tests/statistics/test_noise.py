"""Both samplers of Laplace noise, the installed one and our own, tested for what the guarantee needs, with power.

Which of them draws depends on the number of answers of a scale: FEW are drawn by OpenDP, MANY by gridveil.

False alarms: chi-square and binomial tests reject with probability ALPHA each; there are fewer than 120 of them, so
that a run of this file fails by chance with probability below 1e-6. Nothing is seeded.
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

from gridveil.trusted.kernel import discrete_laplace
from gridveil.trusted.kernel import noise as noise_module
from gridveil.trusted.kernel.discrete_laplace import CHUNK, VECTORISED_FROM
from gridveil.trusted.kernel.noise import ExactNoise

ALPHA = 5e-9
FEW, MANY = 60_000, 4 * CHUNK
SCALES = (0.37, 1.0, 1.5, 3.3, 1000.0)
LARGE_SCALES = (333.3, 7e4, 1e6 / 3, 2.0**50)
Ints = NDArray[np.int64]

SAMPLERS = ["OpenDP", "gridveil"]
of_both_samplers = pytest.mark.parametrize("count", [FEW, MANY], ids=SAMPLERS)
fewer_of_both = pytest.mark.parametrize("count", [2_000, VECTORISED_FROM], ids=SAMPLERS)


def test_few_answers_are_drawn_by_one_sampler_and_many_by_the_other() -> None:
    assert FEW < VECTORISED_FROM <= MANY


def draw(scale: float, count: int = FEW, value: int = 0) -> Ints:
    return ExactNoise().add(np.full(count, value, dtype=np.int64), np.full(count, scale))


def bins(scale: float, draws: int) -> Ints:
    """Edges of whole-number bins that expect at least ten draws each under the scale."""
    reach = int(scale * math.log(draws / 40)) + 1
    return np.unique(np.linspace(-reach, reach + 1, min(2 * reach + 2, 61)).astype(np.int64))


def below(edge: Ints, scale: float) -> NDArray[np.float64]:
    """P(noise < edge) of the discrete Laplace."""
    edge, twice = edge.astype(np.float64), 1 + math.exp(-1 / scale)
    under, above = (np.exp(-np.maximum(distance, 0) / scale) / twice for distance in (1 - edge, edge))
    return np.where(edge <= 0, under, 1 - above)


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


@of_both_samplers
@pytest.mark.parametrize("scale", SCALES + LARGE_SCALES)
def test_noise_follows_the_discrete_laplace_and_the_test_has_power(scale: float, count: int) -> None:
    sample = draw(scale, count)
    assert fit(sample, scale) > ALPHA
    assert fit(sample, 0.9 * scale) < ALPHA, "too much noise must be noticed"
    assert fit(sample, 1.1 * scale) < ALPHA, "too little noise must be noticed"


@of_both_samplers
@pytest.mark.parametrize("scale", SCALES)
def test_noise_is_symmetric_and_has_the_right_mass_at_zero(scale: float, count: int) -> None:
    sample = draw(scale, count)
    q = math.exp(-1 / scale)
    above, under = int((sample > 0).sum()), int((sample < 0).sum())
    assert stats.binomtest(above, above + under, 0.5).pvalue > ALPHA
    assert stats.binomtest(int((sample == 0).sum()), count, (1 - q) / (1 + q)).pvalue > ALPHA
    even = (1 + q**2) / (1 + q) ** 2
    assert stats.binomtest(int((sample % 2 == 0).sum()), count, even).pvalue > ALPHA


@of_both_samplers
def test_successive_masses_fall_by_the_factor_the_loss_is_computed_from(count: int) -> None:
    scale = 2.0
    sample = np.abs(draw(scale, count))
    for k in range(1, 6):
        here, next_ = int((sample == k).sum()), int((sample == k + 1).sum())
        factor = math.exp(-1 / scale)
        assert stats.binomtest(next_, here + next_, factor / (1 + factor)).pvalue > ALPHA


@of_both_samplers
def test_low_bits_of_large_noise_are_uniform(count: int) -> None:
    """Of scale 1e6, the 256 remainders are equally likely but for one part in a million."""
    assert stats.chisquare(np.bincount(draw(1e6, count) % 256, minlength=256)).pvalue > ALPHA


@of_both_samplers
def test_every_small_integer_occurs_for_both_neighbours(count: int) -> None:
    """The least likely has a chance of 8e-4: it is missing with probability below 1e-20."""
    for value in (0, 1):
        assert set(range(-8, 9)) <= set(draw(1.5, count, value).tolist())


@fewer_of_both
def test_answers_are_whole_numbers_whatever_the_true_value(count: int) -> None:
    """Finer answers would tell true values apart: tests/faults/test_noise.py runs the attack on numpy's noise."""
    for value in (0, 1140):
        answers = draw(1140 / 3, count, value)
        assert not ruled_out(answers, 1140).any(), "the precision attack finds out who was not there"
        assert answers.dtype == np.int64


@fewer_of_both
def test_each_value_gets_noise_of_its_own_scale(count: int) -> None:
    scales = np.tile([0.001, 50.0], count)
    noisy = ExactNoise().add(np.zeros(2 * count, dtype=np.int64), scales)
    assert (noisy[::2] == 0).all()
    assert fit(noisy[1::2], 50.0) > ALPHA


@fewer_of_both
def test_sums_are_cut_off_at_the_ends_of_the_integers(count: int) -> None:
    """Half of the noise would lead beyond. A sum that came back from the other end would be far away."""
    for end, inwards in ((2**63 - 1, -1), (-(2**63), 1)):
        answers = draw(2.0**50, count, end)
        assert stats.binomtest(int((answers == end).sum()), count, 0.5).pvalue > ALPHA
        assert (np.sign(answers) == -inwards).all()


MIXED = np.array([0.37, 3.3, 1000.0])
"""Scales that take turns in one call."""


def draw_mixed(count: int = FEW) -> Ints:
    """Return noise (round, scale), of answers whose true values tell them apart."""
    rounds = 20_000 if count == FEW else count // 4
    values = 10**6 * np.random.default_rng().permutation(3 * rounds)
    noise = ExactNoise().add(values, np.tile(MIXED, rounds)) - values
    return noise.reshape(-1, 3)


def alike(noise: Ints) -> dict[int, float]:
    """Return, for each lag in places, the least p-value of draws being independent of those `lag` places on."""
    kinds = ((noise >= 0) + 2 * (np.abs(noise) > MIXED)).ravel()
    return {lag: min(independent(kinds[turn::3], kinds[turn + lag :: 3]) for turn in range(3)) for lag in (1, 2, 3, 6)}


@of_both_samplers
def test_answers_of_several_scales_keep_their_places_and_have_independent_noise(count: int) -> None:
    """Noise beyond 45 scales has probability below 1e-19: answers that changed places differ by 10**6."""
    noise = draw_mixed(count)
    assert (np.abs(noise) <= 45 * MIXED).all()
    for column, scale in zip(noise.T, MIXED, strict=True):
        assert fit(column, scale) > ALPHA
    assert min(alike(noise).values()) > ALPHA


def test_noise_that_answers_share_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    of_one = np.random.default_rng().laplace(0, 1, 20_000)
    shared_by_scales = {scale: np.rint(scale * of_one).astype(np.int64) for scale in MIXED.tolist()}
    shared_by_neighbours = {scale: pairs(draw(scale, 20_000)) for scale in MIXED.tolist()}
    for mutant, lag in ((shared_by_scales, 1), (shared_by_neighbours, 3)):
        with monkeypatch.context() as patched:
            patched.setattr(
                noise_module, "_make_opendp_laplace", lambda scale, noise=mutant: lambda true: true + noise[scale]
            )
            assert alike(draw_mixed())[lag] < ALPHA


SERIES = 333.3
LAGS = (1, 2, CHUNK)
"""Neighbours, and the same places of neighbouring chunks."""


def serially_alike(sample: Ints) -> dict[int, float]:
    """Return, for each lag, the p-value of sign, size and parity of draws being independent of those places on."""
    kinds = (sample < 0) + 2 * (np.abs(sample) > SERIES) + 4 * (sample & 1)
    return {lag: independent(kinds, kinds[lag:]) for lag in LAGS if lag < len(sample)}


@of_both_samplers
def test_noise_of_one_scale_is_independent_between_neighbours_and_chunks(count: int) -> None:
    assert min(serially_alike(draw(SERIES, count)).values()) > ALPHA


def test_noise_that_neighbours_or_chunks_share_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = draw(SERIES, MANY)
    assert serially_alike(pairs(sample))[1] < ALPHA
    assert serially_alike(np.tile(sample[:CHUNK], 4))[CHUNK] < ALPHA
    exact = discrete_laplace.draw_words
    monkeypatch.setattr(discrete_laplace, "draw_words", lambda count: pairs(exact(count)))
    assert serially_alike(draw(SERIES, MANY))[1] < ALPHA, "words that neighbours share must be noticed"


def both_alike(scale: float, by: float = 1) -> float:
    """Return the p-value of the two samplers, ours with another scale, having drawn from one distribution."""
    few, many = draw(scale, FEW), draw(by * scale, MANY)
    edges = bins(scale, FEW // 2)
    counts = [np.bincount(np.searchsorted(edges, sample, side="right")) for sample in (few, many)]
    return float(stats.chi2_contingency(counts, correction=False).pvalue)


@pytest.mark.parametrize("scale", [1.0, 333.3])
def test_the_samplers_draw_from_one_distribution(scale: float) -> None:
    assert both_alike(scale) > ALPHA
    assert both_alike(scale, by=0.9) < ALPHA


@of_both_samplers
def test_no_noise_is_used_again(count: int) -> None:
    """Two draws agree with probability 2**-52: of the most that are drawn, a pair does with 4e-5, two with 1e-9."""
    assert len(np.unique(draw(2.0**50, count))) >= count - 1


def _draw_in_worker(count: int) -> list[int]:
    return draw(2.0**50, count).tolist()


@fewer_of_both
def test_forked_processes_never_share_noise(count: int) -> None:
    """False alarms: as above, of fewer draws."""
    drawn = set(_draw_in_worker(count))  # a generator state that the children could inherit
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        for sample in pool.map(_draw_in_worker, [count] * 2):
            drawn |= set(sample)
    assert len(drawn) >= 3 * count - 1


@fewer_of_both
def test_threads_never_share_noise(count: int) -> None:
    """False alarms: as above, of as many draws."""
    with ThreadPoolExecutor(4) as pool:
        samples = list(pool.map(_draw_in_worker, [count] * 8))
    assert len({drawn for sample in samples for drawn in sample}) >= 8 * count - 1
