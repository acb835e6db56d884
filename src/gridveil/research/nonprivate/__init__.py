"""Baselines: methods that read true values or promise less than a mechanism. For comparisons only."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.research.nonprivate.markov_quilt import MarkovQuilt
from gridveil.research.nonprivate.stpt_leaky import StptLeaky
from gridveil.trusted.budget import Bound


@runtime_checkable
class Baseline(Protocol):
    """A method that reads true values, or promises less than a mechanism does. It has no kernel and no release."""

    @property
    def promise(self) -> str:
        """What it guarantees, in words."""

    def release(self, placed: PlacedDataset, epsilon: float, bound: Bound, clip: int, seed: int) -> Floats:
        """Return what it would publish of the window, kWh (x, y, t); NaN where it publishes nothing.

        Public numbers: epsilon, the bound that mechanisms work under, and `clip`, Wh of one reading. `seed` is of its
        noise, which is therefore for experiments only.
        """


_BASELINES: dict[str, Baseline] = {
    "count-rule": CountRule(),
    "count-rule-5": CountRule(households=5, percent=100),
    "markov-quilt": MarkovQuilt(),
    "stpt-leaky": StptLeaky(),
}


def list_names() -> list[str]:
    """Return the names of all baselines."""
    return list(_BASELINES)


def make(name: str) -> Baseline:
    """Return a baseline.

    >>> make("count-rule-5").households
    5
    """
    if name not in _BASELINES:
        msg = f"there is no baseline {name!r}; there are: {', '.join(_BASELINES)}"
        raise UsageError(msg, code="baseline-unknown")
    return _BASELINES[name]
