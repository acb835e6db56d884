"""A comparison as tables: on screen, and as the text that lies beside its figures."""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gridveil.evaluate.compare import NOT_PRIVATE
from gridveil.evaluate.errors import FLOOR
from gridveil.evaluate.scoring import TRUTHS, Record
from gridveil.evaluate.summary import Case, Spread, ranking, summarise
from gridveil.evaluate.trial import promise
from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.release.wording import high_epsilon

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


def tables(records: Sequence[Record], measure: str = "wape", truth: str = "raw") -> Iterator[Table]:
    """Yield a table for each epsilon: methods from best to worst, the best of each column marked, yardsticks below.

    There are two columns for a workload where some method's own bound is not the common one.
    """
    spreads = summarise(records, measure, truth)
    seconds = _seconds(records)
    methods = list(dict.fromkeys(record["mechanism"] for record in records))
    bounds = ["own", "common"] if _bounds_differ(records) else ["common"]
    workloads = list(dict.fromkeys(record["workload"] for record in records))
    columns = [(workload, bound) for workload in workloads for bound in bounds]
    repeats = 1 + max(record["repeat"] for record in records)
    for epsilon in sorted({record["epsilon"] for record in records}):
        over = f"mean ± s.d. of {repeats} repeats" if repeats > 1 else "once"
        title = f"epsilon {epsilon:g}: {MEASURES[measure]}, {truth} truth ({over})"
        table = Table(title=title, title_justify="left", title_style="bold")
        table.add_column("mechanism", no_wrap=True)
        for workload, bound in columns:
            table.add_column(f"{workload}\n{bound} bound" if len(bounds) > 1 else workload, justify="right")
        table.add_column("seconds", justify="right")
        order = ranking({case: spread for case, spread in spreads.items() if case.epsilon == epsilon})
        order += [name for name in methods if name not in order and (name, epsilon) in seconds]
        best = {column: _best(spreads, order, epsilon, column) for column in columns}
        ours = [name for name in order if name not in COMPARISON_ONLY]
        for name in order:
            cells = [
                _cell(spreads.get(Case(name, epsilon, bound, workload)), best=best[workload, bound] == name)
                for workload, bound in columns
            ]
            table.add_row(name, *cells, f"{seconds[name, epsilon]:.2f}", end_section=bool(ours) and name == ours[-1])
        yield table


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
    lines += high_epsilon(max(record["epsilon"] for record in records))
    return lines


def as_text(records: Sequence[Record]) -> str:
    """Return every measure against both truths as plain text, stamped."""
    text = io.StringIO()
    console = Console(file=text, width=TEXT_WIDTH, color_system=None, markup=False, highlight=False)
    console.print(NOT_PRIVATE)
    console.print(LEGEND, *notes(records), sep="\n")
    for measure in MEASURES:
        for truth in TRUTHS:
            for table in tables(records, measure, truth):
                console.print("", table)
    return text.getvalue()


def _bounds_differ(records: Sequence[Record]) -> bool:
    limits: dict[tuple[str, float], set[tuple[float, float]]] = {}
    for record in records:
        pair = (record["bound_step"], record["bound_window"])
        limits.setdefault((record["mechanism"], record["epsilon"]), set()).add(pair)
    return any(len(pairs) > 1 for pairs in limits.values())


def _best(spreads: dict[Case, Spread], order: list[str], epsilon: float, column: tuple[str, str]) -> str | None:
    workload, bound = column
    found = {
        name: abs(spreads[case].mean)
        for name in order
        if name not in COMPARISON_ONLY and (case := Case(name, epsilon, bound, workload)) in spreads
    }
    return min(found, key=found.__getitem__) if found else None


def _cell(spread: Spread | None, *, best: bool) -> Text:
    if spread is None:
        return Text("-")
    digits = _digits(spread.mean)
    text = f"{spread.mean:,.{digits}f}"
    if spread.deviation:
        text += f" ± {spread.deviation:,.{digits}f}"
    return Text(f"{text} *", style="bold") if best else Text(f"{text}  ")


def _digits(value: float) -> int:
    """Return how many decimals of a figure mean something: three digits in all.

    >>> _digits(123.4), _digits(1.234), _digits(-0.0123)
    (0, 2, 4)
    """
    return max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0


def _seconds(records: Sequence[Record]) -> dict[tuple[str, float], float]:
    """Return the median time of each method at each epsilon: the first trial of a process pays for imports."""
    found: dict[tuple[str, float], list[float]] = {}
    for record in records:
        found.setdefault((record["mechanism"], record["epsilon"]), []).append(record["seconds"])
    return {case: statistics.median(times) for case, times in found.items()}
