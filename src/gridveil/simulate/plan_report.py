"""The report of a plan: tables, sentences and a figure."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from rich.table import Column, Table

from gridveil.release.format.facts import attack_rates
from gridveil.release.format.wording import AttackStatement, describe_attacks, high_epsilon
from gridveil.report.figures.chart import COLOURS, INK, LINE, QUIET, short, spaced
from gridveil.simulate.plan_queries import format_length, name_places
from gridveil.simulate.planning import USEFUL, Outlook

INVENTED = (
    "All of this is from an invented town: households use 0.5 kW on average, about what they do in Europe, some "
    "several times that, and most of them live in a few quarters. Errors are larger where households differ more, and "
    "smaller with more households or larger cells. Errors include clipping by the bounds. The typical error is that of "
    "the rehearsals; the 95 % interval is what a release promises. Each grid is rehearsed as a separate release."
)


RELEASES_A_YEAR = {"day": 365, "week": 52, "month": 12}

OUTLIER_FACTOR = 3
"""A rehearsal whose error is more than this many times the typical one is mentioned."""

MAX_PERCENT = 1000
"""Larger errors are all shown as "over 1,000 %"."""


def heading(outlook: Outlook) -> str:
    """Return what was rehearsed."""
    often = "once" if outlook.repeats == 1 else f"{outlook.repeats} times"
    return (
        f"{outlook.plan.spec.mechanism}, rehearsed {often} on an invented town of {outlook.rehearsed:,} households. "
        "Typical error in percent of the true answer:"
    )


def expectations(outlook: Outlook) -> Table:
    """Return the typical error of every kind of query at every epsilon."""
    epsilons = sorted(outlook.tallies)
    table = Table(
        Column("query", no_wrap=True),
        *(Column(f"epsilon {epsilon:g}", justify="right") for epsilon in epsilons),
        Column(f"95 % interval at {outlook.epsilon:g}", justify="right"),
    )
    last = outlook.queries[0].place
    for query in outlook.queries:
        if query.place != last:
            table.add_section()
            last = query.place
        curve = outlook.curve(query)
        width = outlook.tallies[outlook.epsilon][query].interval_percent
        cells = (_percent(curve[epsilon]) for epsilon in epsilons)
        table.add_row(f"{query.place}, {query.period}", *cells, f"± {_percent(width)}")
    return table


def sizes(outlook: Outlook) -> Table:
    """Return the typical error of one cell on other grids, over each step; useful ones are marked."""
    steps = list(outlook.sizes[0].tallies)
    own, own_step = (outlook.plan.grid.nx, outlook.plan.grid.ny), outlook.plan.window.step
    table = Table(
        Column("one cell of", no_wrap=True),
        *(Column(f"over {period(step)}{' (yours)' * (step == own_step)}", justify="right") for step in steps),
        title=f"Typical error of one cell on other grids, at epsilon {outlook.epsilon:g} (✓: useful)",
        title_justify="left",
    )
    for size in outlook.sizes:
        name = f"{size.cells[0]} x {size.cells[1]}{' (yours)' if size.cells == own else ''}"
        found = (size.percent(step) for step in steps)
        table.add_row(name, *(f"{_percent(error)} {'✓' if error <= USEFUL else ' '}" for error in found))
    return table


def sentences(outlook: Outlook) -> list[str]:
    """Return what follows from an outlook, and its limits."""
    return [_summary(outlook), _advice(outlook), *_alternatives(outlook), *_limits(outlook)]


def privacy(epsilon: float, cadence: str | None = None) -> list[str]:
    """Return what an attacker can learn from one release, and from a year of a series."""
    stated, advice = [AttackStatement(attack_rates(epsilon), "one release")], []
    releases = RELEASES_A_YEAR.get(cadence or "")
    if releases is not None:
        total = float(releases * Fraction(str(epsilon)))
        stated.append(AttackStatement(attack_rates(total), f"a year of {releases} releases"))
        advice.append(
            f"To limit what a year reveals, give the ledger the unit household and a cap: each release may then have a "
            f"{releases}th of it. With the unit household-window the cap is for one {cadence} only."
        )
    return [*describe_attacks(stated), *advice, *map(str, high_epsilon(epsilon))]


def _summary(outlook: Outlook) -> str:
    parts = []
    for cells, name in name_places(outlook.plan.grid).items():
        error = outlook.expected(cells)
        known = f"good to {_percent(error)}" if error <= USEFUL else f"not useful ({_percent(error)})"
        parts.append(f"{_the(name)} {'are' if name[0].isdigit() else 'is'} {known}")
    given = "" if outlook.plan.spec.epsilon is not None else " (none was given)"
    return (
        f"At epsilon {outlook.epsilon:g}{given} with about {outlook.households:,} households, over "
        f"{period(outlook.basis)}: {'; '.join(parts)}."
    )


def _advice(outlook: Outlook) -> str:
    rule = f"A number is useful if its typical error is at most {USEFUL:g} %."
    ways = []
    for size, step in outlook.suggested:
        # The table's numbers, which the proof confirmed; for blocks only the proof has numbers.
        shown = outlook.proofs[size.cells, step] if size.of_blocks else size
        over = sorted({step, outlook.basis})
        good = ", ".join(f"{_percent(shown.percent(each))} over {period(each)}" for each in over)
        ways.append(f"{_flags(outlook, size.cells, step)} (one cell is good to {good})")
    if not ways:
        return f"{rule} At this epsilon and with so few households, no grid was found whose every step is useful."
    return f"{rule} Suggested: {'; or, for smaller cells, '.join(ways)}."


def _flags(outlook: Outlook, cells: tuple[int, int], step: timedelta) -> str:
    """Return the flags that make the plan a suggested one."""
    grid, window = outlook.plan.grid, outlook.plan.window
    flags = [] if cells == (grid.nx, grid.ny) else [f"--grid {cells[0]}x{cells[1]}"]
    if step != window.step:
        steps = "" if outlook.takes is not None else f" --steps {window.steps * window.step // step}"
        flags.append(f"--step {_flag(step)}{steps}")
    return " ".join(flags) or "your own grid and step"


def _alternatives(outlook: Outlook) -> list[str]:
    """Return what else would make the plan's own cells useful: more households, or more epsilon."""
    if outlook.expected((1, 1)) <= USEFUL:
        return []
    ways = []
    households, epsilon = outlook.enough_households, outlook.enough_epsilon
    if households is not None:
        ways.append(f"about {_rounded(households):,.0f} households")
    if epsilon is not None:
        ways.append(f"epsilon {_rounded(epsilon):g} (weaker privacy)")
    cell = f"One of your {outlook.plan.grid.nx} x {outlook.plan.grid.ny} cells over {period(outlook.basis)}"
    if ways:
        return [f"{cell} would be useful with {' or with '.join(ways)}."]
    if not outlook.more and max(outlook.tallies) <= outlook.epsilon:
        return []  # nothing else was tried
    most = max([outlook.rehearsed, *outlook.more])
    return [f"{cell} would not be useful with {most:,} households, nor at epsilon {max(outlook.tallies):g}."]


def _limits(outlook: Outlook) -> list[str]:
    lines = [INVENTED, *_worst_rehearsal(outlook)]
    if outlook.rehearsed < outlook.households:
        lines.append(
            f"Rehearsed with {outlook.rehearsed:,} households, for lack of memory: with {outlook.households:,} errors "
            "are smaller."
        )
    if any(size.of_blocks for size in outlook.sizes):
        lines.append(
            "Errors of coarser grids are estimated from blocks of your cells, for lack of time; suggestions were "
            "rehearsed, so their numbers may differ from the table's."
        )
    if outlook.skipped:
        names = ", ".join(f"{epsilon:g}" for epsilon in outlook.skipped)
        lines.append(f"A rehearsal of this grid takes long: there was no time for epsilon {names}.")
    return lines


def _worst_rehearsal(outlook: Outlook) -> list[str]:
    """Return a sentence on the worst rehearsal, if it is an outlier: the noise of a histogram has long tails."""
    whole = outlook.tallies[outlook.epsilon][outlook.queries[0]]
    worst = max(whole.each, default=0.0)
    if worst <= max(USEFUL, OUTLIER_FACTOR * whole.percent):
        return []
    sentence = (
        f"The typical error is the median of {len(whole.each)} rehearsals. In the worst, the whole map was off by "
        f"{_percent(worst)}: that may happen in a town of so few households."
    )
    return [sentence]


def _the(place: str) -> str:
    if place == "whole map":
        return "the whole map"
    return place if place[0].isdigit() or place.startswith("one") else f"a {place}"


def period(step: timedelta) -> str:
    """Return a length of time; a day is called one."""
    return "a day" if step == timedelta(days=1) else format_length(step)


def _flag(step: timedelta) -> str:
    """Return a step as `--step` takes it."""
    return format_length(step).replace(",", "").replace(" ", "").replace("days", "d")


def _percent(value: float) -> str:
    """Return a percentage with the digits that a few rehearsals support.

    >>> _percent(0.123), _percent(4.56), _percent(20.4), _percent(123.4)
    ('0.1 %', '4.6 %', '20.4 %', '123 %')
    """
    if value >= MAX_PERCENT:
        return f"over {MAX_PERCENT:,} %"
    digits = 1 if value < 10 or abs(value - USEFUL) < 0.5 else 0  # noqa: PLR2004  # two digits, and 20.4 is above 20
    return f"{value:,.{digits}f} %"


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


# The figure: the typical error against epsilon, a line for each kind of place, and the useful level.

WIDTH, HEIGHT = 8.0, 5.0
MARKERS = ("o", "s", "^", "D")
POINTS, LINE_HEIGHT = 9, 1.5
AXIS_MARGIN = 1.25
"""Factor by which the axes go beyond the curves and the useful level."""


class PlanCurve(NamedTuple):
    """A line of the figure."""

    name: str
    colour: str
    marker: str
    epsilons: list[float]
    errors: list[float]


def draw_outlook(outlook: Outlook) -> Figure:
    """Draw the errors of the map, a district, a street and a cell over a day against epsilon, both axes logarithmic."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=150, facecolor="white")
    axes = figure.add_axes((0.09, 0.12, 0.64, 0.68))
    grid, window = outlook.plan.grid, outlook.plan.window
    figure.text(0.03, 0.945, "What error to expect", color=INK, size=13, weight="bold")
    of = f"{grid.nx} x {grid.ny} cells, {window.steps:,} steps of {period(window.step)}, {outlook.plan.spec.mechanism}"
    figure.text(
        0.03, 0.895, f"Typical error over {period(outlook.basis)}, %, against epsilon: {of}", color=QUIET, size=9
    )
    where = f"Rehearsed on an invented town of {outlook.rehearsed:,} households; nobody's data were read"
    figure.text(0.03, 0.855, where, color=QUIET, size=9)
    curves = _curves(outlook)
    _draw(axes, curves)
    _mark(axes, outlook.epsilon, given=outlook.plan.spec.epsilon is not None)
    _label(axes, curves)
    return figure


def _curves(outlook: Outlook) -> list[PlanCurve]:
    found = []
    for (cells, name), colour, marker in zip(name_places(outlook.plan.grid).items(), COLOURS, MARKERS, strict=False):
        points = {e: error for e, error in outlook.curve(outlook.over_basis(cells)).items() if error > 0}
        if points:
            found.append(PlanCurve(name, colour, marker, list(points), list(points.values())))
    return found


def _draw(axes: Axes, curves: list[PlanCurve]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve in curves:
        axes.plot(curve.epsilons, curve.errors, color=curve.colour, marker=curve.marker, markersize=5, linewidth=2)
    errors = [USEFUL, *(error for curve in curves for error in curve.errors)]
    axes.set_ylim(min(errors) / AXIS_MARGIN, max(errors) * AXIS_MARGIN)
    epsilons = sorted({epsilon for curve in curves for epsilon in curve.epsilons})
    axes.set_xlim(epsilons[0] / AXIS_MARGIN, epsilons[-1] * AXIS_MARGIN)
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{short(value)} %"))
    axes.set_xlabel("epsilon (smaller: more private)", color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=9)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)


def _mark(axes: Axes, epsilon: float, *, given: bool) -> None:
    """Shade where errors are useful, and mark the epsilon of the plan."""
    axes.axhspan(axes.get_ylim()[0], USEFUL, color="#f1f6fa", zorder=0)
    axes.axhline(USEFUL, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1.5)
    # Curves fall to the right, so the corner is free.
    axes.text(0.01, 0.01, f"useful: at most {USEFUL:g} %", transform=axes.transAxes, va="bottom", color=INK, size=8)
    axes.axvline(epsilon, color=QUIET, linewidth=1, linestyle=":", zorder=1)
    axes.annotate(
        f"your epsilon: {epsilon:g}" if given else f"epsilon {epsilon:g}",
        xy=(epsilon, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=QUIET,
        size=8,
    )


def _label(axes: Axes, curves: list[PlanCurve]) -> None:
    """Write each name at the end of its line, moved until none covers another."""
    curves = sorted(curves, key=lambda curve: curve.errors[-1])
    height = axes.bbox.height
    ends = axes.transData.transform([(curve.epsilons[-1], curve.errors[-1]) for curve in curves])[:, 1] - axes.bbox.y0
    gap = POINTS * LINE_HEIGHT * axes.figure.dpi / 72
    for curve, y in zip(curves, np.clip(spaced(ends, gap), 0, height), strict=True):
        axes.annotate(
            curve.name,
            xy=(1.0, y / height),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=curve.colour,
            size=POINTS,
            weight="bold",
            annotation_clip=False,
        )
