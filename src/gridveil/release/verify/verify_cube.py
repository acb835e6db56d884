"""Whether `consumption.nc` holds together: its values are numbers, and its prefix sums are theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import monotonic

import numpy as np

from gridveil.model.progress import Progress, silent
from gridveil.release.format.files import VALUES, Stored
from gridveil.release.format.label import Label
from gridveil.release.format.read import read_content, reading, standard_errors

BLOCK_CELLS = 2**21
WIDEST = 512  # cells of a block across, and up
SECONDS = 60.0
STAGE = "compare values and prefix sums"
ROUNDING = 1e-9  # of the largest sum; float64 adds up millions of values to better than that


def check_cube(path: Path, label: Label, progress: Progress = silent) -> str:
    """Return how much was compared, or raise with what does not fit. Memory and time have limits, whoever wrote it."""
    content = read_content(path, label)
    with reading(path):
        _check_attributes(content.values.file, label)
        share = _compare(content.values, standard_errors(content.values), content.prefix.dataset, progress)
    return "values and prefix sums agree" + ("" if share == 1 else f", as far as compared: {math.floor(100 * share)} %")


def _check_attributes(file: Stored, label: Label) -> None:
    expected = {"title": label.heading, "institution": label.publisher, "epsilon": label.privacy.epsilon}
    for name, value in expected.items():
        if file.attrs.get(name) != value:
            msg = f"its {name} is not that of label.yaml: they are not of one release"
            raise ValueError(msg)


def _compare(values: Stored, errors: Stored, prefix: Stored, progress: Progress) -> float:
    """Compare block by block, and return the share that was compared before time was up."""
    begun, done, largest = monotonic(), 0, 0.0
    for block in _blocks(values.shape):
        if monotonic() - begun > SECONDS:
            break
        edges = tuple(slice(part.start, part.stop + 1) for part in block)
        stored, bars, sums = values[block].astype(np.float64), errors[block], prefix[edges]
        if not (np.isfinite(stored).all() and np.isfinite(bars).all() and np.isfinite(sums).all()):
            msg = "it has numbers that are not finite"
            raise ValueError(msg)
        if (bars < 0).any():
            msg = "it has standard errors below zero"
            raise ValueError(msg)
        if any(part.start == 0 and sums.take(0, axis=axis).any() for axis, part in enumerate(block)):
            msg = "its prefix sums do not begin with zeros"
            raise ValueError(msg)
        largest = max(largest, float(np.abs(sums).max()), float(np.abs(stored).sum()))
        apart = np.diff(np.diff(np.diff(sums, axis=0), axis=1), axis=2) - stored
        if np.abs(apart).max() > ROUNDING * largest:
            msg = f"its prefix sums are not those of its values: answers to queries would not be what {VALUES} says"
            raise ValueError(msg)
        done += stored.size
        progress(STAGE, done / math.prod(values.shape))
    return float(done / math.prod(values.shape))


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut a cube (time, y, x) into blocks, each small enough to be held."""
    up, across = (min(size, WIDEST) for size in shape[1:])
    sizes = (max(1, BLOCK_CELLS // (up * across)), up, across)
    starts = (range(0, length, size) for length, size in zip(shape, sizes, strict=True))
    for corner in product(*starts):
        parts = zip(corner, sizes, shape, strict=True)
        yield tuple(slice(start, min(start + size, length)) for start, size, length in parts)
