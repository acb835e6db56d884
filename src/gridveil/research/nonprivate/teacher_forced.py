"""The paper's network, trained on sanitised series and then shown raw ones: not private. Needs torch."""

from __future__ import annotations

import numpy as np
import torch

from gridveil.mechanisms.stpt.network import BATCH, LEARNING_RATE, AttentionGru, Windows, join, repeatable_torch, sweep
from gridveil.model.arrays import Floats

AT_ONCE = 2048
"""Windows predicted together: small enough for the processor's cache."""


def predict_each_step(sanitised: list[Floats], raw: Floats, lookback: int, epochs: int, seed: int) -> Floats:
    """Train on windows of sanitised series, then predict each step of raw ones from the raw steps before it.

    sanitised: arrays (series, step). raw: (series, lookback + step). Returns (series, step).
    """
    windows = join([_windows(series, lookback) for series in sanitised])
    shown = np.lib.stride_tricks.sliding_window_view(raw[:, :-1], lookback, axis=1).reshape(-1, lookback)
    with repeatable_torch(seed):
        network = _train(_tensor(windows.values), _tensor(windows.targets[:, 0]), epochs)
        with torch.no_grad():
            predicted = torch.cat([network(some[:, :, None]) for some in torch.split(_tensor(shown), AT_ONCE)])
        return predicted.numpy().astype(np.float64).reshape(len(raw), -1)


def _windows(series: Floats, lookback: int) -> Windows:
    no_calendar = np.zeros((series.shape[1] + 1, 0))
    return sweep(series, no_calendar, np.ones(len(series)), lookback, horizon=1)


def _train(values: torch.Tensor, targets: torch.Tensor, epochs: int) -> AttentionGru:
    network = AttentionGru(1, residual=False)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for _ in range(epochs):
        for batch in torch.split(torch.randperm(len(values)), BATCH):
            loss = ((network(values[batch][:, :, None]) - targets[batch]) ** 2).mean()
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
    return network


def _tensor(values: Floats) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
