"""Learns the pattern from sanitised series: rolled out from them, never from readings. Needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from gridveil.mechanisms.base import Progress
from gridveil.mechanisms.stpt.calendar import harmonics
from gridveil.mechanisms.stpt.forecaster import Windows, forecast, join, sweep
from gridveil.mechanisms.stpt.levels import MapLevel, block_shares, cell_shares, hindcast, map_level
from gridveil.mechanisms.stpt.pattern import Pattern
from gridveil.mechanisms.stpt.series import Series
from gridveil.model.units import Floats
from gridveil.model.window import Window

STAGE = "learn the pattern"
HORIZON = 4
"""Steps that the refined network learns to predict in a row, from its own predictions."""
ENSEMBLE = 3
MISFIT = 0.05
"""Variance of a normalised series that no forecast explains: keeps exact series from taking all the weight."""
RHYTHM = 0.08
"""Prior variance over time of a normalised series."""
LEAST_OF_MEAN = 0.05
TOTAL_DRIFT = 0.01
"""Relative variance of the map's mean use between the training and the published window."""
SHAPE_DRIFT = 0.01
"""Relative variance of a step that the best profile still misses."""
HOURLY_MEMORY = 0.7
"""How much of such an error is still there an hour later."""


@dataclass(frozen=True)
class Training:
    """How a network is trained: steps it looks back on, passes over the examples, seed of its initial state."""

    lookback: int
    epochs: int
    seed: int


def refined_pattern(series: list[Series], window: Window, training: Training, progress: Progress) -> Pattern:
    """Return a pattern with one profile over time for the whole map and a level of its own for each cell.

    Series are divided by their level, so that all of them teach the same rhythm, and weighted by how exact they are;
    the time of day is an input; several networks are averaged; and the profile is flattened as far as its tail is
    noise.
    """
    trained, steps, lookback = series[0].part.end, window.steps, training.lookback
    waves = harmonics(Window(window.before(trained).start, window.step, trained + steps + HORIZON))
    level = map_level(series[0])
    shares = block_shares(series, hindcast(series, level, waves))
    windows = _normalised_windows(series, shares, level, waves, lookback)
    tail = series[0].sums[-lookback:, 0, 0] / level.mean
    ahead = waves[trained - lookback + 1 : trained + steps]
    profile = np.zeros(steps)
    for member in range(ENSEMBLE):

        def report(done: float, member: int = member) -> None:
            progress(STAGE, (member + done) / ENSEMBLE)

        future = forecast(
            windows, tail[None], ahead, steps, training.epochs, training.seed + member, report, refined=True
        )
        profile += future[0] / ENSEMBLE
    trust = RHYTHM / (RHYTHM + (1 + waves.shape[1]) * level.noise)
    time = np.maximum(profile.mean() + trust * (profile - profile.mean()), LEAST_OF_MEAN)
    space = level.mean * cell_shares(series[-1].part.level, shares[-1])
    return Pattern(
        space,
        time,
        total_variance=(level.mean * float(time.sum())) ** 2 * (TOTAL_DRIFT + level.noise),
        shape_variance=SHAPE_DRIFT + (1 - trust) * RHYTHM,
        shape_memory=HOURLY_MEMORY ** (window.step / timedelta(hours=1)),
    )


def plain_pattern(series: list[Series], unit: float, steps: int, training: Training, progress: Progress) -> Floats:
    """Return the paper's pattern, axes (x, y, t), in multiples of `unit` Wh per cell: no calendar, no levels.

    All windows of all depths train one network; every deepest block continues its own sanitised tail.
    """
    windows, values, lookback = [], np.zeros((0, 0)), training.lookback
    for each in series:
        values = _rows(each.sums / (unit * each.part.level.cells))
        windows.append(sweep(values, np.zeros((each.part.steps + 1, 0)), np.ones(len(values)), lookback, horizon=1))
    future = forecast(
        join(windows),
        values[:, -lookback:],
        np.zeros((lookback + steps - 1, 0)),
        steps,
        training.epochs,
        training.seed,
        lambda done: progress(STAGE, done),
        refined=False,
    )
    deepest = series[-1].part.level
    blocks = future.T.reshape(steps, *deepest.shape)
    return np.moveaxis(deepest.scatter(blocks, (deepest.nx, deepest.ny)), 0, -1)


def _normalised_windows(
    series: list[Series], shares: list[Floats], level: MapLevel, waves: Floats, lookback: int
) -> Windows:
    windows = []
    for each, share in zip(series, shares, strict=True):
        if each.part.stepwise:
            scale = level.mean * share
            weights = 1 / (2 * (each.scale / scale) ** 2 + MISFIT)
            here = waves[each.part.start : each.part.end + HORIZON]
            windows.append(sweep(_rows(each.sums / scale), here, weights.ravel(), lookback, HORIZON))
    return join(windows)


def _rows(sums: Floats) -> Floats:
    """Turn (step, block x, block y) into one row per block."""
    return sums.reshape(len(sums), -1).T
