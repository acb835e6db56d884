"""What to expect of a publication before any data is read: rehearse it on an invented town of the same size."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.cube import Grid, Window
from gridveil.estimate import Ints
from gridveil.evaluate.errors import range_sums
from gridveil.evaluate.town import make_town
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.mechanisms.base import Progress, silent
from gridveil.publication import Plan, run
from gridveil.release.open import open_release
from gridveil.spec import Spec

DRAWS = 300
REGION = 4
"""A region is this part of the grid each way."""


@dataclass(frozen=True)
class Expectation:
    """Of a kind of question, in kWh: mean true answer, mean standard error of the noise, mean error as rehearsed."""

    question: str
    truth: float
    standard_error: float
    error: float


def rehearse(spec: Spec, households: int, progress: Progress = silent) -> list[Expectation]:
    """Publish an invented town of so many households as the spec says, and compare with the invented truth.

    Nothing of the publisher's data is touched. The town's use a head is that of European households; where yours
    differs, so will the relative errors, while the noise stays as it is.
    """
    plan = Plan.of(spec)
    town = make_town(households, grid=plan.grid, window=plan.reading_window)
    with tempfile.TemporaryDirectory() as folder:
        readings, homes = town.write(Path(folder))
        out = Path(folder) / "release"
        tables = {"readings": ReadingsTable(str(readings)), "households": HouseholdsTable(str(homes))}
        run(spec.model_copy(update={**tables, "out": out, "start": plan.window.start}), progress=progress)
        release = open_release(out)
        truth = town.cube(plan.window)
        expectations = []
        for question, shape in _questions(plan.grid, plan.window).items():
            ranges = _draw(shape, truth.shape)
            answers, true = release.answers_of(ranges), range_sums(truth, ranges)
            error = float(np.abs(answers.value - true).mean())
            expectations.append(Expectation(question, float(true.mean()), float(answers.standard_error.mean()), error))
    return expectations


def _questions(grid: Grid, window: Window) -> dict[str, tuple[int, int, int]]:
    region = (max(1, grid.nx // REGION), max(1, grid.ny // REGION))
    name = f"{region[0]} x {region[1]} cells"
    return {
        "one cell, one step": (1, 1, 1),
        "one cell, whole window": (1, 1, window.steps),
        f"{name}, one step": (*region, 1),
        f"{name}, whole window": (*region, window.steps),
        "whole map, one step": (grid.nx, grid.ny, 1),
        "whole map, whole window": (grid.nx, grid.ny, window.steps),
    }


def _draw(shape: tuple[int, int, int], cube: tuple[int, ...]) -> Ints:
    """Return ranges of one shape at random places."""
    free = np.array(cube, dtype=np.int64) - shape
    first = np.random.default_rng(0).integers(0, free + 1, size=(DRAWS, 3))
    return np.stack([first, first + shape], axis=-1).reshape(DRAWS, 6)
