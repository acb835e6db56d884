"""A truth beside what was released of it: what the report and its pictures draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.window import Window
from gridveil.release.query.open import Release
from gridveil.simulate.rehearse import RelativeError, mre, range_sums, wape
from gridveil.simulate.workloads import WORKLOADS, draw_workload


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
    """The truth of an invented town, kWh (x, y, t), and releases of it by name."""

    truth: Floats
    releases: Mapping[str, Release]
    grid: Grid
    window: Window

    def cubes(self) -> dict[str, Floats]:
        """Return the truth and every release, kWh (x, y, t)."""
        released = {name: release.values().astype(np.float64) for name, release in self.releases.items()}
        return {"truth": self.truth} | released

    def peak(self) -> int:
        """Return the step with the town's highest consumption."""
        return int(self.truth.sum((0, 1)).argmax())

    def places(self) -> list[DemoPlace]:
        """Return the whole map, its busiest block, and a quiet one; a block is a quarter of the map each way."""
        width, height = max(1, self.grid.nx // 4), max(1, self.grid.ny // 4)
        blocks = [
            (x, x + width, y, y + height, 0, self.window.steps)
            for x in range(0, self.grid.nx - width + 1, max(1, width // 2))
            for y in range(0, self.grid.ny - height + 1, max(1, height // 2))
        ]
        ranking = np.argsort(range_sums(self.truth, np.array(blocks)))
        busy, quiet = blocks[ranking[-1]], blocks[ranking[len(blocks) // 4]]
        return [
            DemoPlace("The whole town", "", (0, self.grid.nx), (0, self.grid.ny)),
            DemoPlace("District A, busy", "A", (busy[0], busy[1]), (busy[2], busy[3])),
            DemoPlace("District B, quiet", "B", (quiet[0], quiet[1]), (quiet[2], quiet[3])),
        ]

    def curve(self, place: DemoPlace, name: str) -> DemoCurve:
        """Return what a release says of a place, step by step."""
        steps = np.arange(self.window.steps)
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

    def when(self, step: int) -> str:
        """Return a step as a reader would say it: `Tuesday 5 February 2013, 18:00 to 19:00`."""
        start = self.window.times()[step]
        return f"{in_words(start)} to {start + self.window.step:%H:%M}"

    @property
    def unit(self) -> str:
        """What the values of one step are."""
        return "kWh per hour" if self.window.step == timedelta(hours=1) else f"kWh per {self.window.step}"


def in_words(time: datetime) -> str:
    """Return an instant as a reader would say it.

    >>> in_words(datetime(2013, 2, 5, 18))
    'Tuesday 5 February 2013, 18:00'
    """
    return f"{time:%A} {time.day} {time:%B %Y, %H:%M}"
