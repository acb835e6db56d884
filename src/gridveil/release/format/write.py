"""Writing a release: a folder that is there whole, or not at all."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.estimate import Estimate, Posterior
from gridveil.model.folder import new_folder
from gridveil.model.progress import Progress, silent
from gridveil.model.window import Window
from gridveil.release.format.files import ENTRY, LABEL, README, VALUES, dump_label
from gridveil.release.format.label import GridFacts, Label, WindowFacts
from gridveil.release.format.netcdf import write_netcdf
from gridveil.release.format.readme import readme
from gridveil.release.format.sums import write_sums


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
        truth = isinstance(estimate.errors, Posterior)
        (aside / README).write_text(readme(label, about_the_truth=truth, negative=negative), encoding="utf-8")
        if entry is not None:
            (aside / ENTRY).write_bytes(entry.encode())
        digests = write_sums(aside, progress)
        aside.chmod(0o755)
    return digests
