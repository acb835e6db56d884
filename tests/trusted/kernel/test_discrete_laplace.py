"""The vectorised sampler, exactly: its decisions are enumerated, and probabilities are compared as fractions.

`toss_coins` and `draw_uniform` are all that the sampler takes from random words: they are tested on every word of a
small range. Each function above them is run on every way that the decisions of those below it can go, until what is
left is next to impossible.
"""

import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridveil.trusted.kernel import discrete_laplace, noise
from gridveil.trusted.kernel.discrete_laplace import CHUNK, MANY_SCALES, THREADS, VECTORISED_FROM, to_fraction
from gridveil.trusted.kernel.noise import ExactNoise

Words = NDArray[np.uint64]
Outcome = TypeVar("Outcome")


@given(st.floats(2.0**-50, 2.0**50))
def test_a_scale_is_taken_for_exactly_the_fraction_that_it_is(scale: float) -> None:
    t, shift = to_fraction(scale)
    assert Fraction(t, 2**shift) == Fraction(scale)
    assert 2**52 <= t < 2**53


class Words64:
    """Hands out words that were written down, and remembers how many were asked for at a time."""

    def __init__(self, *batches: list[int]) -> None:
        self.batches = iter(batches)
        self.asked: list[int] = []

    def __call__(self, count: int) -> Words:
        self.asked.append(count)
        batch = next(self.batches)
        assert len(batch) == count, "words are drawn again one for one"
        return np.array(batch, dtype=np.uint64)


SMALL = [(words, of) for words in (8, 12, 13) for of in range(2, 8)]


@pytest.mark.parametrize(("words", "of"), SMALL)
def test_each_of_all_words_leads_to_a_coin_or_number_with_the_exact_chance(
    words: int, of: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discrete_laplace, "WORDS", words)
    kept = words // of * of
    beyond = words - kept
    again = [list(range(kept, words)), [0] * beyond] if beyond else []  # beyond once more, and then the least word
    for chance in range(of):
        source = Words64(list(range(words)), *again)
        monkeypatch.setattr(discrete_laplace, "draw_words", source)
        shown = discrete_laplace.toss_coins(np.uint64(chance), of, words)
        assert Fraction(int(shown[:kept].sum()), kept) == Fraction(chance, of)
        assert (shown[kept:] == (chance > 0)).all()
        assert source.asked == [words, *(len(batch) for batch in again)]
    monkeypatch.setattr(discrete_laplace, "draw_words", Words64(list(range(words)), *again))
    numbers = discrete_laplace.draw_uniform(of, words)
    assert np.bincount(numbers[:kept]).tolist() == [kept // of] * of
    assert not numbers[kept:].any()


@pytest.mark.parametrize("of", [2, 3, 10, 2**52, 2**52 + 1, 2**53 - 1])
def test_words_of_full_length_change_the_outcome_where_they_should(of: int, monkeypatch: pytest.MonkeyPatch) -> None:
    share = 2**64 // of
    for chance in (1, of // 2, of - 1):
        batches = [[0, chance * share - 1, chance * share, share * of - 1]]
        monkeypatch.setattr(discrete_laplace, "draw_words", Words64(*batches))
        shown = discrete_laplace.toss_coins(np.full(4, chance, dtype=np.uint64), of, 4)
        assert shown.tolist() == [True, True, False, False]
        monkeypatch.setattr(discrete_laplace, "draw_words", Words64(*batches))
        assert discrete_laplace.draw_uniform(of, 4).tolist() == [0, chance - 1, chance, of - 1]
    if share * of < 2**64:
        monkeypatch.setattr(discrete_laplace, "draw_words", Words64([share * of, 2**64 - 1], [share, 0]))
        assert discrete_laplace.draw_uniform(of, 2).tolist() == [1, 0]


class Unfinished(Exception):  # noqa: N818  # not an error: there is more to enumerate
    """More decisions are needed than were written down. Its argument: the outcomes that the next one can have."""


class Decisions:
    """Makes the decisions that were written down, and multiplies their chances.

    Stands for the functions of the sampler that bear the names of its methods.
    """

    def __init__(self, outcomes: tuple[int, ...]) -> None:
        self.left = iter(outcomes)
        self.chance = Fraction(1)

    def decide(self, chances: list[Fraction]) -> int:
        outcome = next(self.left, None)
        if outcome is None:
            raise Unfinished([i for i, chance in enumerate(chances) if chance])
        self.chance *= chances[outcome]
        return outcome

    def toss(self, chances: list[Fraction]) -> NDArray[np.bool_]:
        assert all(0 <= chance <= 1 for chance in chances)
        return np.array([self.decide([1 - chance, chance]) for chance in chances], dtype=np.bool_)

    def toss_coins(self, chance: "np.uint64 | Words", of: int, count: int) -> NDArray[np.bool_]:
        return self.toss([Fraction(int(part), of) for part in np.broadcast_to(chance, count)])

    def draw_uniform(self, below: int, count: int) -> Words:
        return np.array([self.decide([Fraction(1, below)] * below) for _ in range(count)], dtype=np.uint64)

    def toss_exponential_coins(self, count: int, of: tuple[Words, int] | None = None) -> NDArray[np.bool_]:
        """As if `exp(-1 / t)` were ROOT, so that chances are fractions; or `exp(-1)`, where no `t` is given."""
        return self.toss([ROOT] * count if of is None else [ROOT ** int(u) for u in of[0]])

    def draw_geometric(self, count: int) -> Words:
        """As if `exp(-1)` were `ROOT**T`, and numbers ended at MOST."""
        chances = [(1 - ROOT**T) * ROOT ** (T * v) for v in range(MOST + 1)]
        return np.array([self.decide(chances) for _ in range(count)], dtype=np.uint64)

    def draw_candidates(self, t: int, shift: int, count: int) -> tuple[Words, NDArray[np.bool_]]:
        """One attempt fails, or gives 1, or gives -2."""
        assert (t, shift) == (T, 1)
        kinds = [self.decide([Fraction(1, 8), Fraction(5, 8), Fraction(1, 4)]) for _ in range(count)]
        made = [kind for kind in kinds if kind]
        return np.array(made, dtype=np.uint64), np.array([size == 2 for size in made], dtype=np.bool_)


ROOT, T, MOST = Fraction(2, 3), 5, 6


def no_words(count: int) -> Words:
    msg = f"{count} words are drawn past the decisions"
    raise AssertionError(msg)


def enumerate_all(run: Callable[[], Outcome], *stand_ins: str, least: float) -> tuple[dict[Outcome, Fraction], float]:
    """Return the chance of every outcome of a run, but for branches less likely than `least`, and theirs together."""
    found: dict[Outcome, Fraction] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(discrete_laplace, "draw_words", no_words)
        waiting: list[tuple[int, ...]] = [()]
        while waiting:
            outcomes = waiting.pop()
            decisions = Decisions(outcomes)
            for name in stand_ins:
                patched.setattr(discrete_laplace, name, getattr(decisions, name))
            try:
                outcome = run()
            except Unfinished as more:
                if decisions.chance >= least:
                    waiting += [(*outcomes, following) for following in more.args[0]]
            else:
                assert next(decisions.left, None) is None
                found[outcome] = found.get(outcome, Fraction(0)) + decisions.chance
    return found, float(1 - sum(found.values()))


def exponential(u: int | None, t: int, *, shown: bool) -> float:
    true = math.exp(-1 if u is None else -u / t)
    return true if shown else 1 - true


@pytest.mark.parametrize(("u", "t"), [((0,), 2), ((1,), 2), ((1, 2), 3), ((4,), 5), ((None,), 0), ((None, None), 0)])
def test_coins_of_powers_of_e_have_the_chance_of_the_series(u: tuple[int | None, ...], t: int) -> None:
    """Of two at once, the chances of both together."""
    of = None if None in u else (np.array(u, dtype=np.uint64), t)

    def toss() -> tuple[bool, ...]:
        return tuple(discrete_laplace.toss_exponential_coins(len(u), of).tolist())

    found, left = enumerate_all(toss, "toss_coins", least=1e-8)
    assert 0 <= left < 1e-4
    assert len(found) == (1 if u == (0,) else 2 ** len(u))
    for coins, seen in found.items():
        chance = math.prod(exponential(part, t, shown=shown) for part, shown in zip(u, coins, strict=True))
        assert seen <= chance * (1 + 1e-12)
        assert chance <= (seen + left) * (1 + 1e-12)


def test_successes_before_a_failure_have_exactly_the_chance_of_their_coins() -> None:
    found, left = enumerate_all(
        lambda: tuple(discrete_laplace.draw_geometric(2).tolist()), "toss_exponential_coins", least=1e-3
    )
    assert 0 < left < 0.1
    assert len(found) > 20
    for (first, second), chance in found.items():
        assert chance == ROOT ** (first + second) * (1 - ROOT) ** 2


@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_an_attempt_has_exactly_the_chances_of_the_discrete_laplace(shift: int) -> None:
    """With ROOT for `exp(-1 / t)`: `P(n)` is proportional to `ROOT**(s * |n|)`, which is `exp(-|n| * s / t)`."""

    def attempt() -> int | None:
        sizes, negative = discrete_laplace.draw_candidates(T, shift, 1)
        return int(sizes[0]) * (-1 if negative[0] else 1) if len(sizes) else None

    found, _ = enumerate_all(attempt, "draw_uniform", "toss_exponential_coins", "draw_geometric", "toss_coins", least=0)
    s = 2**shift
    zero = (1 - ROOT**T) / T * (1 - ROOT**s) / (1 - ROOT) / 2
    reach = (T * (MOST + 1)) // s - 1  # beyond, some of the numbers that lead there have been left out
    assert reach >= 3
    for n in range(-reach, reach + 1):
        assert found[n] == zero * ROOT ** (s * abs(n))


def test_those_attempts_that_succeed_are_taken_as_they_come() -> None:
    """Two answers are independent, and have the chances that an attempt has if it succeeds."""

    def both() -> tuple[int, ...]:
        sizes, negative = discrete_laplace.draw(T, 1, 2)
        return tuple(np.where(negative, -sizes.astype(np.int64), sizes.astype(np.int64)).tolist())

    found, left = enumerate_all(both, "draw_candidates", least=1e-9)
    assert 0 < left < 1e-8
    one = {1: Fraction(5, 7), -2: Fraction(2, 7)}
    for (first, second), seen in found.items():
        assert seen < one[first] * one[second] <= seen + Fraction(left) * 2


EDGES = st.sampled_from(
    [0, 1, MANY_SCALES - 2, MANY_SCALES - 1, MANY_SCALES, MANY_SCALES + 1, 2**20, 2**40]
) | st.integers(0, 2 * MANY_SCALES)


ONE, LONG = 1.0, [(5, 2**12), (5, 2**12 - 1)]
"""A scale, and parts of a size that has 65 bits before it is divided, and of one that has 64."""


@example(scale=ONE, parts=LONG)
@given(scale=st.floats(2.0**-50, 2.0**50), parts=st.lists(st.tuples(st.integers(0, 2**52 - 1), EDGES), max_size=5))
def test_sizes_are_those_of_whole_numbers_of_any_length(scale: float, parts: list[tuple[int, int]]) -> None:
    t, shift = to_fraction(scale)
    remainders, wholes = np.array(parts, dtype=np.uint64).reshape(-1, 2).T
    expected = [min((u + t * v) // 2**shift, 2**64 - 1) for u, v in parts]
    assert discrete_laplace.combine_magnitudes(remainders, wholes, t, shift).tolist() == expected


ENDS = st.sampled_from([-(2**63), 1 - 2**63, -1, 0, 1, 2**63 - 2, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
SIZES = st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]) | st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(ENDS, SIZES, st.booleans()), min_size=1, max_size=5))
def test_sums_are_those_of_whole_numbers_cut_off(parts: list[tuple[int, int, bool]]) -> None:
    values, sizes, negative = zip(*parts, strict=True)
    added = discrete_laplace.add_saturating(
        np.array(values, dtype=np.int64), np.array(sizes, dtype=np.uint64), np.array(negative)
    )
    sums = [value + (-size if minus else size) for value, size, minus in parts]
    assert added.tolist() == [max(-(2**63), min(total, 2**63 - 1)) for total in sums]


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, 2 * CHUNK + 1])
def test_values_keep_their_places_in_chunks_of_any_length(count: int) -> None:
    """Noise of scale 2**-50 is zero but with probability exp(-2**50)."""
    values = np.arange(count) * 10**6
    np.testing.assert_array_equal(discrete_laplace.add_discrete_laplace(values, 2.0**-50), values)
    assert np.abs(discrete_laplace.add_discrete_laplace(values, 1.0) - values).max() < 100


def test_without_random_bits_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    real = discrete_laplace.os.urandom
    calls = iter(range(100))

    def urandom(count: int) -> bytes:
        if next(calls, None) is None:
            msg = "no random bits"
            raise OSError(msg)
        return real(count)

    monkeypatch.setattr(discrete_laplace.os, "urandom", urandom)
    with pytest.raises(OSError, match="no random bits"):
        ExactNoise().add(np.zeros(20 * CHUNK, dtype=np.int64), np.full(20 * CHUNK, 3.0))


@pytest.mark.parametrize(
    ("count", "scale", "sampler"),
    [
        (VECTORISED_FROM - 1, 3.0, "OpenDP"),
        (VECTORISED_FROM, 3.0, "gridveil"),
        (VECTORISED_FROM, 2.0**-50, "gridveil"),
        (VECTORISED_FROM, 2.0**50, "gridveil"),
        (VECTORISED_FROM, 2.0**51, "OpenDP"),
    ],
)
def test_what_draws_depends_on_number_and_scale_alone(
    count: int, scale: float, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "add_discrete_laplace", lambda values, scale: values + int(scale) + 1)
    monkeypatch.setattr(
        noise, "_make_opendp_laplace", lambda scale: lambda values: [-value - int(scale) for value in values]
    )
    draws = {"gridveil": lambda values: values + int(scale) + 1, "OpenDP": lambda values: -values - int(scale)}
    values = np.arange(count).reshape(1, -1)
    np.testing.assert_array_equal(ExactNoise().add(values, np.full((1, count), scale)), draws[sampler](values))
    turns = np.where(np.arange(2 * count) % 2, scale, 7.0)
    answers = ExactNoise().add(np.arange(2 * count), turns)
    np.testing.assert_array_equal(answers[1::2], draws[sampler](np.arange(1, 2 * count, 2)))


def test_a_scale_that_is_broadcast_to_half_a_billion_answers_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "add_discrete_laplace", lambda values, scale: values[: int(scale)])
    true, scales = (np.broadcast_to(one, (2, 5_000, 5_000)) for one in (np.int64(1), 50_000_000.0))
    tracemalloc.start()
    answers = ExactNoise().add(true, scales)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answers.shape == true.shape
    assert peak < 10**6


def test_memory_beside_the_answers_is_that_of_a_chunk_for_each_thread() -> None:
    true = np.broadcast_to(np.int64(0), 8 * CHUNK)
    tracemalloc.start()
    discrete_laplace.add_discrete_laplace(true, 1e6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < true.nbytes + THREADS * 128 * CHUNK
