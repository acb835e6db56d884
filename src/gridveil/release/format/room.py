"""How much room a release may take on disk: asked of public numbers, before a row is read or a bit spent."""

from __future__ import annotations

import shutil
from pathlib import Path

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window

VALUE_BYTES = 18
"""A value and its standard error, 4 bytes each if noise leaves nothing to compress; a prefix sum, 8; and an eighth more
for labels of parts, which compress well."""
MOST_DRAWS, MOST_REGIONS, DRAW_BYTES = 200, 64, 4
"""Of an error model that has draws of every cell, and of every step in each region."""


def most_bytes(grid: Grid, window: Window) -> int:
    """Return what a release of this grid and window takes at most, but for texts and the matrix of a linear filter.

    >>> from datetime import UTC, datetime, timedelta
    >>> year = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 8760)
    >>> most_bytes(Grid(0, 0, 1, 1, nx=256, ny=256), year) // 10**9
    10
    """
    edges = (grid.nx + 1) * (grid.ny + 1) * (window.steps + 1)
    return VALUE_BYTES * edges + DRAW_BYTES * MOST_DRAWS * (grid.cells + MOST_REGIONS * window.steps)


def check_room(out: Path, grid: Grid, window: Window) -> None:
    """Refuse a place whose disk has too little room for a release of this grid and window."""
    above = next(folder for folder in out.absolute().parents if folder.exists())
    free, most = shutil.disk_usage(above).free, most_bytes(grid, window)
    if free < most:
        msg = (
            f"{out}: a release of {grid.nx} x {grid.ny} cells and {window.steps} steps may take {_size(most)}, and the "
            f"disk has room for {_size(free)}; make room, or give another --out"
        )
        raise UsageError(msg, code="disk-too-full")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"
