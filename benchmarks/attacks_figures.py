"""The pictures of docs/attacks.md, from the kept result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from gridveil.report.figures.chart import COLOURS, INK, LINE, QUIET
from gridveil.research.audit.attack_tables import rate_of
from gridveil.trusted.budget import attacker_rate

BLUE, RED, GREEN, PINK = COLOURS[:4]
LOOKS = {
    ("identity", "stated", "canary"): ("attack on the worst-case\nhousehold, identity", PINK, "o", 1.0),
    ("mosaic", "private", "canary"): ("attack on the worst-case\nhousehold, mosaic", BLUE, "s", 1.07),
    ("mosaic", "private", "ordinary"): ("attack on an ordinary\nhousehold, mosaic", GREEN, "^", 1.14),
}
PROVEN = "gridveil: nobody can\ndo better (proven)"


def draw_difference(kept: dict[str, Any], path: Path) -> None:
    """Draw one household's curve, and what two publications give away of it."""
    shown = kept["shown"]
    figure = Figure(figsize=(8, 6.4), dpi=150, facecolor="white")
    figure.text(
        0.03, 0.955, "One household moves in: subtract two publications of its cell", color=INK, size=13, weight="bold"
    )
    kwh, members = kept["household"]["kwh"], kept["household"]["members"]
    of = f"An invented household of {kwh:.0f} kWh in {len(shown['true'])} hours, in a cell of {members} households"
    figure.text(0.03, 0.92, of, color=QUIET, size=9)
    rows = (
        ("What the household really used", "true", INK),
        ("What the 15/15 rule gives away: the same, to the last watt-hour", "rule", RED),
        (
            f"What gridveil's two releases give away at epsilon {shown['epsilon']:g} each: little but noise",
            "mosaic",
            BLUE,
        ),
    )
    hours = np.arange(len(shown["true"]))
    for number, (title, key, colour) in enumerate(rows):
        axes = figure.add_axes((0.09, 0.67 - 0.295 * number, 0.88, 0.185))
        if key == "mosaic":
            axes.plot(hours, shown["true"], color=INK, linewidth=1, label="really used")
        axes.plot(hours, shown[key], color=colour, linewidth=1.5, label="difference of the releases")
        if key == "mosaic":
            axes.legend(
                loc="upper left", bbox_to_anchor=(0, -0.13), ncols=2, frameon=False, fontsize=8, labelcolor=QUIET
            )
        axes.set_title(title, loc="left", color=INK, size=10)
        _plain(axes)
        axes.set_xlim(0, len(hours) - 1)
        axes.set_xticks(hours[::24], [f"day {day + 1}" for day in range(len(hours[::24]))])
        axes.set_ylabel("kWh in the hour", color=QUIET, size=8)
    figure.savefig(path)


def draw_rates(kept: dict[str, Any], path: Path) -> None:
    """Draw how many households an attacker finds, against epsilon."""
    figure = Figure(figsize=(8, 5), dpi=150, facecolor="white")
    axes = figure.add_axes((0.09, 0.12, 0.6, 0.71))
    figure.text(0.03, 0.945, "Is this household in the data?", color=INK, size=13, weight="bold")
    words = (
        "How often an attacker who knows everybody else tells that a household is in the data,",
        "while wrongly accusing 1 in 100 that are not. Bars: 95 % intervals of the attacks that were run",
    )
    for number, line in enumerate(words):
        figure.text(0.03, 0.9 - 0.04 * number, line, color=QUIET, size=9)
    epsilons = sorted({record["epsilon"] for record in kept["membership"]})
    fine = np.geomspace(epsilons[0], epsilons[-1], 400)
    axes.axhline(1.0, color=RED, linestyle="--", linewidth=1.5, label="count rule: always")
    axes.plot(fine, [attacker_rate(epsilon) for epsilon in fine], color=INK, linewidth=2, label=PROVEN)
    for (mechanism, bounds, target), (name, colour, marker, aside) in LOOKS.items():
        records = [
            r
            for r in kept["membership"]
            if (r["mechanism"], r["bounds"], r["target"], r["releases"]) == (mechanism, bounds, target, 1)
        ]
        rates = [rate_of(record) for record in sorted(records, key=lambda record: float(record["epsilon"]))]
        middle = np.array([rate.true_positives for rate in rates])
        limits = np.array([rate.interval() for rate in rates]).T
        beside = (
            np.array(epsilons) * aside
        )  # where points coincide, all are seen; no line: nothing was run between them
        bars = np.abs(limits - middle)
        axes.errorbar(beside, middle, bars, color=colour, marker=marker, linestyle="none", capsize=3, label=name)
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-0.03, 1.06)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axes.set_xlabel("epsilon (smaller: more private)", color=QUIET, size=9)
    axes.set_ylabel("true positives", color=QUIET, size=9)
    axes.axhline(0.01, color=QUIET, linestyle=":", linewidth=1.5, label="guessing: 1 in 100")
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.55), frameon=False, fontsize=9, labelspacing=1.4)
    _plain(axes)
    figure.savefig(path)


def _plain(axes: Axes) -> None:
    axes.tick_params(colors=QUIET, length=0, labelsize=8)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)
