"""Writing a release: a folder that is there whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from gridveil.cube import Grid, Window
from gridveil.errors import UsageError
from gridveil.estimate import Estimate
from gridveil.release.files import LABEL, README, VALUES, dump_label
from gridveil.release.label import GridFacts, Label, WindowFacts
from gridveil.release.netcdf import write_netcdf
from gridveil.release.readme import readme


def write_release(path: Path, *, grid: Grid, window: Window, estimate: Estimate, label: Label) -> None:
    """Write a release to a new folder at `path`.

    It is written aside and renamed when every byte is on disk. On a failure nothing is left. The same arguments
    give the same bytes, and nothing is written that is not in them.
    """
    if os.path.lexists(path):
        msg = f"{path}: already there, and never overwritten; give another --out"
        raise UsageError(msg)
    if label.grid != GridFacts.of(grid) or label.window != WindowFacts.of(window):
        msg = "the label describes another grid or window than those of the release"
        raise UsageError(msg)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".gridveil-", dir=path.parent))
    try:
        write_netcdf(aside / VALUES, grid=grid, window=window, estimate=estimate, label=label)
        (aside / LABEL).write_text(dump_label(label), encoding="utf-8")
        (aside / README).write_text(readme(label), encoding="utf-8")
        aside.chmod(0o755)
        for file in (*aside.iterdir(), aside):
            _sync(file)
        aside.rename(path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
