"""Colours, formats and labels that all figures share."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00")
"""Of the best methods, best first; distinct for the colour-blind, and dark enough for text."""


INK, QUIET, GREY, LINE = "#1a1a1a", "#666666", "#b5b5b5", "#e6e6e6"

FORMATS = ("png", "svg", "pdf")


def check_format(path: Path) -> str:
    """Return the format that a figure's name asks for; refuse names that ask for another."""
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        msg = f"--figure {path}: give a name that ends in {', '.join(f'.{known}' for known in FORMATS)}"
        raise UsageError(msg, code="figure-format")
    return name


def as_file(figure: Figure, kind: str = "png", description: str | None = None) -> bytes:
    """Return a figure as the bytes of a file of one of the formats. description: for readers who do not see it."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=None if description is None else {"Title": description})
    return file.getvalue()


def spaced(wanted: Floats, gap: float) -> Floats:
    """Return ascending positions at least `gap` apart, as near to the wanted ascending ones as can be.

    Least squares: take the gaps out, replace what is then out of order by its mean, put them back in.

    >>> spaced(np.array([0.0, 1.0, 10.0]), 3.0)
    array([-1.,  2., 10.])
    """
    gaps = gap * np.arange(len(wanted))
    blocks: list[list[float]] = []
    for value in wanted - gaps:
        blocks.append([float(value)])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    means = [np.full(len(block), np.mean(block)) for block in blocks]
    return np.asarray(np.concatenate(means) + gaps, dtype=np.float64)
