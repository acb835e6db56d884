"""What an attacker looks at: numbers that are computed from a release, each a way to tell the two worlds apart."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from gridveil.release.format.files import LABEL, README, VALUES
from gridveil.research.audit.canaries import Worlds
from gridveil.research.audit.outcomes import Outcome

Statistic = Callable[[Outcome, Worlds], float]

NUMBER = re.compile(r"-?\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _value(outcome: Outcome, worlds: Worlds) -> float:
    return float(outcome.estimate.dense()[(*worlds.cell, worlds.step)])


def _contrast(outcome: Outcome, worlds: Worlds) -> float:
    """Return how far the value is above the median of all: noise that cells share would cancel."""
    return _value(outcome, worlds) - float(np.median(outcome.estimate.dense()))


def _cell(outcome: Outcome, worlds: Worlds) -> float:
    return float(outcome.estimate.dense()[worlds.cell].sum())


def _step(outcome: Outcome, worlds: Worlds) -> float:
    return float(outcome.estimate.dense()[:, :, worlds.step].sum())


def _whole(outcome: Outcome, _worlds: Worlds) -> float:
    return float(outcome.estimate.dense().sum())


def _loss(outcome: Outcome, worlds: Worlds) -> float:
    """Return how far the release is from the canary's own series: what attacks on trained models go by."""
    return float(np.abs(outcome.estimate.dense()[worlds.cell] - worlds.series).sum())


def _members(outcome: Outcome, worlds: Worlds) -> float:
    """Return how many cells and steps have the very value of the canary's: what was put into one part with it."""
    values = outcome.estimate.dense()
    return float((values == values[(*worlds.cell, worlds.step)]).sum())


def _parts(outcome: Outcome, _worlds: Worlds) -> float:
    """Return how many numbers the kernel was asked for: how the mechanism cut the cube up."""
    return float(sum(record.answers for record in outcome.records))


def _zeros(outcome: Outcome, _worlds: Worlds) -> float:
    return float((outcome.estimate.dense() == 0).sum())


def _distinct(outcome: Outcome, _worlds: Worlds) -> float:
    return float(len(np.unique(outcome.estimate.dense())))


def _gap(outcome: Outcome, _worlds: Worlds) -> float:
    """Return the smallest distance of two values that differ: noise of floats would show in it."""
    return float(np.diff(np.unique(outcome.estimate.dense())).min(initial=np.inf))


def _fractions(outcome: Outcome, _worlds: Worlds) -> float:
    """Return how many values are not whole."""
    values = outcome.estimate.dense()
    return float((values != np.rint(values)).sum())


def _error_model(outcome: Outcome, _worlds: Worlds) -> float:
    """Return the sum of all numbers of the error bars."""
    errors = outcome.estimate.errors
    parts = [getattr(errors, field.name) for field in fields(errors)]
    return sum(float(np.nan_to_num(part).sum()) for part in parts if isinstance(part, np.ndarray))


def _label_numbers(outcome: Outcome, _worlds: Worlds) -> float:
    """Return the sum of all numbers of the label: accounted epsilon, bounds, details of the mechanism."""
    return sum(
        float(text.replace(",", "").replace("_", "")) for text in NUMBER.findall(outcome.label.model_dump_json())
    )


def _label_words(outcome: Outcome, _worlds: Worlds) -> float:
    return fingerprint(outcome.label.model_dump_json())


STATISTICS: dict[str, Statistic] = {
    "value at the canary's cell and step": _value,
    "the same value less the median of all": _contrast,
    "total of the canary's cell": _cell,
    "total of the canary's step": _step,
    "total of the map": _whole,
    "loss on the canary's series": _loss,
    "places with the canary's value": _members,
    "numbers asked of the kernel": _parts,
    "values that are exactly zero": _zeros,
    "distinct values": _distinct,
    "smallest gap between values": _gap,
    "values that are not whole": _fractions,
    "sum of the error bars": _error_model,
    "sum of the label's numbers": _label_numbers,
    "words of the label": _label_words,
}
"""Of every run."""

FILE_STATISTICS: dict[str, Statistic] = {
    "names of the files": lambda outcome, _: fingerprint(" ".join(outcome.files)),
    "size of the values' file": lambda outcome, _: float(len(outcome.files[VALUES])),
    "size of the label": lambda outcome, _: float(len(outcome.files[LABEL])),
    "words of the label's file": lambda outcome, _: fingerprint(outcome.files[LABEL].decode()),
    "words of the README": lambda outcome, _: fingerprint(outcome.files[README].decode()),
}
"""Of runs whose release was written."""


def fingerprint(text: str) -> float:
    """Return a number that stands for a text without its numbers; any other text has another one, all but surely.

    >>> fingerprint("7 of 9 cells") == fingerprint("8 of 11.5 cells") != fingerprint("7 of 9 rows")
    True
    """
    return float(zlib.crc32(NUMBER.sub("#", text).encode()))
