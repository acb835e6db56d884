"""Writing a release: a folder that is there whole, or not at all."""

from __future__ import annotations

from pathlib import Path

from gridveil.cube import Grid, Window
from gridveil.errors import UsageError
from gridveil.estimate import Estimate, Posterior
from gridveil.folder import new_folder
from gridveil.release.files import LABEL, README, VALUES, dump_label
from gridveil.release.label import GridFacts, Label, WindowFacts
from gridveil.release.netcdf import write_netcdf
from gridveil.release.readme import readme


def write_release(path: Path, *, grid: Grid, window: Window, estimate: Estimate, label: Label) -> None:
    """Write a release to a new folder at `path`.

    It is written aside and renamed when every byte is on disk. On a failure nothing is left. The same arguments
    give the same bytes, and nothing is written that is not in them.
    """
    if label.grid != GridFacts.of(grid) or label.window != WindowFacts.of(window):
        msg = "the label describes another grid or window than those of the release"
        raise UsageError(msg)
    with new_folder(path) as aside:
        write_netcdf(aside / VALUES, grid=grid, window=window, estimate=estimate, label=label)
        (aside / LABEL).write_text(dump_label(label), encoding="utf-8")
        truth, negative = isinstance(estimate.errors, Posterior), bool((estimate.values < 0).any())
        (aside / README).write_text(readme(label, about_the_truth=truth, negative=negative), encoding="utf-8")
        aside.chmod(0o755)
