"""Exact discrete Laplace noise for many integers at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Ints

Words = NDArray[np.uint64]
Coins = NDArray[np.bool_]

VECTORISED_FROM = 2**16
"""From so many answers of one scale on, `ExactNoise.add` draws here, below with OpenDP.

OpenDP takes less than half a second for fewer; and what many people have looked at is used wherever it is fast enough.
"""

CHUNK = 2**17
"""Values drawn in one go: what is held for them is some 10 MB for each thread."""

THREADS = min(4, os.cpu_count() or 1)

WORDS = 2**64
"""How many equally likely values a random word has."""

MANY_SCALES = 2**10
"""Noise of so many whole scales is put together from Python's integers: 64 bits may not hold it."""

SIGN = np.uint64(2**63)


def add_discrete_laplace(values: Ints, scale: float) -> Ints:
    """Return each value of a flat array with fresh discrete Laplace noise of a scale (2**-50 to 2**50) added.

    Guarantee: the noise has `P(n) = (1 - q) / (1 + q) * q**|n|` for integer `n`, `q = exp(-1 / scale)`, exactly and
    independently for each value, if the operating system's random bits are fair and independent. Sums are cut off at
    the ends of int64, which is post-processing. What that means for privacy is said in `ExactNoise`.

    The method is Algorithms 1 and 2 of Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy
    (2020). All of it is whole numbers; the scale enters as the fraction `t / s` that its float stands for
    (`to_fraction`), with `s = 2**shift`.

    One attempt (`draw_candidates`): `U` uniform on `0 .. t - 1` is kept with probability `exp(-U / t)`, so that
    `P(U = u)` is then proportional to `exp(-u / t)`. `V` has `P(V = v)` proportional to `exp(-v)`. Every integer
    `x >= 0` is `u + t * v` in just one way, so `X = U + t * V` has `P(x)` proportional to `exp(-x / t)`. `X // s = y`
    for the `s` integers from `s * y` on: `P(y)` is proportional to `exp(-s * y / t)`, that is `q**y`. A fair sign,
    and minus zero being thrown away, leave every integer `n` once, with `q**|n|`.

    Coins with `exp(-g)`, `0 <= g <= 1` (`toss_exponential_coins`): round `k = 1, 2, ...` is passed with probability
    `g / k`, so rounds 1 to `k` are all passed with `g**k / k!`, and the first that is not passed is `K = k` with
    `g**(k-1) / (k-1)! - g**k / k!`. Added up over odd `k` this is the series of `exp(-g)`: the coin shows true if `K`
    is odd. Here `g` is `u / t` or 1, and a round takes two independent coins, one of `1 / k` and one of `u / t`:
    `t * k` is never formed, so nothing overflows however many rounds there are.

    Coins with `chance / of` (`toss_coins`), and uniform numbers (`draw_uniform`): with `share = 2**64 // of`, words
    from `share * of` on are drawn again, and the others are `of` runs of `share` equally likely words. The coin asks
    for the first `chance` runs, the number is the place of the run. `of` is at least 2 (`t` is at least 2**52), so
    `share` is below 2**64; `chance` is below `of`, so `chance * share` is, too.

    Many at once: attempts are independent and alike, each array of words is drawn for one decision of its own and
    dropped, and whether a value goes on to its next decision is for its own coins to say. A round of attempts makes as
    many as are still missing, so none that succeeds is left out; those that succeed are taken in their order. How many
    rounds there are depends on which attempts failed, and not on the noise of those that succeeded.

    Large numbers: `t < 2**53`, so `X < 2**63` while `V < MANY_SCALES`, and a shift by 63 or more makes zero of it
    either way. Larger `V`, of probability `exp(-MANY_SCALES)`, are put together from Python's integers
    (`combine_magnitudes`), and cut off at 2**64 - 1, which takes any int64 to its end. `add_saturating` counts from the
    lowest int64: moving up by at most what is left above, or down by at most what is below, is the sum cut off, and
    never wraps.

    Randomness: `os.urandom` alone, the operating system's generator (ChaCha20 on Linux). It waits until that has been
    seeded and raises where there is none. Nobody who cannot break it can tell its bits from fair and independent ones.
    What it raises in a thread is raised here, and nothing is returned; the kernel has charged for it all the same.
    There is no seed, no buffer and no state that outlives a decision: threads have nothing to share but the
    arrays, of which each chunk reads and writes its own slice, and a forked process has nothing to inherit.

    Timing depends on the number of values, the scale and the noise: values are only looked at in `add_saturating`,
    which does the same whatever they are.
    """
    t, shift = to_fraction(scale)
    answers = np.empty_like(values)

    def add(start: int) -> None:
        part = slice(start, start + CHUNK)
        answers[part] = add_saturating(values[part], *draw(t, shift, len(values[part])))

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(add, range(0, len(values), CHUNK)):
            pass  # what failed in a thread is raised here, and cancels the chunks that have not begun
    return answers


def to_fraction(scale: float) -> tuple[int, int]:
    """Return `(t, shift)` with `t / 2**shift` equal to the scale and `2**52 <= t < 2**53`."""
    numerator, denominator = scale.as_integer_ratio()
    lift = 53 - numerator.bit_length()
    return numerator << lift, denominator.bit_length() - 1 + lift


def draw(t: int, shift: int, count: int) -> tuple[Words, Coins]:
    """Return the sizes of discrete Laplace noise of scale `t / 2**shift`, and which of them are negative."""
    sizes, negative = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.bool_)
    done = 0
    while done < count:
        size, minus = draw_candidates(t, shift, count - done)
        part = slice(done, done + len(size))
        sizes[part], negative[part] = size, minus
        done = part.stop
    return sizes, negative


def draw_candidates(t: int, shift: int, count: int) -> tuple[Words, Coins]:
    """Return sizes and signs of those of `count` attempts that succeed, in their order."""
    remainders = draw_uniform(t, count)
    remainders = remainders[toss_exponential_coins(count, (remainders, t))]
    sizes = combine_magnitudes(remainders, draw_geometric(len(remainders)), t, shift)
    negative = toss_coins(np.uint64(1), 2, len(sizes))
    once = ~(negative & (sizes == 0))  # zero has one sign
    return sizes[once], negative[once]


def combine_magnitudes(remainders: Words, wholes: Words, t: int, shift: int) -> Words:
    """Return `(remainder + t * whole) // 2**shift`, but at most 2**64 - 1."""
    sizes = (remainders + np.uint64(t) * wholes) >> np.uint64(min(shift, 63))
    for i in np.flatnonzero(wholes >= MANY_SCALES):
        sizes[i] = min((int(remainders[i]) + t * int(wholes[i])) >> shift, 2**64 - 1)
    return sizes


def draw_geometric(count: int) -> Words:
    """Return whole numbers `v` with probabilities `(1 - 1/e) * exp(-v)`: successes before the first failure."""
    successes = np.zeros(count, dtype=np.uint64)
    active = np.arange(count)
    while len(active):
        active = active[toss_exponential_coins(len(active))]
        successes[active] += np.uint64(1)
    return successes


def toss_exponential_coins(count: int, of: tuple[Words, int] | None = None) -> Coins:
    """Return coins that show true with probability `exp(-u / t)`, for each `u` and the `t` of `of`; else `exp(-1)`."""
    shown = np.ones(count, dtype=np.bool_)
    active = np.arange(count)
    k = 0
    while len(active):
        k += 1
        if k > 1:
            active = active[toss_coins(np.uint64(1), k, len(active))]
        if of is not None:
            u, t = of
            active = active[toss_coins(u[active], t, len(active))]
        shown[active] = k % 2 == 0
    return shown


def toss_coins(chance: np.uint64 | Words, of: int, count: int) -> Coins:
    """Return coins that show true with probability `chance / of`; `chance < of`."""
    share = WORDS // of
    return np.asarray(draw_words_below(share * of, count) < chance * np.uint64(share))


def draw_uniform(below: int, count: int) -> Words:
    """Return whole numbers from 0 to `below - 1`, equally likely."""
    share = WORDS // below
    return np.asarray(draw_words_below(share * below, count) // np.uint64(share))


def draw_words_below(limit: int, count: int) -> Words:
    """Return words from 0 to `limit - 1`, equally likely: those beyond are drawn again."""
    words = draw_words(count)
    while len(beyond := np.flatnonzero(words > np.uint64(limit - 1))):
        words[beyond] = draw_words(len(beyond))
    return words


def draw_words(count: int) -> Words:
    """Return 64 random bits each from the operating system."""
    return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


def add_saturating(values: Ints, sizes: Words, negative: Coins) -> Ints:
    """Return `value + size`, or `value - size` where negative, cut off at the ends of int64."""
    place = values.view(np.uint64) ^ SIGN  # how far above the lowest int64
    moved = np.where(negative, place - np.minimum(sizes, place), place + np.minimum(sizes, ~place))
    return np.asarray((moved ^ SIGN).view(np.int64))
