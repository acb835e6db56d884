"""The network of the paper: trained on sanitised series, and rolled out. Import it only where it is used (torch)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, nn

from gridveil.mechanisms.base import Progress
from gridveil.mechanisms.stpt.series import (
    MapLevel,
    Pattern,
    Series,
    compute_block_shares,
    compute_cell_shares,
    fit_map_level,
    hindcast,
    make_harmonics,
)
from gridveil.model.arrays import Floats
from gridveil.model.window import Window

EMBEDDING, HIDDEN = 128, 64


class AttentionGru(nn.Module):
    """Predicts the next value of a series from the values, and perhaps calendar inputs, of the steps before it.

    `residual`: attention refines the embedding (scaled by the root of its size, as usual) instead of replacing it.
    """

    def __init__(self, inputs: int, *, residual: bool) -> None:
        super().__init__()
        self.embedding = nn.Linear(inputs, EMBEDDING)
        self.projections = nn.Linear(EMBEDDING, 3 * EMBEDDING, bias=False)
        self.gru = nn.GRU(EMBEDDING, HIDDEN, batch_first=True)
        self.head = nn.Linear(HIDDEN, 1)
        self.residual = residual

    def forward(self, steps: Tensor) -> Tensor:
        """Map (series, step, input) to one prediction per series."""
        embedded = self.embedding(steps)
        queries, keys, values = self.projections(embedded).chunk(3, dim=-1)
        scores = queries @ keys.transpose(1, 2)
        if self.residual:
            attended = embedded + torch.softmax(scores / EMBEDDING**0.5, dim=-1) @ values
        else:
            attended = torch.softmax(scores, dim=-1) @ values
        _, state = self.gru(attended)
        prediction: Tensor = self.head(state[0])
        return prediction[:, 0]


@contextmanager
def repeatable_torch(seed: int) -> Iterator[None]:
    """Make what torch computes inside a function of the seed alone, and leave torch as it was.

    One thread, because the order of a parallel sum may change from run to run. Denormal numbers are flushed to zero:
    training is two to three times faster for the same result.
    """
    threads, flushed = torch.get_num_threads(), _flushes_denormals()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(flushed)
            torch.set_num_threads(threads)


def _flushes_denormals() -> bool:
    return not bool(torch.tensor(1e-310, dtype=torch.float64) * 1)


# Trains networks on sanitised series and rolls them out. Needs torch: import it where it is used only.

BATCH, LEARNING_RATE = 32, 1e-3


@dataclass(frozen=True)
class Windows:
    """Training examples: `lookback` values of a series, and the values that follow.

    values: (example, lookback). targets, weights: (example, horizon); a weight of 0 is a target beyond the slice.
    waves: calendar inputs of the steps to be predicted, (example, lookback + horizon - 1, input).
    """

    values: Floats
    waves: Floats
    targets: Floats
    weights: Floats


def sweep(series: Floats, waves: Floats, weights: Floats, lookback: int, horizon: int) -> Windows:
    """Sweep a window over each of the series, axes (series, step).

    `waves` are the calendar inputs of the series' steps and of `horizon` more; `weights` has one number per series.
    A series that is not longer than the lookback gives no example.
    """
    count, steps = series.shape
    examples = max(steps - lookback, 0)
    starts = np.arange(examples)[:, None]
    past, future = starts + np.arange(lookback), starts + lookback + np.arange(horizon)
    following = starts + 1 + np.arange(lookback + horizon - 1)
    beyond = ((0, 0), (0, horizon))
    return Windows(
        values=series[:, past].reshape(-1, lookback),
        waves=np.tile(waves[following], (count, 1, 1)),
        targets=np.pad(series, beyond)[:, future].reshape(-1, horizon),
        weights=np.pad(np.tile(weights[:, None], steps), beyond)[:, future].reshape(-1, horizon),
    )


def join(windows: list[Windows]) -> Windows:
    """Return the examples of several sweeps as one."""
    return Windows(
        values=np.concatenate([each.values for each in windows]),
        waves=np.concatenate([each.waves for each in windows]),
        targets=np.concatenate([each.targets for each in windows]),
        weights=np.concatenate([each.weights for each in windows]),
    )


def forecast(
    windows: Windows,
    seeds: Floats,
    waves: Floats,
    steps: int,
    epochs: int,
    seed: int,
    progress: Callable[[float], None],
    *,
    refined: bool,
) -> Floats:
    """Train one network and continue each of the `seeds` (series, lookback) by `steps`, axes (series, step).

    `waves` are the calendar inputs of the steps after each seed's first value. Series with the same seed have the
    same future and are rolled out once.
    """
    with repeatable_torch(seed):
        network = _train(windows, epochs=epochs, refined=refined, progress=progress)
        distinct, which = np.unique(seeds, axis=0, return_inverse=True)
        with torch.no_grad():
            future = _continue(network, _tensor(distinct), _tensor(waves), steps)
        return future.numpy().astype(np.float64)[which.reshape(-1)]


def _train(windows: Windows, *, epochs: int, refined: bool, progress: Callable[[float], None]) -> AttentionGru:
    values, waves = _tensor(windows.values), _tensor(windows.waves)
    targets, weights = _tensor(windows.targets), _tensor(windows.weights)
    network = AttentionGru(1 + waves.shape[2], residual=refined)
    optimiser = torch.optim.RMSprop(network.parameters(), lr=LEARNING_RATE)
    for epoch in range(epochs):
        for batch in torch.split(torch.randperm(len(values)), BATCH):
            predicted = _continue(network, values[batch], waves[batch], targets.shape[1])
            loss = (weights[batch] * (predicted - targets[batch]) ** 2).sum() / weights[batch].sum()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        progress((epoch + 1) / epochs)
    return network


def _continue(network: AttentionGru, values: Tensor, waves: Tensor, steps: int) -> Tensor:
    """Predict `steps` steps, each from the last values, predictions included."""
    lookback = values.shape[1]
    waves = waves.expand(len(values), -1, -1)
    for step in range(steps):
        recent = values[:, step:, None]
        following = network(torch.cat([recent, waves[:, step : step + lookback]], dim=2))
        values = torch.cat([values, following[:, None]], dim=1)
    return values[:, lookback:]


def _tensor(values: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


# Learns the pattern from sanitised series: rolled out from them, never from readings. Needs torch.

STAGE = "learn the pattern"
HORIZON = 4
"""Steps that the refined network learns to predict in a row, from its own predictions."""
ENSEMBLE = 3
MISFIT = 0.05
"""Variance of a normalised series that no forecast explains: keeps exact series from taking all the weight."""
RHYTHM = 0.08
"""Prior variance over time of a normalised series."""
MIN_OF_MEAN = 0.05
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


def learn_refined_pattern(series: list[Series], window: Window, training: Training, progress: Progress) -> Pattern:
    """Return a pattern with one profile over time for the whole map and a level of its own for each cell.

    Series are divided by their level, so that all of them teach the same rhythm, and weighted by how exact they are;
    the time of day is an input; several networks are averaged; and the profile is flattened as far as its tail is
    noise.
    """
    trained, steps, lookback = series[0].part.end, window.steps, training.lookback
    waves = make_harmonics(Window(window.before(trained).start, window.step, trained + steps + HORIZON))
    level = fit_map_level(series[0])
    shares = compute_block_shares(series, hindcast(series, level, waves))
    windows = _normalise_windows(series, shares, level, waves, lookback)
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
    time = np.maximum(profile.mean() + trust * (profile - profile.mean()), MIN_OF_MEAN)
    space = level.mean * compute_cell_shares(series[-1].part.level, shares[-1])
    return Pattern(
        space,
        time,
        total_variance=(level.mean * float(time.sum())) ** 2 * (TOTAL_DRIFT + level.noise),
        shape_variance=SHAPE_DRIFT + (1 - trust) * RHYTHM,
        shape_memory=HOURLY_MEMORY ** (window.step / timedelta(hours=1)),
    )


def learn_plain_pattern(
    series: list[Series], unit: float, steps: int, training: Training, progress: Progress
) -> Floats:
    """Return the paper's pattern, axes (x, y, t), in multiples of `unit` Wh per cell: no calendar, no levels.

    All windows of all depths train one network; every deepest block continues its own sanitised tail.
    """
    windows, values, lookback = [], np.zeros((0, 0)), training.lookback
    for each in series:
        values = _to_rows(each.sums / (unit * each.part.level.cells))
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


def _normalise_windows(
    series: list[Series], shares: list[Floats], level: MapLevel, waves: Floats, lookback: int
) -> Windows:
    windows = []
    for each, share in zip(series, shares, strict=True):
        if each.part.stepwise:
            scale = level.mean * share
            weights = 1 / (2 * (each.scale / scale) ** 2 + MISFIT)
            here = waves[each.part.start : each.part.end + HORIZON]
            windows.append(sweep(_to_rows(each.sums / scale), here, weights.ravel(), lookback, HORIZON))
    return join(windows)


def _to_rows(sums: Floats) -> Floats:
    """Turn (step, block x, block y) into one row per block."""
    return sums.reshape(len(sums), -1).T
