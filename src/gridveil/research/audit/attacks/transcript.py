"""The best attack there is: the exact likelihood ratio of everything that a kernel answered.

A release is computed from the kernel's answers and public numbers alone, so nobody who sees the release can tell two
worlds apart better than someone who sees the answers and knows their probabilities in both (Neyman and Pearson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.research.audit.attacks.publication import Publication
from gridveil.trusted.kernel.kernel import Source
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.staircase import Staircase

BATCH = 200_000
"""Answers drawn at once."""


class Listener:
    """The kernel's exact noise, which also writes down the true answers; or repeats answers that were given before."""

    def __init__(self, repeat: Sequence[Ints] | None = None) -> None:
        self.true: list[Ints] = []
        self.answers: list[Ints] = []
        self.scales: list[Floats] = []
        self._repeat = repeat

    def add(self, values: Ints, scales: Floats) -> Ints:
        """Return noisy answers, and remember them with the true ones."""
        noisy = ExactNoise().add(values, scales) if self._repeat is None else self._repeat[len(self.answers)]
        self.true.append(values.copy())
        self.answers.append(noisy.copy())
        self.scales.append(scales)
        return noisy

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Refuse: the likelihood below is that of Laplace noise."""
        msg = f"{len(values)} answers with {staircase}: this attack is written for Laplace noise"
        raise UsageError(msg, code="attack-needs-laplace")


@dataclass(frozen=True)
class Transcript:
    """The answers of one run that differ between two worlds in their true value; the others tell nothing.

    present, absent: the true answers with and without the household. answers: what was answered. scales: of the noise.
    """

    present: Ints
    absent: Ints
    answers: Ints
    scales: Floats

    @property
    def log_ratio(self) -> float:
        """The log-likelihood of the household's presence against its absence, given all answers: exact."""
        return float(self._log_ratios(self.answers[None])[0])

    @property
    def largest(self) -> float:
        """What the log-likelihood ratio cannot exceed, whatever is answered: at most the publication's epsilon."""
        return float((np.abs(self.present - self.absent) / self.scales).sum())

    def redrawn(self, *, present: bool, runs: int) -> Floats:
        """Return the log-likelihood ratios of runs with the same questions and fresh noise, in one of the worlds.

        With its questions fixed beforehand the publication costs the same epsilon: the runs are of a mechanism that
        does not adapt, and the bound on attackers holds for it as well.
        """
        if not len(self.scales):
            return np.zeros(runs)
        at_once = max(1, BATCH // len(self.scales))
        sizes = [min(at_once, runs - start) for start in range(0, runs, at_once)]
        return np.concatenate([self._log_ratios(self._drawn(size, present=present)) for size in sizes])

    def _drawn(self, runs: int, *, present: bool) -> Ints:
        true = np.tile(self.present if present else self.absent, runs)
        return ExactNoise().add(true, np.tile(self.scales, runs)).reshape(runs, -1)

    def _log_ratios(self, answers: Ints) -> Floats:
        # The discrete Laplace distribution: P(y) is proportional to exp(-|y - x| / scale), with the same factor.
        nearer = np.abs(answers - self.absent) - np.abs(answers - self.present)
        return np.asarray((nearer / self.scales).sum(axis=1))


def listen(publication: Publication, with_household: Source, without: Source, *, present: bool) -> Transcript:
    """Publish in one of two worlds, and return all that an attacker can use of the kernel's answers.

    The other world is asked the same: its kernel is made to give the same answers, so that it hears the same questions.
    """
    here, there = (with_household, without) if present else (without, with_household)
    first = Listener()
    publication.release(here, first)
    second = Listener(first.answers)
    publication.release(there, second)
    true, other = (np.concatenate([values.ravel() for values in heard.true]) for heard in (first, second))
    differ = true != other
    pair = (true, other) if present else (other, true)
    answers, scales = (np.concatenate([part.ravel() for part in heard]) for heard in (first.answers, first.scales))
    return Transcript(pair[0][differ], pair[1][differ], answers[differ], scales[differ])
