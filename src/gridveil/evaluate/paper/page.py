"""The page of the report: what was run, what it shows, and how that compares with the paper's text."""

from __future__ import annotations

from collections.abc import Iterator

from gridveil.evaluate.paper.experiments import Size
from gridveil.evaluate.paper.findings import AGREES, BESIDE, DISAGREES, FEW, IN_PART, MOST, Finding
from gridveil.evaluate.paper.held import Held
from gridveil.evaluate.paper.london import has_own, sentences, told_bound
from gridveil.evaluate.paper.numbers import Lines, select
from gridveil.evaluate.paper.rankings import rank_table
from gridveil.evaluate.paper.setting import epsilon_means, setting
from gridveil.evaluate.paper.tables import folded, london_tables, markdown
from gridveil.evaluate.paper.towns import PaperTowns


def page(held: Held, found: dict[str, list[Finding]], drawn: list[str], size: Size, towns: PaperTowns) -> str:
    """Return the whole page as Markdown."""
    parts = [
        "# The paper's evaluation, run again",
        _stamp(held, size),
        _summary(found),
        "## What was run",
        *setting(held, towns),
        "## What epsilon 30 means",
        epsilon_means(),
        "## The comparison panels (the paper's section 5.2)",
        *_panels(held, found["comparison"], drawn),
        "## London: measured households",
        *_london(held.london, drawn),
        "## STPT in detail (the paper's section 5.3)",
        *_figure(drawn, "pattern-budget", "pattern MAE and RMSE against budget"),
        *_figure(drawn, "pattern-depth", "pattern MAE and RMSE against depth"),
        *told(found["pattern"]),
        *_figure(drawn, "buckets", "error against the number of buckets"),
        *told(found["buckets"]),
        *_figure(drawn, "runtime", "run time of every method"),
        *told(found["runtime"]),
        "## What the leak is worth",
        *_leak(held, found["leak"], drawn),
        "## Files",
        _files(),
    ]
    return "\n\n".join(parts) + "\n"


def _stamp(held: Held, size: Size) -> str:
    words = (
        "**NOT PRIVATE: everything here was computed from true values, with seeded noise (run times: with real "
        "noise).** Made by `gridveil bench paper`; every sentence with a number, every table and every figure comes "
        "from its results. "
    )
    words += (
        f"{held.done:,} of {held.total:,} trials are done; {size.repeats} of each with other places, queries and noise."
    )
    if held.done < held.total:
        words += " **This is a report on an unfinished run: parts are missing or rest on fewer repeats.**"
    if size.repeats == 1:
        words += " **A quick look: one repeat says little; differences may be chance.**"
    return words


def _summary(found: dict[str, list[Finding]]) -> str:
    everything = [finding for some in found.values() for finding in some if finding.verdict != BESIDE]
    agree, part, not_so = (sum(f.verdict == word for f in everything) for word in (AGREES, IN_PART, DISAGREES))
    return (
        f"Of {len(everything)} statements of the paper's section 5, each tried on every data set and method it can be "
        f"tried on: {agree} agree, {part} agree in part, {not_so} do not. A statement about many cases *agrees* if it "
        f"holds in at least {100 * MOST:.0f} % of them and *in part* from {100 * FEW:.0f} % on."
    )


def _panels(held: Held, found: list[Finding], drawn: list[str]) -> Iterator[str]:
    yield (
        "All of this section is under the common bound (the paper's clip) and against the clipped truth, as in the "
        "paper, on stand-ins. The paper's figure has rows CER, CA, MI and TX; its text speaks of rows CA-Uniform, "
        "CER-Uniform, CA-Normal and CER-Normal. Here the rows are the figure's, each with both placements."
    )
    yield from _figure(drawn, "panels", "twelve comparison panels at epsilon 30")
    yield from told(found)
    if held.panels:
        yield "Mean ranks over data sets, placements and workloads (MRE, clipped truth, common bound; 1 is best):"
        yield markdown(rank_table(held.panels, "common", "clipped"))
        if has_own(held.panels):
            yield "The same against the raw truth, each method under its own bound:"
            yield markdown(rank_table(held.panels, "own", "raw"))
    for placement in ("uniform", "normal"):
        yield from _figure(drawn, f"curves-{placement}", f"error against epsilon, {placement} placement")


def _london(lines: Lines, drawn: list[str]) -> Iterator[str]:
    yield from _figure(drawn, "london", "London: error against epsilon")
    if not lines:
        return
    bound = told_bound(lines)
    yield f"Told of the raw truth, {bound} bound:"
    yield "\n".join(f"- {sentence}" for sentence in sentences(lines))
    yield f"Mean ranks over placements and workloads (MRE, raw truth, {bound} bound; 1 is best):"
    yield markdown(rank_table(lines, bound, "raw"))
    yield "Mean ranks, clipped truth, common bound:"
    yield markdown(rank_table(lines, "common", "clipped"))
    yield "All tables: % mean ± standard deviation over repeats; methods from best to worst by MRE of random queries."
    for placement in dict.fromkeys(case.placement for case in lines):
        yield f"### London, {placement}"
        for epsilon in sorted({case.epsilon for case in select(lines, placement=placement)}):
            for which, truth, table in london_tables(lines, placement, epsilon):
                yield folded(f"{placement}, epsilon {epsilon:g}, {which} bound, {truth} truth", table)


def _leak(held: Held, found: list[Finding], drawn: list[str]) -> Iterator[str]:
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
    yield from _figure(drawn, "leak", "authors' code beside honest methods")
    yield from told(found)
    if not held.leak:
        yield "Not run yet."


def told(found: list[Finding]) -> Iterator[str]:
    """Yield findings: each of the paper's sentences once, what we find on it, and why if that is something else."""
    for paper in dict.fromkeys(finding.paper for finding in found):
        same = [finding for finding in found if finding.paper == paper]
        lines = [f"> {paper}", ""] if same[0].verdict != BESIDE else []
        lines += [f"- {finding.topic}: **{finding.verdict}.** {finding.ours}" for finding in same]
        whys = dict.fromkeys(f.why for f in same if f.why and f.verdict in {IN_PART, DISAGREES})
        yield "\n".join([*lines, *(f"- *Why:* {why}" for why in whys)])


def _figure(drawn: list[str], name: str, words: str) -> Iterator[str]:
    if name in drawn:
        yield f"![{words}](reproduction/{name}.png)\n\n[as SVG](reproduction/{name}.svg)"


def _files() -> str:
    return (
        "In the folder `reproduction`: `london.csv`, `panels.csv`, `buckets.csv`, `leak.csv` (errors, mean and "
        "standard deviation over repeats), `pattern.csv`, `runtime.csv`, `findings.json` (every statement with its "
        "numbers), and the figures as PNG and SVG. Made anew with\n\n"
        "    gridveil bench paper --out OUT --data lcl=readings_hourly.parquet \\\n"
        "        --points feeders.parquet --weight n_meters_median\n"
        "    cp -r OUT/reproduction.md OUT/reproduction docs/"
    )
