"""The demo: publish an invented town, and show the release beside the truth."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from gridveil.mechanisms.base import Progress, silent
from gridveil.publishing.run import publish
from gridveil.publishing.spec import DEFAULT_MECHANISM
from gridveil.release.query.open import open_release
from gridveil.simulate.town import DEMO_GRID, DEMO_WINDOW, demo_town

EPSILON = 3
MECHANISMS = (DEFAULT_MECHANISM, "even")


def run_demo(folder: Path, progress: Progress = silent) -> dict[str, Path]:
    """Make the town, publish it with each mechanism, write the report. Returns where the releases are."""
    from gridveil.simulate.report import write_report  # draws, with matplotlib

    progress("invent a town", 0.0)
    town = demo_town()
    (folder / "town").mkdir(parents=True)
    readings, households = town.write(folder / "town")
    progress("invent a town", 1.0)
    releases = {name: folder / f"release-{name}" for name in MECHANISMS}
    for name, out in releases.items():
        publish_town(readings, households, name, out, partial(_tell, progress, name))
    progress("draw the report", 0.0)
    write_report(
        folder / "report.html",
        truth=town.cube(DEMO_WINDOW),
        releases={name: open_release(out) for name, out in releases.items()},
        window=DEMO_WINDOW,
        grid=DEMO_GRID,
        epsilon=EPSILON,
    )
    progress("draw the report", 1.0)
    return releases


def publish_town(readings: Path, households: Path, mechanism: str, out: Path, progress: Progress = silent) -> None:
    """Publish the demo's town with one mechanism."""
    publish(
        readings=readings,
        households=households,
        extent=(DEMO_GRID.x0, DEMO_GRID.y0, DEMO_GRID.x1, DEMO_GRID.y1),
        grid=(DEMO_GRID.nx, DEMO_GRID.ny),
        start=DEMO_WINDOW.start,
        steps=DEMO_WINDOW.steps,
        epsilon=EPSILON,
        mechanism=mechanism,
        title=f"Invented town, {mechanism}",
        publisher="gridveil demo",
        choices="the demo's, before the town was made",
        no_ledger=True,  # nobody lives in an invented town
        out=out,
        progress=progress,
    )


def _tell(progress: Progress, name: str, stage: str, done: float) -> None:
    progress(f"{name}: {stage}", done)
