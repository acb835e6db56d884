"""What reading raw data is worth: the authors' code beside methods that do not."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from gridveil.research.paper.comparison import SETTING
from gridveil.research.paper.experiments import AUTHORS_SETTINGS, LEAK_METHODS
from gridveil.research.paper.findings import BESIDE, PaperFinding, listed, of
from gridveil.research.paper.numbers import Lines, by_mechanism, in_words
from gridveil.simulate.workloads import AUTHORS, WORKLOADS

TWIN = f"stpt-paper {in_words(AUTHORS_SETTINGS)}"
"""Their settings without the leak."""

LEAK_NAMES = {name: name for name in LEAK_METHODS} | {TWIN: "stpt-paper, authors' settings"}
SAYS = (
    "(Its code shows the trained network the raw readings before each published hour, drops quiet cells by their raw "
    "sums, and divides by exact numbers of households.)"
)


def leak_findings(lines: Lines, epsilon: float) -> Iterator[PaperFinding]:
    """Yield how the authors' code compares at one epsilon, by their way of scoring and by ours."""
    for scoring, workloads in (("the authors' scoring", list(AUTHORS)), ("our scoring", list(WORKLOADS))):
        ratios: dict[str, dict[str, float]] = {other: {} for other in (TWIN, "stpt-paper", "stpt")}
        for dataset in dict.fromkeys(case.dataset for case in lines):
            for workload in workloads:
                errors = by_mechanism(lines, dataset=dataset, workload=workload, epsilon=epsilon, **SETTING)
                for other, found in ratios.items():
                    if other in errors and "stpt-leaky" in errors:
                        found[f"{dataset} {workload}"] = errors["stpt-leaky"] / errors[other]
        if all(ratios.values()):
            words = "; ".join(_against(other, found) for other, found in ratios.items())
            named = {LEAK_NAMES[other]: found for other, found in ratios.items()}
            yield PaperFinding(
                f"What the leak is worth by {scoring}, epsilon {epsilon:g}",
                SAYS,
                f"`stpt-leaky` {words}.",
                BESIDE,
                named,
            )


def _against(other: str, ratios: dict[str, float]) -> str:
    better = [name for name, ratio in ratios.items() if ratio < 1]
    low, middle, high = (by(ratios.values()) for by in (min, median, max))
    return (
        f"beats {LEAK_NAMES[other]} in {of(better, list(ratios))} cases ({listed(better) or 'none'}), with "
        f"{middle:.2f} times its error (median; {low:.2f} to {high:.2f})"
    )
