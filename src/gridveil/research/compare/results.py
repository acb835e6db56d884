"""The results of a comparison as tables: on screen, and as the text file beside its figure."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.release.format.wording import high_epsilon
from gridveil.research.compare.bounds import TUNED
from gridveil.research.compare.compare import NOT_PRIVATE
from gridveil.research.compare.study import Record
from gridveil.research.compare.trial import AUTO, TRUTHS, promise
from gridveil.simulate.rehearse import FLOOR

CASE = ["method", "epsilon", "bound", "workload"]
"""What is averaged over repeats; a method is a mechanism with the parameters that are not its defaults."""

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

LIMITS = ["bound_step", "bound_window"]

COMMON_TITLE = "Under the common bound, as `publish` would use it: {} kWh a step, {} kWh in all"

OWN_TITLE = "Under each method's own bound"

AUTO_TITLE = "Under bounds chosen privately and paid for from epsilon, as `publish` does when none is given"

COLUMN = {
    OWN: "own bound, kWh\na step / in all",
    AUTO: "mean bound, kWh\na step / in all",
}
"""Where each method has bounds of its own, a column shows them."""


def make_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return the records of a comparison as a table, with the name of each record's method."""
    return pd.DataFrame(records).assign(method=[method_of(record) for record in records])


def summarise(records: pd.DataFrame, measure: str = "wape", truth: str = "raw") -> pd.DataFrame:
    """Return mean and standard deviation over repeats by case; repeats where the measure is not defined do not count.

    The standard deviation of one repeat is missing.
    """
    scored = records[(records["truth"] == truth) & records[measure].notna()]
    return scored.astype({measure: float}).groupby(CASE, sort=False)[measure].agg(["mean", "std"])


def mean_ranks(errors: pd.Series[float], method: str) -> pd.Series[float]:
    """Return the mean rank of each method, the best first, 1 for the smallest error.

    method: the level of the index that has the methods; the other levels say which contest an error is of.
    """
    contests = [level for level in errors.index.names if level != method]
    ranks = errors.groupby(level=contests).rank(method="first")
    return ranks.groupby(level=method, sort=False).mean().sort_values(kind="stable")


def rank_methods(spreads: pd.DataFrame) -> list[str]:
    """Return the methods from best to worst, by their mean rank over epsilons, bounds and workloads.

    Methods for comparison only promise less, and have no part in it.
    """
    ranked = spreads[~spreads.index.get_level_values("method").isin(COMPARISON_ONLY)]
    return list(mean_ranks(ranked["mean"].abs(), "method").index)


def name_method(mechanism: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a method with its parameters, as `compare` is given it.

    >>> name_method("stpt", {"depth": 4})
    'stpt:depth=4'
    """
    return ":".join([mechanism, *(f"{name}={value}" for name, value in parameters.items())])


def method_of(record: Record) -> str:
    """Return the name of a record's method, with its parameters."""
    return name_method(record["mechanism"], record["parameters"])


def kwh(value: float) -> str:
    """Return a bound in words, exact to the Wh.

    >>> kwh(192.0), kwh(1234567.5), kwh(1.604)
    ('192', '1,234,567.5', '1.604')
    """
    return f"{value:,.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Detail:
    """How much a table shows, so that it fits."""

    seconds: bool = True
    deviations: bool = True


DETAILS = (Detail(), Detail(seconds=False), Detail(seconds=False, deviations=False))
"""What is left out first where a table is too wide."""


def on_screen(records: Sequence[Record], width: int) -> Iterator[Table | Text]:
    """Yield WAPE against the raw truth: under the common bound, under own bounds where they are others, privately."""
    frame = make_frame(records)
    for bound in list_bounds(frame):
        yield from heading(frame, bound)
        yield from tables(frame, bound=bound, width=width)


def list_bounds(records: pd.DataFrame) -> list[str]:
    """Return the names of the bounds to show: the own ones only where some method's is not the common one."""
    present = set(records["bound"])
    stated = records[records["bound"] != AUTO]
    limits = stated.groupby(["method", "epsilon"])[LIMITS].nunique()
    # Where trials failed, there may be the own bound alone.
    own = COMMON not in present or bool((limits > 1).any(axis=None))
    return [bound for bound in (COMMON, OWN, AUTO) if bound in present and (bound != OWN or own)]


def heading(records: pd.DataFrame, bound: str) -> list[Text]:
    """Return what stands above the tables of a bound."""
    if bound == OWN:
        return [Text(OWN_TITLE, style="bold"), Text(TUNED)]
    if bound == AUTO:
        return [Text(AUTO_TITLE, style="bold")]
    step, window = records.loc[records["bound"] == COMMON, LIMITS].iloc[0]
    return [Text(COMMON_TITLE.format(kwh(step), kwh(window)), style="bold")]


def tables(
    records: pd.DataFrame, measure: str = "wape", truth: str = "raw", bound: str = COMMON, width: int = TEXT_WIDTH
) -> Iterator[Table]:
    """Yield a table for each epsilon: methods from best to worst, the best of each column marked, baselines below.

    What does not fit into the width is left out (seconds, then deviations), and then shown in several tables.
    """
    records = records[records["bound"] == bound]
    workloads = list(records["workload"].unique())
    for epsilon in sorted(records["epsilon"].unique()):
        part = records[records["epsilon"] == epsilon]
        yield from _fitting(_Contest(part, measure, truth, bound, epsilon), workloads, width)


class _Contest:
    """The methods at one epsilon under one kind of bound."""

    def __init__(self, records: pd.DataFrame, measure: str, truth: str, bound: str, epsilon: float) -> None:
        spreads = summarise(records, measure, truth)
        ranked = rank_methods(spreads)
        self.bound = bound
        spreads = spreads.droplevel(["epsilon", "bound"])
        ours = spreads[~spreads.index.get_level_values("method").isin(COMPARISON_ONLY)]
        self.best = set(ours["mean"].abs().groupby(level="workload").idxmin())
        self.spreads: dict[Any, dict[Any, float]] = spreads.to_dict("index")
        methods = records.groupby("method", sort=False)
        # Bounds that are chosen privately differ between repeats. The first trial of a process pays for imports.
        self.limits = methods.agg({"bound_step": "first", "bound_window": "mean"}).round(3)
        self.seconds = methods["seconds"].median()
        self.order = [*ranked, *(name for name in self.limits.index if name not in ranked)]
        self.title = f"epsilon {epsilon:g}, {bound} bound: {MEASURES[measure]}, {truth} truth"
        self.repeats = 1 + records["repeat"].max()

    def table(self, workloads: list[str], detail: Detail) -> Table:
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
        for name in self.order:
            cells: list[str | Text] = []
            if self.bound in COLUMN:
                cells.append(" / ".join(map(kwh, self.limits.loc[name])))
            cells += [self._cell(name, workload, detail) for workload in workloads]
            if detail.seconds:
                cells.append(f"{self.seconds[name]:.2f}")
            table.add_row(name, *cells, end_section=bool(ours) and name == ours[-1])
        return table

    def _cell(self, name: str, workload: str, detail: Detail) -> Text:
        if (name, workload) not in self.spreads:
            return Text("-")
        mean, deviation = self.spreads[name, workload].values()
        digits = _digits(mean)
        text = f"{mean:,.{digits}f}"
        if detail.deviations and deviation > 0:
            text += f" ± {deviation:,.{digits}f}"
        return Text(f"{text} *", style="bold") if (name, workload) in self.best else Text(f"{text}  ")


def _fitting(contest: _Contest, workloads: list[str], width: int) -> Iterator[Table]:
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
    frame = make_frame(records)
    for bound in list_bounds(frame):
        console.print("", *heading(frame, bound), sep="\n")
        for measure in MEASURES:
            for truth in TRUTHS:
                for table in tables(frame, measure, truth, bound):
                    console.print("", table)
    return text.getvalue()


def _digits(value: float) -> int:
    """Return how many decimals of a figure mean something: three digits in all.

    >>> _digits(123.4), _digits(1.234), _digits(-0.0123)
    (0, 2, 4)
    """
    return max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
