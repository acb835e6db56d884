"""Which methods did best: by mean rank over contests. Methods that promise less have no part in it."""

from __future__ import annotations

from statistics import fmean

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.paper.numbers import Lines, select


def mean_ranks(lines: Lines, measure: str = "mre") -> dict[str, float]:
    """Return each method's mean rank (1 is best) over data sets, placements and workloads, best first.

    A contest that not all methods took part in (a study that was stopped) does not count.
    """
    contests: dict[tuple[object, ...], dict[str, float]] = {}
    for case, line in lines.items():
        spread = getattr(line, measure)
        if spread is not None and case.mechanism not in COMPARISON_ONLY:
            key = (case.dataset, case.placement, case.epsilon, case.bound, case.workload, case.truth)
            contests.setdefault(key, {})[case.mechanism] = spread.mean
    everyone = max((len(errors) for errors in contests.values()), default=0)
    ranks: dict[str, list[int]] = {}
    for errors in contests.values():
        if len(errors) == everyone:
            for rank, name in enumerate(sorted(errors, key=errors.__getitem__), 1):
                ranks.setdefault(name, []).append(rank)
    return dict(sorted(((name, fmean(held)) for name, held in ranks.items()), key=lambda item: item[1]))


def rank_table(lines: Lines, bound: str, truth: str, measure: str = "mre") -> list[list[str]]:
    """Return rows of a table: a method's mean rank at each epsilon and over all, best over all first."""
    here = select(lines, bound=bound, truth=truth)
    epsilons = sorted({case.epsilon for case in here})
    at = {epsilon: mean_ranks(select(here, epsilon=epsilon), measure) for epsilon in epsilons}
    overall = mean_ranks(here, measure)
    head = ["method", "all", *(f"epsilon {epsilon:g}" for epsilon in epsilons)]
    rows = [
        [f"`{name}`", f"{rank:.1f}", *(f"{at[e][name]:.1f}" if name in at[e] else "-" for e in epsilons)]
        for name, rank in overall.items()
    ]
    return [head, *rows]
