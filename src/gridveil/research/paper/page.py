"""The page of the report: what was run, what it shows, and how that compares with the paper's text."""

from __future__ import annotations

from collections.abc import Iterator

from gridveil.research.compare.scoring import Record
from gridveil.research.paper.experiments import ExperimentSize
from gridveil.research.paper.findings import AGREES, BESIDE, DISAGREES, FEW, IN_PART, MOST, PaperFinding, verdicts
from gridveil.research.paper.held import PaperResults
from gridveil.research.paper.london import bound_in_words, has_own, sentences, told_bound
from gridveil.research.paper.numbers import Lines, epsilons_of, select
from gridveil.research.paper.rankings import rank_table
from gridveil.research.paper.repeats import counted, repeats_note
from gridveil.research.paper.setting import epsilon_means, setting
from gridveil.research.paper.tables import NOT_RUN, folded, london_tables, markdown
from gridveil.research.paper.towns import PaperTowns

NOT_YET = "Not run yet."


def page(
    held: PaperResults,
    found: dict[str, list[PaperFinding]],
    drawn: list[str],
    written: list[str],
    size: ExperimentSize,
    towns: PaperTowns,
) -> str:
    """Return the whole page as Markdown. `drawn` and `written` are the names of figures and of files with numbers."""
    parts = [
        "# The paper's evaluation, run again",
        _stamp(held, size),
        _summary(found),
        "## What was run",
        *setting(held, towns),
        "## What epsilon 30 means",
        epsilon_means(held),
        "## The comparison panels (the paper's section 5.2)",
        *_panels(held, found["comparison"], drawn),
        "## London: measured households",
        *_london(held.london, drawn),
        "## STPT in detail (the paper's section 5.3)",
        "### The pattern: budget and depth",
        *_figure(drawn, "pattern-budget", "pattern MAE and RMSE against budget"),
        *_figure(drawn, "pattern-depth", "pattern MAE and RMSE against depth"),
        *([_rest_on(held.pattern), *told(found["pattern"])] if held.pattern else [NOT_YET]),
        "### Buckets",
        *_figure(drawn, "buckets", "error against the number of buckets"),
        *([repeats_note(held.buckets), *told(found["buckets"])] if held.buckets else [NOT_YET]),
        "### Run time",
        *_figure(drawn, "runtime", "run time of every method"),
        *(told(found["runtime"]) if held.runtime else [NOT_YET]),
        "## What the leak is worth",
        *_leak(held, found["leak"], drawn),
        "## Files",
        _files(drawn, written),
    ]
    return "\n\n".join(parts) + "\n"


def _stamp(held: PaperResults, size: ExperimentSize) -> str:
    words = (
        "**NOT PRIVATE: everything here was computed from true values, with seeded noise (run times: with real "
        "noise).** Made by `gridveil bench paper`; every sentence with a number, every table and every figure comes "
        "from its results. "
    )
    each = (
        "one of each setting"
        if size.repeats == size.runtime_repeats == 1
        else f"of each setting {size.repeats}, of run times {size.runtime_repeats}"
    )
    words += f"{held.done:,} of {held.total:,} trials are done ({each})."
    if held.done < held.total:
        fewer = " or rest on fewer repeats" if size.repeats > 1 else ""
        words += f" **This is a report on an unfinished run: parts are missing{fewer}.**"
    if size.repeats == 1:
        words += " **A quick look: one repeat says little; differences may be chance.**"
    return words


def _summary(found: dict[str, list[PaperFinding]]) -> str:
    words = list(verdicts(finding for some in found.values() for finding in some).values())
    if not words:
        return "No sentence of the paper's section 5 could be tried yet."
    agree, part, not_so = (words.count(word) for word in (AGREES, IN_PART, DISAGREES))
    return (
        f"Of {len(words)} sentences of the paper's section 5 that could be tried, {agree} agree with what is found "
        f"here, {part} in part, and {not_so} not. Sentences on STPT are decided by `stpt-paper`, others by the methods "
        "that the paper has; what else was tried (`stpt`, `stpt-leaky`) stands beside them and is not counted. A "
        f"sentence about many cases *agrees* if it holds in at least {100 * MOST:.0f} % of them and *in part* from "
        f"{100 * FEW:.0f} % on."
    )


def _panels(held: PaperResults, found: list[PaperFinding], drawn: list[str]) -> Iterator[str]:
    if not held.panels:
        yield NOT_YET
        return
    placements = " and ".join(f"`{name}`" for name in dict.fromkeys(case.placement for case in held.panels))
    yield (
        "On stand-ins; under the common bound (the paper's clip) and against the clipped truth, as in the paper, "
        "unless it says otherwise. The paper's figure has rows CER, CA, MI and TX; its text speaks of rows CA-Uniform, "
        "CER-Uniform, CA-Normal and CER-Normal. Here the rows are the figure's, with households placed "
        f"{placements}. {repeats_note(held.panels)}"
    )
    yield from _figure(drawn, "panels", "twelve comparison panels at epsilon 30")
    yield from told(found)
    yield from _ranks(held.panels, "common", "clipped", "Mean ranks over data sets, placements and workloads")
    if has_own(held.panels):
        yield from _ranks(held.panels, "own", "raw", "Not as in the paper: mean ranks")
    for placement in ("uniform", "normal"):
        yield from _curves(drawn, f"curves-{placement}", f"error against epsilon, {placement} placement")


def _ranks(lines: Lines, bound: str, truth: str, words: str) -> Iterator[str]:
    rows = rank_table(lines, bound, truth)
    yield f"{words} (MRE, {truth} truth, {bound_in_words(bound)}; 1 is best):"
    yield markdown(rows)
    if any(NOT_RUN in row for row in rows):
        yield (
            "A column for an epsilon ranks the methods that have a number in it; *all* is only over those contests "
            "that all methods took part in."
        )


def _london(lines: Lines, drawn: list[str]) -> Iterator[str]:
    if not lines:
        yield NOT_YET
        return
    yield from _curves(drawn, "london", "London: error against epsilon")
    bound = told_bound(lines)
    yield f"Measured against the raw truth, {bound_in_words(bound)}. {repeats_note(lines)}"
    yield "\n".join(f"- {sentence}" for sentence in sentences(lines))
    yield from _ranks(lines, bound, "raw", "Mean ranks over placements and workloads")
    yield from _ranks(lines, "common", "clipped", "Mean ranks")
    once = all(line.repeats == 1 for line in lines.values())
    yield (
        f"All tables: {'%, of one repeat' if once else '%, mean ± standard deviation over repeats'}; methods from best "
        "to worst by MRE of random queries."
    )
    for placement in dict.fromkeys(case.placement for case in lines):
        yield f"### London, {placement}"
        for epsilon in epsilons_of(select(lines, placement=placement)):
            for what, table in london_tables(lines, placement, epsilon):
                yield folded(what, table)


def _rest_on(rows: list[Record]) -> str:
    return f"All rest on {counted(row['repeats'] for row in rows)}."


def _leak(held: PaperResults, found: list[PaperFinding], drawn: list[str]) -> Iterator[str]:
    yield (
        "The authors' code (github.com/ANRGUSC/pars) conditions on raw data: inference is teacher-forced on the raw "
        "hours before each published one, so the partition is not private; cells with a raw sum of 1 or less are "
        "dropped; blocks are averaged by their exact number of households; the clip is taken from the data. None of "
        "that is covered by its epsilon. `stpt-leaky` does the same with the authors' parameters, inside this "
        "evaluation only. Here it stands beside `stpt-paper` (the paper to the letter, made private) and `stpt`, with "
        "at most one household in a cell, as the authors have it (they draw 1,024 households with replacement; here "
        "nobody is drawn twice, so that most cells of CA, MI and TX are empty), under the paper's clip and against the "
        "clipped truth; *authors' scoring* is by their draws of queries and their rule for zero truths (divide by 20)."
    )
    if not held.leak:
        yield NOT_YET
        return
    yield repeats_note(held.leak)
    yield from _figure(drawn, "leak", "authors' code beside honest methods")
    yield from told(found)


def told(found: list[PaperFinding]) -> Iterator[str]:
    """Yield findings: each of the paper's sentences once, what we find on it, and why if that is something else.

    What does not count stands below what does.
    """
    if not found:
        yield "Too little was run yet to compare it with the paper's sentences."
    for paper in dict.fromkeys(finding.paper for finding in found):
        same = sorted((finding for finding in found if finding.paper == paper), key=lambda finding: not finding.counts)
        lines = [f"> {paper}", ""] if same[0].verdict != BESIDE else []
        lines += [
            f"- {finding.topic}: **{finding.verdict}.** {finding.ours}"
            if finding.counts
            else f"- Not counted: {finding.topic}: {finding.verdict}. {finding.ours}"
            for finding in same
        ]
        whys = dict.fromkeys(f.why for f in same if f.why and f.verdict in {IN_PART, DISAGREES})
        yield "\n".join([*lines, *(f"- *Why:* {why}" for why in whys)])


def _figure(drawn: list[str], name: str, words: str) -> Iterator[str]:
    if name in drawn:
        yield f"![{words}](reproduction/{name}.png)\n\n[as SVG](reproduction/{name}.svg)"


def _curves(drawn: list[str], name: str, words: str) -> Iterator[str]:
    yield from _figure(drawn, name, words)
    if name not in drawn:
        yield f"{words[0].upper()}{words[1:]}: not run yet (a curve needs two epsilons)."


def _files(drawn: list[str], written: list[str]) -> str:
    named = ", ".join(f"`{name}`" for name in written)
    tables = f"{named} (means over repeats, and standard deviations where there are several), "
    figures = f", and the figures {', '.join(f'`{name}`' for name in drawn)} as PNG and SVG"
    return (
        f"In the folder `reproduction`: {tables if written else ''}`findings.json` (every sentence with its numbers)"
        f"{figures if drawn else ''}. The full run is made anew with\n\n"
        "    gridveil bench paper --out OUT --data lcl=readings_hourly.parquet \\\n"
        "        --points feeders.parquet --weight n_meters_median\n"
        "    cp -r OUT/reproduction.md OUT/reproduction docs/"
    )
