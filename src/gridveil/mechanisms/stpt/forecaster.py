"""Trains networks on sanitised series and rolls them out. Needs torch: import it where it is used only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gridveil.mechanisms.stpt.network import AttentionGru, repeatable_torch
from gridveil.model.units import Floats

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
