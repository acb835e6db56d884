"""Mean and spread over repeats of a comparison's records, and which methods did best."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.scoring import Record


class MeanSpread(NamedTuple):
    """Mean and standard deviation over repeats; of one repeat the second is zero."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: list[float]) -> MeanSpread:
        """Return both of at least one value."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


class ComparedCase(NamedTuple):
    """What is averaged over repeats: everything about a record that is neither its measures nor its repeat.

    `mechanism` is its name with the parameters that are not its defaults.
    """

    mechanism: str
    epsilon: float
    bound: str
    workload: str


def summarise(records: Iterable[Record], measure: str = "wape", truth: str = "raw") -> dict[ComparedCase, MeanSpread]:
    """Return the spread of one measure against one truth; repeats where it is not defined do not count."""
    values: dict[ComparedCase, list[float]] = {}
    for record in records:
        if record["truth"] == truth and record[measure] is not None:
            case = ComparedCase(method_of(record), record["epsilon"], record["bound"], record["workload"])
            values.setdefault(case, []).append(record[measure])
    return {case: MeanSpread.of(found) for case, found in values.items()}


def method(mechanism: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a method with its parameters, as `compare` is given it.

    >>> method("stpt", {"depth": 4})
    'stpt:depth=4'
    """
    return ":".join([mechanism, *(f"{name}={value}" for name, value in parameters.items())])


def method_of(record: Record) -> str:
    """Return the name of a record's method, with its parameters."""
    return method(record["mechanism"], record["parameters"])


def kwh(value: float) -> str:
    """Return a bound in words, exact to the Wh.

    >>> kwh(192.0), kwh(1234567.5), kwh(1.604)
    ('192', '1,234,567.5', '1.604')
    """
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def ranking(spreads: dict[ComparedCase, MeanSpread]) -> list[str]:
    """Return the mechanisms from best to worst, by their mean rank over epsilons, bounds and workloads.

    Methods for comparison only promise less, and have no part in it.
    """
    contests: dict[tuple[float, str, str], dict[str, float]] = {}
    for case, spread in spreads.items():
        if case.mechanism not in COMPARISON_ONLY:
            contest = (case.epsilon, case.bound, case.workload)
            contests.setdefault(contest, {})[case.mechanism] = abs(spread.mean)
    ranks: dict[str, list[int]] = {}
    for means in contests.values():
        for rank, mechanism in enumerate(sorted(means, key=means.__getitem__)):
            ranks.setdefault(mechanism, []).append(rank)
    return sorted(ranks, key=lambda mechanism: statistics.fmean(ranks[mechanism]))
