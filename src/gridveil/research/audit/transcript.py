"""What passes between a kernel and its noise, written down, and how much it tells about which world it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import GridveilError
from gridveil.trusted.kernel.noise import Noise
from gridveil.trusted.kernel.staircase import Staircase


@dataclass(frozen=True)
class Said:
    """The answers to one question: as they are, as they were given, and the noise between the two."""

    true: Ints
    noisy: Ints
    scales: Floats
    """Of Laplace noise; without meaning where there is a staircase."""
    staircase: Staircase | None = None


@dataclass
class Recorder:
    """Noise that writes down what another adds. It copies: the kernel puts noisy answers in place of true ones."""

    inner: Noise
    said: list[Said] = field(default_factory=list)

    def add(self, values: Ints, scales: Floats) -> Ints:
        """Return the values with Laplace noise, and write both down."""
        noisy = self.inner.add(values, scales)
        self.said.append(Said(values.copy(), noisy, np.broadcast_to(scales, values.shape)))
        return noisy

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return the values with staircase noise, and write both down."""
        noisy = self.inner.add_staircase(values, staircase)
        self.said.append(Said(values.copy(), noisy, np.ones(values.shape), staircase))
        return noisy


@dataclass
class Repeater:
    """Noise that gives the noisy answers of a transcript again, whatever the true ones are, and writes those down.

    It stands for noise that makes up for the difference. A question that the transcript does not have in this place, in
    number of answers or in noise, is refused: questions may depend on noisy answers only.
    """

    transcript: Sequence[Said]
    said: list[Said] = field(default_factory=list)

    def add(self, values: Ints, scales: Floats) -> Ints:
        """Return the recorded answers."""
        return self._again(values, np.broadcast_to(scales, values.shape), None)

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return the recorded answers."""
        return self._again(values, np.ones(values.shape), staircase)

    def _again(self, values: Ints, scales: Floats, staircase: Staircase | None) -> Ints:
        before = self.transcript[len(self.said)] if len(self.said) < len(self.transcript) else None
        if before is None or before.staircase != staircase or not np.array_equal(before.scales, scales):
            msg = "the same noisy answers led to another question: something beside them depends on the data"
            raise GridveilError(msg, code="replay-differs")
        self.said.append(Said(values.copy(), before.noisy, scales, staircase))
        return before.noisy.copy()


def log_ratio(here: Sequence[Said], there: Sequence[Said]) -> float:
    """Return `log P(answers here) - log P(the same answers there)`: what an attacker who sees all of them learns.

    `there` has the true answers of the other world to the same questions. Exact, as the distribution of the noise is
    known. Under pure epsilon-differential privacy it is at most epsilon in absolute value for *every* transcript.
    """
    return sum(float(ratios(said, said.noisy, other.true).sum()) for said, other in zip(here, there, strict=True))


def ratios(said: Said, noisy: Ints, other: Ints) -> Floats:
    """Return the log-ratio of every noisy answer between the world of `said` and one where `other` is true."""
    if said.staircase is not None:
        levels = said.staircase.level(noisy - other) - said.staircase.level(noisy - said.true)
        return np.asarray(said.staircase.epsilon * levels, dtype=np.float64)
    return np.asarray((np.abs(noisy - other) - np.abs(noisy - said.true)) / said.scales, dtype=np.float64)


def worst_ratio(here: Sequence[Said], there: Sequence[Said]) -> float:
    """Return the largest absolute log-ratio that any noisy answers to these questions could have.

    That of a Laplace answer is the distance of the true answers over the scale, and it is reached by all noisy answers
    on the far side. That of a staircase is reached as well: a shift by `d` can cross `ceil(d / delta)` steps.
    """
    total = 0.0
    for said, other in zip(here, there, strict=True):
        apart = np.abs(said.true - other.true)
        if said.staircase is not None:
            total += float(said.staircase.epsilon * -(-apart // said.staircase.delta).sum())
        else:
            total += float((apart / said.scales).sum())
    return total
