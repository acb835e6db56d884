"""The demo: publish an invented town with two mechanisms, and compare the releases with the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.arrays import Floats
from gridveil.publishing.run import publish
from gridveil.publishing.spec import DEFAULT_MECHANISM
from gridveil.release.query.open import Release, open_release
from gridveil.simulate.rehearse import WORKLOADS, RelativeError, draw_workload, mre, range_sums, wape
from gridveil.simulate.town import DEMO_GRID, DEMO_WINDOW, demo_town

EPSILON = 3
MECHANISMS = (DEFAULT_MECHANISM, "even")


def run_demo(folder: Path, progress: Progress = silent) -> dict[str, Path]:
    """Make the town, publish it with each mechanism, write the report. Returns where the releases are."""
    from gridveil.simulate.demo_report import write_demo_report  # draws, with matplotlib

    progress("invent a town", 0.0)
    town = demo_town()
    (folder / "town").mkdir(parents=True)
    readings, households = town.write(folder / "town")
    progress("invent a town", 1.0)
    releases = {name: folder / f"release-{name}" for name in MECHANISMS}
    for name, out in releases.items():
        publish_town(readings, households, name, out, partial(_report_stage, progress, name))
    opened = {name: open_release(out) for name, out in releases.items()}
    write_demo_report(
        folder, Comparison(town.cube(DEMO_WINDOW), opened), name=releases[MECHANISMS[0]].name, progress=progress
    )
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


def _report_stage(progress: Progress, name: str, stage: str, done: float) -> None:
    progress(f"{name}: {stage}", done)


class DemoPlace(NamedTuple):
    """A block of cells, half-open. `mark` is its sign on the maps, if it has one."""

    name: str
    mark: str
    x: tuple[int, int]
    y: tuple[int, int]


class DemoCurve(NamedTuple):
    """A place's consumption in every step, kWh: the truth, the release's answer and its 95 % interval."""

    truth: Floats
    answer: Floats
    low: Floats
    high: Floats


class Score(NamedTuple):
    """How far a release's answers to a workload are from the truth; `covered`: percent of truths inside the 95 %."""

    mre: RelativeError
    wape: float
    covered: float


@dataclass(frozen=True)
class Comparison:
    """The truth of an invented town, kWh (x, y, t), and releases of it by name, of one grid and window."""

    truth: Floats
    releases: Mapping[str, Release]

    @property
    def first(self) -> Release:
        """The release that the page and the picture are about."""
        return next(iter(self.releases.values()))

    def cubes(self) -> dict[str, Floats]:
        """Return the truth and every release, kWh (t, y, x)."""
        released = {name: release.values().astype(np.float64) for name, release in self.releases.items()}
        return {"truth": self.truth.transpose(2, 1, 0)} | released

    def peak(self) -> int:
        """Return the step with the town's highest consumption."""
        return int(self.truth.sum((0, 1)).argmax())

    def places(self) -> list[DemoPlace]:
        """Return the whole map, its busiest block, and a quiet one; a block is a quarter of the map each way."""
        grid = self.first.grid
        width, height = max(1, grid.nx // 4), max(1, grid.ny // 4)
        blocks = [
            (x, x + width, y, y + height, 0, self.first.window.steps)
            for x in range(0, grid.nx - width + 1, max(1, width // 2))
            for y in range(0, grid.ny - height + 1, max(1, height // 2))
        ]
        ranking = np.argsort(range_sums(self.truth, np.array(blocks)))
        busy, quiet = blocks[ranking[-1]], blocks[ranking[len(blocks) // 4]]
        return [
            DemoPlace("The whole town", "", (0, grid.nx), (0, grid.ny)),
            DemoPlace("District A, busy", "A", (busy[0], busy[1]), (busy[2], busy[3])),
            DemoPlace("District B, quiet", "B", (quiet[0], quiet[1]), (quiet[2], quiet[3])),
        ]

    def curve(self, place: DemoPlace, name: str) -> DemoCurve:
        """Return the answers of a release for a place, step by step."""
        steps = np.arange(self.first.window.steps)
        ranges = np.column_stack([np.tile([*place.x, *place.y], (steps.size, 1)), steps, steps + 1])
        answers = self.releases[name].answers_of(ranges)
        return DemoCurve(range_sums(self.truth, ranges), answers.value, answers.low, answers.high)

    def scores(self, name: str) -> dict[str, Score]:
        """Return the errors of a release on each workload."""
        scores = {}
        for workload in WORKLOADS:
            ranges = draw_workload(workload, self.truth.shape)
            truth = range_sums(self.truth, ranges)
            answers = self.releases[name].answers_of(ranges)
            covered = 100 * float(np.mean((answers.low <= truth) & (truth <= answers.high)))
            scores[workload] = Score(mre(truth, answers.value), wape(truth, answers.value), covered)
        return scores
