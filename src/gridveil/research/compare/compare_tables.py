"""A comparison as tables: on screen, and as the text that lies beside its figures."""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.release.format.wording import high_epsilon
from gridveil.research.compare.compare import NOT_PRIVATE
from gridveil.research.compare.own_bounds import TUNED
from gridveil.research.compare.scoring import TRUTHS, Record
from gridveil.research.compare.summary import ComparedCase, MeanSpread, kwh, method_of, ranking, summarise
from gridveil.research.compare.trial import AUTO, promise
from gridveil.simulate.rehearse import FLOOR

MEASURES = {
    "wape": "WAPE, %",
    "mre": "MRE, %",
    "mre_floor": f"MRE with a floor of {FLOOR:g} kWh, %",
    "mae": "mean absolute error, kWh",
    "bias": "bias, kWh",
}
LEGEND = f"""
WAPE: all absolute errors over all truth. MRE: mean of error over truth, queries without truth left out (authors-*: \
divided by 20 kWh).
MRE with a floor: truths below {FLOOR:g} kWh count as {FLOOR:g} kWh below the line. Bias: mean signed error.
Raw truth: what was consumed. Clipped: every reading cut at the same public number first.
Methods stand from best to worst by their mean rank in the columns of a table; * is the best of its column.
"""
TEXT_WIDTH = 200
MEASURED_AT = 10_000
"""Columns in which any table has room."""

COMMON, OWN = "common", "own"
COMMON_TITLE = "Under the common bound, as `publish` would use it: {} kWh a step, {} kWh in all"
OWN_TITLE = "Under each method's own bound"
AUTO_TITLE = "Under bounds chosen privately and paid for from epsilon, as `publish` does when none is given"
COLUMN = {
    OWN: "own bound, kWh\na step / in all",
    AUTO: "mean bound, kWh\na step / in all",
}
"""Where each method has bounds of its own, a column tells them."""


@dataclass(frozen=True)
class Detail:
    """How much a table tells, so that it fits."""

    seconds: bool = True
    deviations: bool = True


DETAILS = (Detail(), Detail(seconds=False), Detail(seconds=False, deviations=False))
"""What is left out first where a table is too wide."""


def on_screen(records: Sequence[Record], width: int) -> Iterator[Table | Text]:
    """Yield WAPE against the raw truth: under the common bound, under own bounds where they are others, privately."""
    for bound in bounds(records):
        yield from heading(records, bound)
        yield from tables(records, bound=bound, width=width)


def bounds(records: Sequence[Record]) -> list[str]:
    """Return the names of the bounds to tell of: the own ones only where some method's is not the common one."""
    there = {record["bound"] for record in records}
    limits: dict[tuple[str, float], set[tuple[float, float]]] = {}
    for record in records:
        if record["bound"] != AUTO:
            limits.setdefault((method_of(record), record["epsilon"]), set()).add(_limits(record))
    # Where trials failed, there is perhaps the own bound alone.
    own = COMMON not in there or any(len(pairs) > 1 for pairs in limits.values())
    return [bound for bound in (COMMON, OWN, AUTO) if bound in there and (bound != OWN or own)]


def heading(records: Sequence[Record], bound: str) -> list[Text]:
    """Return what stands above the tables of a bound."""
    if bound == OWN:
        return [Text(OWN_TITLE, style="bold"), Text(TUNED)]
    if bound == AUTO:
        return [Text(AUTO_TITLE, style="bold")]
    step, window = next(_limits(record) for record in records if record["bound"] == COMMON)
    return [Text(COMMON_TITLE.format(kwh(step), kwh(window)), style="bold")]


def tables(
    records: Sequence[Record], measure: str = "wape", truth: str = "raw", bound: str = COMMON, width: int = TEXT_WIDTH
) -> Iterator[Table]:
    """Yield a table for each epsilon: methods from best to worst, the best of each column marked, yardsticks below.

    What does not fit into the width is left out (seconds, then deviations), and then told in several tables.
    """
    records = [record for record in records if record["bound"] == bound]
    workloads = list(dict.fromkeys(record["workload"] for record in records))
    for epsilon in sorted({record["epsilon"] for record in records}):
        part = [record for record in records if record["epsilon"] == epsilon]
        yield from _fitting(_Contest(part, measure, truth, bound, epsilon), workloads, width)


class _Contest:
    """The methods at one epsilon under one kind of bound."""

    def __init__(self, records: Sequence[Record], measure: str, truth: str, bound: str, epsilon: float) -> None:
        self.spreads = summarise(records, measure, truth)
        self.bound, self.epsilon = bound, epsilon
        self.limits = _mean_limits(records)
        self.seconds = _seconds(records)
        ranked = ranking(self.spreads)
        self.order = [*ranked, *(name for name in self.limits if name not in ranked)]
        self.title = f"epsilon {epsilon:g}, {bound} bound: {MEASURES[measure]}, {truth} truth"
        self.repeats = 1 + max(record["repeat"] for record in records)

    def table(self, workloads: Sequence[str], detail: Detail) -> Table:
        over = f"{'mean ± s.d.' if detail.deviations else 'mean'} of {self.repeats} repeats"
        title = f"{self.title} ({over if self.repeats > 1 else 'once'})"
        table = Table(title=title, title_justify="left", title_style="bold")
        table.add_column("mechanism", no_wrap=True)
        if self.bound in COLUMN:
            table.add_column(COLUMN[self.bound], justify="right", no_wrap=True)
        for workload in workloads:
            table.add_column(workload, justify="right", no_wrap=True)
        if detail.seconds:
            table.add_column("seconds", justify="right", no_wrap=True)
        ours = [name for name in self.order if name not in COMPARISON_ONLY]
        best = {workload: self._best(ours, workload) for workload in workloads}
        for name in self.order:
            step, window = self.limits[name]
            cells: list[str | Text] = [f"{kwh(step)} / {kwh(window)}"] if self.bound in COLUMN else []
            for workload in workloads:
                spread = self.spreads.get(self._case(name, workload))
                cells.append(_cell(spread, best=best[workload] == name, deviations=detail.deviations))
            cells += [f"{self.seconds[name]:.2f}"] if detail.seconds else []
            table.add_row(name, *cells, end_section=bool(ours) and name == ours[-1])
        return table

    def _case(self, name: str, workload: str) -> ComparedCase:
        return ComparedCase(name, self.epsilon, self.bound, workload)

    def _best(self, names: list[str], workload: str) -> str | None:
        found = {name: self.spreads[case] for name in names if (case := self._case(name, workload)) in self.spreads}
        return min(found, key=lambda name: abs(found[name].mean)) if found else None


def _fitting(contest: _Contest, workloads: Sequence[str], width: int) -> Iterator[Table]:
    for detail in DETAILS:
        table = contest.table(workloads, detail)
        if Console(width=MEASURED_AT).measure(table).maximum <= width:
            yield table
            return
    if len(workloads) == 1:
        yield table
        return
    middle = (len(workloads) + 1) // 2
    yield from _fitting(contest, workloads[:middle], width)
    yield from _fitting(contest, workloads[middle:], width)


def notes(records: Sequence[Record]) -> list[str]:
    """Return what a reader of the tables must know beside the figures."""
    lines = [
        f"{name}: {promise(name)}. Not ranked."
        for name in dict.fromkeys(record["mechanism"] for record in records)
        if name in COMPARISON_ONLY
    ]
    gaps = sorted({record["mechanism"] for record in records if record["suppressed"]})
    if gaps:
        lines.append(f"{', '.join(gaps)}: cells that are not published count as zero in the answers.")
    lines += map(str, high_epsilon(max(record["epsilon"] for record in records)))
    return lines


def as_text(records: Sequence[Record]) -> str:
    """Return every measure against both truths as plain text, stamped."""
    text = io.StringIO()
    console = Console(file=text, width=TEXT_WIDTH, color_system=None, markup=False, highlight=False)
    console.print(NOT_PRIVATE)
    console.print(LEGEND, *notes(records), sep="\n")
    for bound in bounds(records):
        console.print("", *heading(records, bound), sep="\n")
        for measure in MEASURES:
            for truth in TRUTHS:
                for table in tables(records, measure, truth, bound):
                    console.print("", table)
    return text.getvalue()


def _mean_limits(records: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """Return each method's bounds, the mean over repeats where they were chosen anew in each."""
    found: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        found.setdefault(method_of(record), []).append(_limits(record))
    return {name: (pairs[0][0], round(statistics.fmean(w for _, w in pairs), 3)) for name, pairs in found.items()}


def _limits(record: Record) -> tuple[float, float]:
    return record["bound_step"], record["bound_window"]


def _cell(spread: MeanSpread | None, *, best: bool, deviations: bool) -> Text:
    if spread is None:
        return Text("-")
    digits = _digits(spread.mean)
    text = f"{spread.mean:,.{digits}f}"
    if spread.deviation and deviations:
        text += f" ± {spread.deviation:,.{digits}f}"
    return Text(f"{text} *", style="bold") if best else Text(f"{text}  ")


def _digits(value: float) -> int:
    """Return how many decimals of a figure mean something: three digits in all.

    >>> _digits(123.4), _digits(1.234), _digits(-0.0123)
    (0, 2, 4)
    """
    return max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0


def _seconds(records: Sequence[Record]) -> dict[str, float]:
    """Return the median time of each method: the first trial of a process pays for imports."""
    found: dict[str, list[float]] = {}
    for record in records:
        found.setdefault(method_of(record), []).append(record["seconds"])
    return {name: statistics.median(times) for name, times in found.items()}
