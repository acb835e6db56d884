"""An audit as a picture: what is claimed, what the attacks attained, and what they could have attained at most."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from gridveil.report.figures.style import COLOURS, INK, LINE, QUIET
from gridveil.research.audit.result import Entry

WIDTH, ROW, HEAD, FOOT = 8.0, 0.27, 1.15, 0.6
"""Inches: of the picture, of a mechanism, above the rows and below."""
ROOM = 1.12
"""Of the axis beyond the largest number."""
ATTAINED, ABOVE = COLOURS[0], COLOURS[1]


def draw_audit(found: Sequence[Entry]) -> Figure:
    """Draw a bar for each mechanism from nothing to what was attained, the exact loss, and the line of the claim."""
    height = HEAD + FOOT + ROW * len(found)
    figure = Figure(figsize=(WIDTH, height), dpi=150, facecolor="white")
    axes = figure.add_axes((0.15, FOOT / height, 0.80, ROW * len(found) / height))
    claim = max(entry["epsilon"] for entry in found)
    figure.text(0.03, 1 - 0.33 / height, "Claimed and attained epsilon", color=INK, size=13, weight="bold")
    told = (
        f"Bars: lower bounds on epsilon that attacks proved, all at once with confidence {found[0]['confidence']:.6f}."
    )
    figure.text(0.03, 1 - 0.60 / height, told, color=QUIET, size=9)
    more = "Dots: the exact loss of the worst transcript seen, which endless runs would attain."
    figure.text(0.03, 1 - 0.80 / height, more, color=QUIET, size=9)
    for row, entry in enumerate(found):
        over = entry["lower"] > entry["epsilon"] or entry["faults"]
        axes.barh(row, entry["lower"], height=0.62, color=ABOVE if over else ATTAINED, zorder=2)
        axes.text(entry["lower"] + claim / 100, row, f"{entry['lower']:.2f}", va="center", color=INK, size=8, zorder=4)
        if entry["loss"] is not None:
            axes.plot(entry["loss"], row, marker="o", markersize=5, color=INK, zorder=3)
    axes.axvline(claim, color=ABOVE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=2.5)
    axes.annotate(
        f"claim: {claim:g}",
        xy=(claim, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=ABOVE,
        size=8,
    )
    axes.set_yticks(range(len(found)), [entry["mechanism"] for entry in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(0, max([claim, *(entry["lower"] for entry in found)]) * ROOM)
    axes.set_xlabel("epsilon (larger: less private)", color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=9)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.grid(axis="x", color=LINE, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    return figure
