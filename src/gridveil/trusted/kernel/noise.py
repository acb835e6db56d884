"""The only place where noise is drawn."""

from __future__ import annotations

import math
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Ints
from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.kernel.account import ROUNDING
from gridveil.trusted.kernel.discrete_laplace import VECTORISED_FROM, add_discrete_laplace, draw_words
from gridveil.trusted.kernel.staircase import Staircase

# Noise of a larger scale would reach the limits of int64, where it is cut off; one of a smaller scale is zero in
# practice, and on the way to numbers that floats no longer hold with full precision.
LARGEST_SCALE = 2.0**50
SMALLEST_SCALE = 2.0**-50

BLOCK = 2**21
"""Answers of several scales are sorted by scale so many at a time: half a billion of them would not fit twice."""

LARGEST_ANSWER = 2**62
"""Answers with staircase noise are cut off here."""

SETTINGS = "OPENSSL_CONF"
AT_SECURE = 23
DEFAULT_SETTINGS = Path("/usr/local/ssl/openssl.cnf")
"""The file that OpenDP's OpenSSL obeys if the environment variable names no other."""


def check_scales(scales: NDArray[np.float64]) -> None:
    """Refuse noise that the sampler or the accounting could not represent."""
    # One of those that are the same in memory (a stride of 0) stands for all: there may be as many as the cube has.
    scales = scales[tuple(slice(None) if stride else slice(1) for stride in scales.strides)]
    if not (scales <= LARGEST_SCALE).all():
        msg = f"noise of scale {scales.max():.3g} Wh does not fit 64-bit integers: raise epsilon or lower the bounds"
        raise BudgetError(msg, code="noise-too-large")
    if not (scales >= SMALLEST_SCALE).all():
        msg = f"noise of scale {scales.min():.3g} Wh is none at all: lower epsilon"
        raise BudgetError(msg, code="noise-too-small")


class Noise(Protocol):
    """Adds noise to exact integer answers. Only `ExactNoise` is taken for private; others are for tests."""

    def add(self, values: Ints, scales: NDArray[np.float64]) -> Ints:
        """Return each value with fresh Laplace noise of its own scale added."""

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return each value with fresh staircase noise added."""


class ExactNoise:
    """Discrete Laplace and staircase noise on 64-bit integers, exact, from cryptographic generators.

    Randomness: the guarantees below are for ideal random bits. OpenDP takes its bits from OpenSSL's generator (AES-256
    in counter mode, seeded by the operating system: `_start_generator`), `draw_words` asks the operating system
    itself (ChaCha20 on Linux). With these, the guarantees are computational (Mironov et al. 2009): they hold against
    everyone who cannot break AES-256 or ChaCha20.

    Guarantee of `add`: adding noise of scale `b` to an integer makes the log-probability
    of any answer move by at most `d / b` when the integer moves by `d`, and independent answers add up. The noise has
    `P(k) = (1 - q) / (1 + q) * q**|k|` with `q = exp(-1/b)` for integer `k`, so
    `|log P(y - x) - log P(y - x')| = ||y - x| - |y - x'|| / b <= |x - x'| / b`.
    No floating-point number takes part in drawing or adding it, `b` enters as the exact rational that its float
    stands for, and there is no seed to set. Sums are cut off at the ends of int64: post-processing.
    From `VECTORISED_FROM` answers of one scale on the noise is drawn by `add_discrete_laplace`, whose docstring has the
    argument for this distribution, otherwise by OpenDP. Both follow Canonne, Kamath and Steinke (2020), and the same
    tests are run on both; which of them is used depends on public numbers alone.
    (Of several scales in one call, answers are counted in blocks of `BLOCK`.)

    Guarantee of `add_staircase`: the log-probability of any answer moves by at most
    `epsilon * (1 + 2**-52) * ceil(d / delta)` when the integer moves by `d`, and independent answers add up.
    The noise is in the middle or in a shell by one toss of a coin whose chances are whole numbers. In the middle it is
    uniform on its `2 * inner - 1` values. Otherwise the shell `J = 1 + G` has `P(G = g)` proportional to `exp(-g / b)`,
    `b` the float nearest to `1 / epsilon` (OpenDP's discrete Laplace, drawn again while negative), and `U` uniform
    on `0 .. 2 * delta - 1` gives the sign and the place among the shell's `2 * delta` values. So the values of one
    level are equally likely, shells `j` and `j + 1` differ by the factor `exp(1 / b)`, and `1 / b` is at most
    `epsilon * (1 + 2**-52)`. It remains to compare the middle with the first shell: if the coin has the odds `o`, their
    factor is `2 * delta / (2 * inner - 1) / (1 - exp(-1 / b)) / o`. It would be `exp(1 / b)` at the odds of
    `Staircase.outer_odds`, if floats were exact. The coin's odds are higher than those by a factor between 1 and
    1 + 2 * ROUNDING, and by more than floats err, so that the factor is below `exp(epsilon)`; and above 1, because
    epsilon is at least `SMALLEST_EPSILON`, thousands of times ROUNDING. (Chances below 2**-94 are raised by more, to a
    multiple of 2**-128: the factor is then smaller, and still above 1.) Neighbouring levels thus differ by at most
    what `Staircase` says, and its argument holds.
    Values are cut off at +-LARGEST_ANSWER, which moves no two further apart, and noisy answers too, which is
    post-processing: noise so large that OpenDP cuts it off leads there anyway.
    (Drawing the shell first, and rejecting most of `U` in the middle, would do without the coin, and take about
    `exp(epsilon / 3)` attempts for each answer.)
    """

    __slots__ = ()  # nothing on it can be replaced

    def add(self, values: Ints, scales: NDArray[np.float64]) -> Ints:
        """Return each value with fresh Laplace noise of its own scale added."""
        true, of_each = values.reshape(-1), np.broadcast_to(scales, values.shape)
        if values.size and of_each.min() == of_each.max():  # copies nothing: there may be half a billion
            return _add_laplace(true, float(of_each.flat[0])).reshape(values.shape)
        answers = np.empty_like(true)
        for start in range(0, len(true), BLOCK):
            distinct, which = np.unique(of_each.flat[start : start + BLOCK], return_inverse=True)
            for i, scale in enumerate(distinct):
                of_scale = start + np.flatnonzero(which == i)
                answers[of_scale] = _add_laplace(true[of_scale], float(scale))
        return answers.reshape(values.shape)

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return each value with fresh staircase noise added."""
        outer = _toss(_to_chance(staircase.outer_odds), len(values))
        noise = np.empty(len(values), dtype=object)  # Python's integers: no overflow before the cut
        noise[~outer] = _draw_uniform(2 * staircase.inner - 1, int((~outer).sum())) - (staircase.inner - 1)
        shells = _draw_geometric(1 / staircase.epsilon, int(outer.sum())).astype(object)
        places = _draw_uniform(2 * staircase.delta, len(shells))
        sizes = shells * staircase.delta + staircase.inner + (places >> 1)
        noise[outer] = np.where(places & 1, -sizes, sizes)
        cut = np.clip(values, -LARGEST_ANSWER, LARGEST_ANSWER).astype(object)
        return np.asarray(np.clip(cut + noise, -LARGEST_ANSWER, LARGEST_ANSWER), dtype=np.int64)


def _add_laplace(values: Ints, scale: float) -> Ints:
    """Return values with noise of one scale added. What draws it depends on public numbers alone."""
    if len(values) >= VECTORISED_FROM and SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        return add_discrete_laplace(values, scale)
    return np.array(_make_opendp_laplace(scale)(values.tolist()), dtype=np.int64)


def _make_opendp_laplace(scale: float):  # type: ignore[no-untyped-def]  # noqa: ANN202  # OpenDP has no type information
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)


def _draw_geometric(scale: float, count: int) -> Ints:
    """Return `g = 0, 1, ...` with probabilities proportional to `exp(-g / scale)`: half of a discrete Laplace."""
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        both = np.array(_make_opendp_laplace(scale)([0] * (2 * (count - len(drawn)))), dtype=np.int64)
        drawn = np.concatenate([drawn, both[both >= 0]])
    return drawn[:count]


def _draw_uniform(below: int, count: int) -> Ints:
    """Return whole numbers from 0 to `below - 1`, equally likely: bits of the system, drawn again beyond a multiple."""
    multiple = 2**64 // below * below
    drawn = np.empty(0, dtype=np.uint64)
    while len(drawn) < count:
        bits = draw_words(count - len(drawn))
        drawn = np.concatenate([drawn, bits[bits <= np.uint64(multiple - 1)]])
    return (drawn % np.uint64(below)).astype(np.int64)


def _to_chance(odds: float) -> int:
    """Return a chance in 2**128 with at least these odds, times 1 + ROUNDING (see `ExactNoise`)."""
    raised = Fraction(odds) * (1 + Fraction(ROUNDING))
    return math.ceil(2**128 * raised / (1 + raised))  # at least 1: odds are positive


def _toss(chance: int, count: int) -> NDArray[np.bool_]:
    """Return coins that show true with exactly `chance / 2**128`."""
    high, low = (np.uint64(part) for part in divmod(chance, 2**64))
    bits = draw_words(2 * count).reshape(2, count)
    return np.asarray((bits[0] < high) | ((bits[0] == high) & (bits[1] < low)))


def _ignores_variables() -> bool:
    """Whether libraries ignore variables of the environment here: Linux sets AT_SECURE in its auxiliary vector."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return bool(ctypes.CDLL(None).getauxval(AT_SECURE))


def _start_generator() -> None:
    """Import OpenDP and start the generator of its OpenSSL, which no settings file of OpenSSL can then change.

    Guarantee: OpenDP draws from OpenSSL's default generator. A settings file (`SETTINGS`, `DEFAULT_SETTINGS`) could
    choose a weaker one, and nobody would notice. OpenSSL reads one such file in a process, at the first draw. That draw
    is made here, with an empty file; threads and forks keep what it started. Then the variable is given back, because
    Python's `ssl` and child processes read it, too. OpenSSL's other variables (`OPENSSL_MODULES`, `OPENSSL_ENGINES`,
    `OPENSSL_CONF_INCLUDE`) tell where to find what a settings file names, and an empty one names nothing.
    Where OpenDP was imported before, somebody may have drawn: if there is a settings file, that is refused. So is the
    default file in a process with more rights than its user (setuid, file capabilities), where OpenSSL does not read
    the variable.
    """
    named = os.environ.get(SETTINGS)
    if _ignores_variables() and DEFAULT_SETTINGS.exists():
        msg = (
            f"this process has more rights than its user, so that OpenSSL obeys {DEFAULT_SETTINGS}, which may change "
            "the random generator: publish without setuid and file capabilities, or take the file away"
        )
        raise UsageError(msg, code="openssl-privileged")
    if "opendp" in sys.modules and (named is not None or DEFAULT_SETTINGS.exists()):
        msg = (
            f"OpenDP was imported before gridveil's noise, and OpenSSL has a settings file "
            f"({named or DEFAULT_SETTINGS}), which may have changed the random generator. Import "
            f"gridveil.trusted.kernel.noise before opendp, or take the file or {SETTINGS} away and start Python again"
        )
        raise UsageError(msg, code="openssl-settings")
    from opendp.mod import enable_features

    enable_features("contrib")  # OpenDP's word for "not yet vetted by a third party"; tests/statistics re-tests it
    first = _make_opendp_laplace(1.0)  # imports what imports Python's `ssl`, which is to find its settings
    os.environ[SETTINGS] = os.devnull
    try:
        first([0])
    finally:
        del os.environ[SETTINGS]
        if named is not None:
            os.environ[SETTINGS] = named


_start_generator()
