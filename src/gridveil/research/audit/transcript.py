"""Transcripts of what a kernel answers, and how much they tell about which of two worlds they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import GridveilError
from gridveil.trusted.kernel.noise import Noise
from gridveil.trusted.kernel.staircase import Staircase

SLACK = 1e-9
"""What floats may add to a log-ratio, of its size."""


@dataclass(frozen=True)
class TranscriptEntry:
    """The answers to one question: as they are, as they were given, and the noise between the two."""

    true: Ints
    noisy: Ints
    scales: Floats
    """Of Laplace noise; without meaning where there is a staircase."""
    staircase: Staircase | None = None


@dataclass
class Recorder:
    """Noise that records what another adds. It copies: the kernel puts noisy answers in place of true ones."""

    inner: Noise
    entries: list[TranscriptEntry] = field(default_factory=list)

    def add(self, values: Ints, scales: Floats) -> Ints:
        """Return the values with Laplace noise, and record both."""
        noisy = self.inner.add(values, scales)
        self.entries.append(TranscriptEntry(values.copy(), noisy, np.broadcast_to(scales, values.shape)))
        return noisy

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return the values with staircase noise, and record both."""
        noisy = self.inner.add_staircase(values, staircase)
        self.entries.append(TranscriptEntry(values.copy(), noisy, np.ones(values.shape), staircase))
        return noisy


@dataclass
class Repeater:
    """Noise that gives the noisy answers of a transcript again, whatever the true ones are, and records those.

    It stands for noise that makes up for the difference. A question that the transcript does not have in this place, in
    number of answers or in noise, is refused: questions may depend on noisy answers only.
    """

    transcript: Sequence[TranscriptEntry]
    entries: list[TranscriptEntry] = field(default_factory=list)

    def add(self, values: Ints, scales: Floats) -> Ints:
        """Return the recorded answers."""
        return self._again(values, np.broadcast_to(scales, values.shape), None)

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return the recorded answers."""
        return self._again(values, np.ones(values.shape), staircase)

    def _again(self, values: Ints, scales: Floats, staircase: Staircase | None) -> Ints:
        before = self.transcript[len(self.entries)] if len(self.entries) < len(self.transcript) else None
        if before is None or before.staircase != staircase or not np.array_equal(before.scales, scales):
            msg = "the same noisy answers led to another question: something beside them depends on the data"
            raise GridveilError(msg, code="replay-differs")
        self.entries.append(TranscriptEntry(values.copy(), before.noisy, scales, staircase))
        return before.noisy.copy()


@dataclass(frozen=True)
class TranscriptPair:
    """A run and its replay: the same noisy answers to the same questions, with and without a household in the data."""

    present: tuple[TranscriptEntry, ...]
    absent: tuple[TranscriptEntry, ...]

    @property
    def ratio(self) -> float:
        """The log-likelihood of the household's presence against its absence, given the recorded answers: exact."""
        return log_ratio(self.present, self.absent)

    @property
    def loss(self) -> float:
        """The largest log-ratio of any answers to these questions, or that of the recorded ones if it is larger."""
        return max(worst_ratio(self.present, self.absent), abs(self.ratio))

    @property
    def moved(self) -> int:
        """How many answers differ between the worlds."""
        both = zip(self.present, self.absent, strict=True)
        return sum(int((entry.true != other.true).sum()) for entry, other in both)

    def exceeds(self, epsilon: float) -> bool:
        """Whether the loss is above epsilon."""
        return self.loss > epsilon * (1 + SLACK)

    def draw(self, runs: int, noise: Noise, *, present: bool) -> Floats:
        """Return the log-ratio (of presence) of `runs` transcripts with fresh noise, in one of the worlds.

        With its questions fixed beforehand a run costs the same epsilon: these are runs of a mechanism that does not
        adapt, and every bound on attackers holds for it as well. Answers that are the same in both worlds tell nothing,
        and are not drawn.
        """
        here, there = (self.present, self.absent) if present else (self.absent, self.present)
        total = np.zeros(runs)
        for entry, other in zip(here, there, strict=True):
            moved = entry.true != other.true
            if not moved.any():
                continue
            true, scales = np.tile(entry.true[moved], runs), np.tile(entry.scales[moved], runs)
            noisy = noise.add(true, scales) if entry.staircase is None else noise.add_staircase(true, entry.staircase)
            drawn = TranscriptEntry(true, noisy, scales, entry.staircase)
            total += ratios(drawn, noisy, np.tile(other.true[moved], runs)).reshape(runs, -1).sum(axis=1)
        return total if present else -total


def log_ratio(here: Sequence[TranscriptEntry], there: Sequence[TranscriptEntry]) -> float:
    """Return `log P(answers here) - log P(the same answers there)`: what an attacker who sees all of them learns.

    `there` has the true answers of the other world to the same questions. Exact, as the distribution of the noise is
    known. Under pure epsilon-differential privacy it is at most epsilon in absolute value for *every* transcript.
    """
    return sum(float(ratios(entry, entry.noisy, other.true).sum()) for entry, other in zip(here, there, strict=True))


def ratios(entry: TranscriptEntry, noisy: Ints, other: Ints) -> Floats:
    """Return the log-ratio of every noisy answer between the world of `entry` and one where `other` is true."""
    if entry.staircase is not None:
        levels = entry.staircase.level(noisy - other) - entry.staircase.level(noisy - entry.true)
        return np.asarray(entry.staircase.epsilon * levels, dtype=np.float64)
    return np.asarray((np.abs(noisy - other) - np.abs(noisy - entry.true)) / entry.scales, dtype=np.float64)


def worst_ratio(here: Sequence[TranscriptEntry], there: Sequence[TranscriptEntry]) -> float:
    """Return the largest absolute log-ratio that any noisy answers to these questions could have.

    That of a Laplace answer is the distance of the true answers over the scale, and it is reached by all noisy answers
    on the far side. That of a staircase is reached as well: a shift by `d` can cross `ceil(d / delta)` steps.
    """
    total = 0.0
    for entry, other in zip(here, there, strict=True):
        distance = np.abs(entry.true - other.true)
        if entry.staircase is not None:
            total += float(entry.staircase.epsilon * -(-distance // entry.staircase.delta).sum())
        else:
            total += float((distance / entry.scales).sum())
    return total
