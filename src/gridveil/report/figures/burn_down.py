"""Figures of what a ledger has left: a staircase over releases, or a bar for each ledger window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gridveil.report.figures.chart import COLOURS, INK, LINE, QUIET, short

SPENT, LEFT, LOST = COLOURS[0], "#dceaf4", COLOURS[1]
"""`LOST` was spent without a release."""

WIDTH, HEIGHT = 8.0, 4.5
MAX_NAMES = 12
"""Maximum number of steps or bars that have a name or a number each."""

NAME_HEIGHT, NAME_WIDTH = 0.06, 0.0105
"""Size of a letter next to a step, as a share of the cap and of the axis."""

TITLE_LENGTH = 26
"""Maximum letters of a title next to its step."""

AXIS_TOP = 1.14
"""Upper end of the axis, as a multiple of the cap."""


class SpentBar(NamedTuple):
    """One debit or one ledger window: what it is called, and how much of epsilon went to it."""

    name: str
    epsilon: float
    released: bool = True


class FigureWords(NamedTuple):
    """What stands above a picture, and the same for those who do not see it."""

    title: str
    below: str

    @property
    def description(self) -> str:
        """The alternative text."""
        return f"{self.title}. {self.below}"


def draw_releases(debits: Sequence[SpentBar], cap: float, words: FigureWords) -> Figure:
    """Draw what is left of the cap after every debit, from the left to the right."""
    figure, axes = _new_figure(words, cap, "epsilon left")
    names = [_step_name(debit) for debit in debits] if len(debits) <= MAX_NAMES else []
    # Far enough to the right for every name.
    end = max([len(debits) + 1, *(n / (1 - NAME_WIDTH * len(name)) for n, name in enumerate(names, start=1))])
    lefts = [cap]
    lowest, until = 2 * cap, 0.0  # where the last name is, and ends
    for number, debit in enumerate(debits, start=1):
        lefts.append(lefts[-1] - debit.epsilon)
        axes.plot([number, number], lefts[-2:], color=_colour(debit), linewidth=2.5, solid_capstyle="butt", zorder=2)
        if names and (lowest - lefts[-2] >= NAME_HEIGHT * cap or number > until):
            lowest, until = lefts[-2], number + NAME_WIDTH * len(names[number - 1]) * end
            _write_next_to(axes, names[number - 1], (number, lowest), _colour(debit))
    axes.stairs(lefts, [*range(len(lefts)), end], fill=True, color=LEFT)
    axes.stairs(lefts, [*range(len(lefts)), end], baseline=None, color=SPENT, linewidth=1.2, zorder=1.5)
    axes.set_xlim(0, end)
    axes.set_xticks(range(1, len(lefts), _every(debits)))
    axes.set_xlabel("debits, in the order in which they were made", color=QUIET, size=9)
    _key(figure, [(SPENT, "spent on a release")], debits)
    return figure


def draw_windows(windows: Sequence[SpentBar], cap: float, words: FigureWords) -> Figure:
    """Draw what has been spent on every ledger window, below the cap that each has."""
    figure, axes = _new_figure(words, cap, "epsilon spent in the window")
    places = range(len(windows))
    axes.bar(places, [cap] * len(windows), color=LEFT, width=0.72)
    axes.bar(places, [window.epsilon for window in windows], color=SPENT, width=0.72)
    if len(windows) <= MAX_NAMES:
        for place, window in zip(places, windows, strict=True):
            inside = window.epsilon > 2 * NAME_HEIGHT * cap
            axes.annotate(
                short(window.epsilon),
                (place, window.epsilon),
                xytext=(0, -3 if inside else 2),
                textcoords="offset points",
                ha="center",
                va="top" if inside else "bottom",
                color="white" if inside else INK,
                size=9,
                weight="bold",
            )
    every = _every(windows)
    axes.set_xticks(places[::every], [window.name for window in windows[::every]], rotation=30, ha="right")
    # A single bar would be as wide as the figure.
    axes.set_xlim(-0.6, max(len(windows), 5) - 0.4)
    _key(figure, [(SPENT, "spent"), (LEFT, "left")], [])
    return figure


def shorten(text: str, most: int) -> str:
    """Return a text with a maximum number of letters.

    >>> shorten("West London", 6)
    'West…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _new_figure(words: FigureWords, cap: float, what: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=150, facecolor="white")
    axes = figure.add_axes((0.09, 0.16, 0.87, 0.63))
    figure.text(0.03, 0.93, words.title, color=INK, size=13, weight="bold", parse_math=False)
    figure.text(0.03, 0.87, words.below, color=QUIET, size=9, parse_math=False)
    axes.set_ylim(0, cap * AXIS_TOP)
    axes.axhline(cap, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=3)
    axes.annotate(
        f"cap {short(cap)}",
        xy=(1.0, cap),
        xycoords=("axes fraction", "data"),
        xytext=(-3, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=INK,
        size=9,
    )
    axes.set_ylabel(what, color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=9)
    axes.grid(axis="y", color=LINE)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    return figure, axes


def _step_name(debit: SpentBar) -> str:
    return f"{shorten(debit.name, TITLE_LENGTH)}: {short(debit.epsilon)}"


def _write_next_to(axes: Axes, text: str, top: tuple[float, float], colour: str) -> None:
    """Write at the upper end of a step: what follows is lower, so the space to the right is free."""
    axes.annotate(
        text,
        top,
        xytext=(2, 2),
        textcoords="offset points",
        va="bottom",
        color=colour,
        size=8,
        parse_math=False,
    )


def _colour(debit: SpentBar) -> str:
    return SPENT if debit.released else LOST


def _every(things: Sequence[SpentBar]) -> int:
    """Return how many things there are to one name below the axis."""
    return max(1, -(-len(things) // MAX_NAMES))


def _key(figure: Figure, colours: Sequence[tuple[str, str]], debits: Sequence[SpentBar]) -> None:
    lost = [(LOST, "spent, no release recorded")] if any(not debit.released for debit in debits) else []
    patches = [Patch(color=colour, label=name) for colour, name in (*colours, *lost)]
    figure.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(0.02, 0.86),
        ncols=len(patches),
        frameon=False,
        fontsize=9,
        labelcolor=QUIET,
        handlelength=1,
        handleheight=1,
    )
