"""The report's part on what was run: data, places, bounds, truths, and what an epsilon is worth."""

from __future__ import annotations

from collections.abc import Iterator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.question import EPSILONS
from gridveil.research.compare.trial import promise
from gridveil.research.paper.experiments import PAPER_EPSILON
from gridveil.research.paper.held import PaperResults
from gridveil.research.paper.london import has_own
from gridveil.research.paper.numbers import Lines, epsilons_of
from gridveil.research.paper.tables import markdown
from gridveil.research.paper.towns import (
    LONDON,
    LONDON_CLIP,
    LONDON_COMMON,
    LONDON_TUNED_FROM,
    STANDINS,
    PaperTowns,
    clip_of,
    in_kwh,
    read_density,
)
from gridveil.trusted.budget import attacker_rate


def setting(held: PaperResults, towns: PaperTowns) -> Iterator[str]:
    """Yield paragraphs on data, places, bounds, truths, and on methods that are not ranked."""
    london = towns.dataset(LONDON)
    clips = ", ".join(f"{name} {clip_of(name) / 1000:g}" for name in STANDINS)
    yield (
        f"- **Data.** {london.origin}; and *stand-ins* for the paper's four data sets ({', '.join(STANDINS)}): "
        "invented readings with the households, mean, standard deviation and maximum of its Table 2 (see "
        "`docs/data.md`). The paper's own data cannot be redistributed. What holds on stand-ins need not hold on the "
        "data they stand for."
    )
    density = (
        f" and `density` (London only: at {len(read_density(towns).weight):,} points with weights `{towns.weight}`, "
        "homes about 110 m around them)"
        if towns.points
        else ""
    )
    yield (
        f"- **Places** are drawn: `uniform`, `normal` (random centre, s.d. a third of the grid){density}; 32 x 32 "
        "cells, 120 hours, 100 hours before them for training. No household's true place is known. A repeat draws "
        f"places, queries and noise anew."
    )
    own = (
        "*Own*: for each method the factor that did best on other London hours, placed uniformly, by random and large "
        f"queries (`own_bounds.json`), of {in_kwh(LONDON_TUNED_FROM)} for London, and of 20 kWh a step and what the "
        "clip allows in all for stand-ins. "
        if has_own(held.london) or has_own(held.panels)
        else ""
    )
    yield (
        f"- **Bounds.** *Common*: for stand-ins the paper's clip ({clips} kWh an hour, nothing else); for London "
        f"{in_kwh(LONDON_COMMON)}, a public choice. {own}Yardsticks take no notice of bounds."
    )
    yield (
        f"- **Truths.** *Raw*: what was consumed. *Clipped*: readings cut at the clip (London: {LONDON_CLIP / 1000:g} "
        "kWh) first, as the paper scores: energy cut away is then no error. "
        "**Errors**: MRE without queries whose truth is zero, WAPE; 300 queries of each kind."
    )
    yield _yardsticks()


def _yardsticks() -> str:
    lines = "\n".join(f"  - *{name}*: {promise(name)}" for name in COMPARISON_ONLY)
    return f"- **Not ranked**, in italics and dotted, because they promise less:\n{lines}"


def _epsilons(lines: Lines) -> str:
    found = ", ".join(f"{epsilon:g}" for epsilon in epsilons_of(lines))
    return f"at epsilon {found}" if found else "not yet"


def epsilon_means(held: PaperResults) -> str:
    """Return what the paper's epsilon is worth, by the best attack that there can be."""
    rows = [["epsilon", "true-positive rate, at most"]]
    rows += [[f"{epsilon:g}", f"{100 * attacker_rate(epsilon):.4f} %"] for epsilon in EPSILONS]
    return (
        f"The paper's epsilon is {PAPER_EPSILON:g}. An attacker who knows everything about everyone else tells at "
        f"1 % false positives whether a household is in the data with a true-positive rate of at most:\n\n"
        f"{markdown(rows)}\n\nSo {PAPER_EPSILON:g} by itself rules out nothing in practice: it protects little, and "
        "comparisons at 1 and 3 are those that count for a publication. Results are shown for London "
        f"{_epsilons(held.london)}, for stand-ins {_epsilons(held.panels)}."
    )
