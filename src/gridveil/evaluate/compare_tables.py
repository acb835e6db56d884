"""A comparison as tables: on screen, and as the text that lies beside its figures."""

from __future__ import annotations

import io
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
    "wape": "WAPE, % (all absolute errors over all truth)",
    "mre": "MRE, % (mean relative error, queries without truth left out)",
    "mre_floor": f"MRE with a floor, % (truths below {FLOOR:g} kWh count as {FLOOR:g} kWh below the line)",
    "mae": "mean absolute error, kWh",
    "bias": "bias, kWh (mean signed error)",
}
TEXT_WIDTH = 200


def tables(records: Sequence[Record], measure: str = "wape", truth: str = "raw") -> Iterator[Table]:
    """Yield a table for each epsilon: methods from best to worst, the best of each column marked, yardsticks below.

    There are two columns for a workload where some method's own bound is not the common one.
    """
    spreads = summarise(records, measure, truth)
    order = ranking(spreads)
    order += [name for name in dict.fromkeys(record["mechanism"] for record in records) if name not in order]
    bounds = ["own", "common"] if _bounds_differ(records) else ["common"]
    workloads = list(dict.fromkeys(record["workload"] for record in records))
    columns = [(workload, bound) for workload in workloads for bound in bounds]
    repeats = 1 + max(record["repeat"] for record in records)
    for epsilon in sorted({record["epsilon"] for record in records}):
        title = f"epsilon {epsilon:g}: {MEASURES[measure]}, {truth} truth, mean ± s.d. of {repeats} repeats"
        table = Table(title=title, title_justify="left", title_style="bold")
        table.add_column("mechanism", no_wrap=True)
        for workload, bound in columns:
            table.add_column(f"{workload}\n{bound} bound" if len(bounds) > 1 else workload, justify="right")
        table.add_column("seconds", justify="right")
        best = {column: _best(spreads, order, epsilon, column) for column in columns}
        ours = [name for name in order if name not in COMPARISON_ONLY]
        for name in order:
            cells = [
                _cell(spreads.get(Case(name, epsilon, bound, workload)), best=best[workload, bound] == name)
                for workload, bound in columns
            ]
            table.add_row(name, *cells, _seconds(records, name, epsilon), end_section=bool(ours) and name == ours[-1])
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
    console.print("\nMethods from best to worst by mean rank; * is the best of its column.", *notes(records), sep="\n")
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
    text = f"{_short(spread.mean)} ± {_short(spread.deviation)}"
    return Text(f"{text} *", style="bold") if best else Text(f"{text}  ")


def _short(value: float) -> str:
    """Return a figure with the digits that mean something.

    >>> _short(12345.6), _short(123.4), _short(1.234), _short(0.0123)
    ('12,346', '123', '1.2', '0.012')
    """
    if abs(value) >= 100:  # noqa: PLR2004  # three digits are enough
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 or not value else f"{value:.2g}"


def _seconds(records: Sequence[Record], name: str, epsilon: float) -> str:
    found = [r["seconds"] for r in records if r["mechanism"] == name and r["epsilon"] == epsilon]
    return f"{statistics.median(found):.2f}" if found else "-"
