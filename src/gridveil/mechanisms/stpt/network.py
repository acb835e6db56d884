"""The paper's network: embedding, self-attention, GRU, linear head. It is only ever shown sanitised values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

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
