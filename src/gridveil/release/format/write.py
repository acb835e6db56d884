"""Write a release, whole or not at all, where the disk has space for it."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.files import new_folder
from gridveil.model.progress import Progress, silent
from gridveil.model.window import Window
from gridveil.release.format.documents import readme
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.files import ENTRY, LABEL, README, VALUES, dump_label, write_sums
from gridveil.release.format.label import Label
from gridveil.release.format.netcdf import write_netcdf
from gridveil.uncertainty.model import Estimate

# How much disk space a release may take: from public numbers, before a row is read or budget is spent.

VALUE_BYTES = 18
"""A value and its standard error, 4 bytes each if noise leaves nothing to compress; a prefix sum, 8; and an eighth more
for labels of parts, which compress well."""
MAX_DRAWS, MAX_REGIONS, DRAW_BYTES = 200, 64, 4
"""Of an error model that has draws of every cell, and of every step in each region."""


def max_bytes(grid: Grid, window: Window) -> int:
    """Return what a release of this grid and window takes at most, but for texts and the matrix of a linear filter.

    >>> from datetime import UTC, datetime, timedelta
    >>> year = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 8760)
    >>> max_bytes(Grid(0, 0, 1, 1, nx=256, ny=256), year) // 10**9
    10
    """
    edges = (grid.nx + 1) * (grid.ny + 1) * (window.steps + 1)
    return VALUE_BYTES * edges + DRAW_BYTES * MAX_DRAWS * (grid.cells + MAX_REGIONS * window.steps)


def check_disk_space(out: Path, grid: Grid, window: Window) -> None:
    """Refuse a place whose disk has too little free space for a release of this grid and window."""
    above = next(folder for folder in out.absolute().parents if folder.exists())
    free, needed = shutil.disk_usage(above).free, max_bytes(grid, window)
    if free < needed:
        msg = (
            f"{out}: a release of {grid.nx} x {grid.ny} cells and {window.steps} steps may take {_to_text(needed)}, "
            f"and the disk has {_to_text(free)} free; free some space, or give another --out"
        )
        raise UsageError(msg, code="disk-too-full")


def _to_text(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"


# Writing a release: a folder that is there whole, or not at all.


def write_release(
    path: Path,
    *,
    grid: Grid,
    window: Window,
    estimate: Estimate,
    label: Label,
    entry: str | None = None,
    progress: Progress = silent,
) -> dict[str, str]:
    """Write a release to a new folder at `path`, and return the SHA-256 of its files.

    It is written aside and renamed when every byte is on disk. On a failure nothing is left. The same arguments
    give the same bytes and times, and nothing is written that is not in them. `entry` is the text of the ledger's
    entry whose hash the label has.
    """
    if label.grid != GridFacts.of(grid) or label.window != WindowFacts.of(window):
        msg = "the label describes another grid or window than those of the release"
        raise UsageError(msg, code="label-other-cube")
    stated = None if label.ledger_entry is None else label.ledger_entry.hash
    if stated != (None if entry is None else sha256(entry.encode()).hexdigest()):
        msg = "the label names another entry of a ledger than that of the release"
        raise UsageError(msg, code="label-other-entry")
    with new_folder(path, label.published) as aside:
        negative = write_netcdf(
            aside / VALUES, grid=grid, window=window, estimate=estimate, label=label, progress=progress
        )
        (aside / LABEL).write_text(dump_label(label), encoding="utf-8")
        truth = estimate.errors.about_the_truth
        (aside / README).write_text(readme(label, about_the_truth=truth, negative=negative), encoding="utf-8")
        if entry is not None:
            (aside / ENTRY).write_bytes(entry.encode())
        digests = write_sums(aside, progress)
        aside.chmod(0o755)
    return digests
