"""One way in to the data that mechanisms are compared on, by name."""

from __future__ import annotations

from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.research.datasets.dataset import Dataset
from gridveil.research.datasets.lcl import START, TUNING_START, load_lcl
from gridveil.research.datasets.standins import TABLE2, make_standin

DATASETS = ("lcl", *TABLE2)

TUNING_SEED = 1_000_000
"""Added to the seed of a stand-in for tuning, so that repeats with seeds 0, 1, 2, ... never meet it."""


def open_dataset(name: str, lcl: Path | None = None, *, seed: int = 0, tuning: bool = False) -> Dataset:
    """Open a data set: 120 hours, and 100 before them for training.

    lcl: the full Low Carbon London extract, instead of the packaged sample.
    seed: which town, of a stand-in.
    tuning: give the data that settings may be chosen on: another town, or other hours of the same London households.
    """
    if name == "lcl":
        return load_lcl(lcl, TUNING_START if tuning else START)
    if name in TABLE2:
        return make_standin(name, seed + TUNING_SEED if tuning else seed)
    msg = f"data set {name}: there are {', '.join(DATASETS)}"
    raise UsageError(msg, code="dataset-unknown")
