"""Yardsticks by name. Their words are kept with the mechanisms', whose registry refuses these names."""

from __future__ import annotations

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.model.errors import UsageError
from gridveil.research.nonprivate.base import Yardstick
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.research.nonprivate.markov_quilt import MarkovQuilt
from gridveil.research.nonprivate.stpt_leaky import StptLeaky

_ALL: dict[str, Yardstick] = {
    "count-rule": CountRule(),
    "count-rule-5": CountRule(households=5, percent=100),
    "markov-quilt": MarkovQuilt(),
    "stpt-leaky": StptLeaky(),
}


def names() -> list[str]:
    """Return the names of all yardsticks."""
    return list(_ALL)


def make(name: str) -> Yardstick:
    """Return a yardstick.

    >>> make("count-rule-5").households
    5
    """
    if name not in _ALL:
        msg = f"there is no yardstick {name!r}; there are: {', '.join(_ALL)}"
        raise UsageError(msg, code="baseline-unknown")
    return _ALL[name]


def promise(name: str) -> str:
    """Return what a yardstick guarantees, in words."""
    return make(name).promise


def summary(name: str) -> str:
    """Return a yardstick's description in one line."""
    make(name)
    return COMPARISON_ONLY[name].summary
