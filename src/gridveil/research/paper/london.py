"""What the measured London households show: who wins at which epsilon, and what a bound of one's own is worth."""

from __future__ import annotations

from collections.abc import Iterator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.paper.numbers import Lines, by_mechanism, select
from gridveil.research.paper.rankings import mean_ranks

LEADERS = 3


def has_own(lines: Lines) -> bool:
    """Tell whether methods were run under bounds of their own."""
    return any(case.bound == "own" and case.mechanism not in COMPARISON_ONLY for case in lines)


def told_bound(lines: Lines) -> str:
    """Return the bound whose results are told first."""
    return "own" if has_own(lines) else "common"


def bound_in_words(bound: str) -> str:
    """Return under which bound results are."""
    return "each method under its own bound" if bound == "own" else "all methods under the common bound"


def sentences(lines: Lines) -> Iterator[str]:
    """Yield what the tables show, in words."""
    bound = told_bound(lines)
    here = select(lines, bound=bound, truth="raw")
    for epsilon in sorted({case.epsilon for case in here}):
        best = list(mean_ranks(select(here, epsilon=epsilon)).items())[:LEADERS]
        words = ", ".join(f"`{name}` ({rank:.1f})" for name, rank in best)
        yield f"Epsilon {epsilon:g}: the best mean ranks over placements and workloads have {words}."
        for placement in dict.fromkeys(case.placement for case in here):
            errors = _ranked(by_mechanism(here, placement=placement, workload="random", epsilon=epsilon))
            leaders = ", ".join(f"`{name}` {errors[name]:.1f} %" for name in sorted(errors, key=errors.__getitem__)[:3])
            yield f"Epsilon {epsilon:g}, {placement}: smallest MRE of random queries: {leaders}."
    if has_own(lines):
        yield _bounds(lines)


def _bounds(lines: Lines) -> str:
    better = total = 0
    for case, line in select(lines, bound="own", truth="raw", workload="random").items():
        common = lines.get(case._replace(bound="common"))
        if case.mechanism not in COMPARISON_ONLY and common and common.mre and line.mre:
            total += 1
            better += line.mre.mean < common.mre.mean
    return (
        f"Under its own bound a method's MRE of random queries (raw truth) is smaller than under the common one in "
        f"{better} of {total} cases. Own bounds were tuned on other hours of London "
        "households, placed uniformly, by random and large queries only: nothing was tuned for other placements, nor "
        "for 1x1x1 queries."
    )


def _ranked(errors: dict[str, float]) -> dict[str, float]:
    return {name: error for name, error in errors.items() if name not in COMPARISON_ONLY}
