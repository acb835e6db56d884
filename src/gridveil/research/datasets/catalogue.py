"""All data sets by name, and their figures: the tables of docs/data.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset
from gridveil.research.datasets.london import START, TUNING_START, load_lcl
from gridveil.research.datasets.synthetic import CLIPS, TABLE2, make_standin

DATASETS = ("lcl", *TABLE2)

TUNING_SEED = 1_000_000
"""Added to the seed of a stand-in for tuning, so that repeats with seeds 0, 1, 2, ... never meet it."""

WEEK = 168

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


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


@dataclass(frozen=True)
class Figures:
    """Of a data set: kWh per hour over all readings, totals of households over the window, kWh, and weekdays, MWh."""

    households: int
    mean: float
    sd: float
    maximum: float
    level_cv: float
    total_median: float
    total_high: float
    weekdays: tuple[float, ...]


def describe(dataset: Dataset) -> Figures:
    """Return the figures of a data set of hours. `weekdays` is what all used on each of its last seven days."""
    kwh = dataset.readings / WH_PER_KWH
    levels, totals = kwh.mean(axis=1), kwh[:, dataset.train_steps :].sum(axis=1)
    last_week = Window(dataset.window.end, dataset.window.step, 1).before(WEEK)
    weekday = [time.weekday() for time in last_week.times()]
    return Figures(
        households=len(kwh),
        mean=float(kwh.mean()),
        sd=float(kwh.std()),
        maximum=float(kwh.max()),
        level_cv=float(levels.std() / levels.mean()),
        total_median=float(np.median(totals)),
        total_high=float(np.quantile(totals, 0.99)),
        weekdays=tuple(np.bincount(weekday, kwh[:, -WEEK:].sum(axis=0) / 1000).tolist()),
    )


def measure_clip(dataset: Dataset, clip: int) -> tuple[float, float]:
    """Return the share of readings above a clip, and the share of energy that it cuts off."""
    readings = dataset.readings
    return float((readings > clip).mean()), float(1 - np.minimum(readings, clip).sum() / readings.sum())


def make_tables() -> str:
    """Return docs/data.md's tables of all data sets as they come (seed 0, the packaged sample)."""
    datasets = {name: open_dataset(name) for name in DATASETS}
    figures = {name: describe(dataset) for name, dataset in datasets.items()}
    totals = "120-hour total, median and 99 %, kWh"
    return "\n".join(
        [
            f"| data set | households | mean, kWh | s.d., kWh | maximum, kWh | s.d. of levels / mean | {totals} |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *_format_figures(figures),
            "",
            "| stand-in | the paper's clip, kWh | readings above it | energy it cuts off |",
            "|---|---:|---:|---:|",
            *_format_clips(datasets),
            "",
            f"| MWh in the last seven days | {' | '.join(WEEKDAYS)} |",
            f"|---|{'---:|' * len(WEEKDAYS)}",
            *(f"| {_title(name)} | {' | '.join(f'{day:.2f}' for day in f.weekdays)} |" for name, f in figures.items()),
        ]
    )


def _format_figures(figures: dict[str, Figures]) -> Iterable[str]:
    for name, f in figures.items():
        if name in TABLE2:
            row = TABLE2[name]
            yield f"| {name}, Table 2 | {row.households} | {row.mean:.2f} | {row.sd:.2f} | {row.maximum:.2f} | | |"
        totals = f"{f.level_cv:.2f} | {f.total_median:.0f}, {f.total_high:.0f}"
        yield f"| {_title(name)} | {f.households} | {f.mean:.2f} | {f.sd:.2f} | {f.maximum:.2f} | {totals} |"


def _format_clips(datasets: dict[str, Dataset]) -> Iterable[str]:
    for name, clip in CLIPS.items():
        readings, energy = measure_clip(datasets[name], clip)
        yield f"| {name} | {clip / WH_PER_KWH:.2f} | {readings:.1%} | {energy:.1%} |"


def _title(name: str) -> str:
    return f"{name}, stand-in" if name in TABLE2 else "Low Carbon London, sample"
