"""Boxes too large for memory are answered a slab at a time, and whoever asks can know beforehand what they cost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.release.conftest import KINDS, WINDOW

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.query.open import open_release
from gridveil.uncertainty import parts, parts_area

Publish = Callable[..., Path]
BOXES = np.array(
    [[0, 8, 0, 5, 0, 30], [2, 7, 1, 5, 3, 29], [0, 1, 0, 1, 0, 1], [7, 8, 0, 5, 0, 30], [0, 8, 4, 5, 12, 13]]
)


@pytest.mark.parametrize("kind", KINDS)
def test_slab_by_slab_the_answers_are_the_same(publish: Publish, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = publish(kind)
    whole = open_release(path).answers_of(BOXES)
    monkeypatch.setattr("gridveil.release.format.read.HELD_BYTES", 0)
    monkeypatch.setattr(parts, "SLAB_NUMBERS", 0)
    monkeypatch.setattr(parts_area, "SLAB_NUMBERS", 7)
    pieces = open_release(path).answers_of(BOXES)
    for name in ("value", "standard_error", "low", "high"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=2e-6)


@pytest.mark.parametrize("kind", ["parts", "scaled"])
def test_a_large_box_takes_little_memory(publish: Publish, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of 480,000 cells and steps is read in slabs of 4,096 numbers: far less than their 4 MB."""
    grid, window = Grid(0, 0, 20, 20, nx=20, ny=20), Window(WINDOW.start, WINDOW.step, 1200)
    path = publish(kind, grid, window)
    monkeypatch.setattr("gridveil.release.format.read.HELD_BYTES", 0)
    monkeypatch.setattr("gridveil.model.arrays.HELD_BYTES", 0)
    monkeypatch.setattr(parts, "SLAB_NUMBERS", 2**12)
    monkeypatch.setattr(parts_area, "SLAB_NUMBERS", 2**12)
    release = open_release(path)
    tracemalloc.start()
    try:
        release.query()
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


def test_the_cost_of_error_bars_is_what_they_read(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    path = publish("parts")
    inside = np.prod(BOXES[:, 1::2] - BOXES[:, ::2], axis=1)
    assert open_release(path).cost_of(BOXES).tolist() == (2 * inside).tolist()  # labels and shares
    with h5py.File(path / "consumption.nc", "r+") as file:
        for name in ("part_labels", "part_shares"):
            numbers = file["gridveil"][name][()]
            del file["gridveil"][name]
            file["gridveil"].create_dataset(name, data=numbers, chunks=(12, 2, 3))
    monkeypatch.setattr("gridveil.release.format.read.HELD_BYTES", 0)
    met = [
        len({(t // 12, y // 2, x // 3) for t in range(t0, t1) for y in range(y0, y1) for x in range(x0, x1)})
        for x0, x1, y0, y1, t0, t1 in BOXES.tolist()
    ]
    assert open_release(path).cost_of(BOXES).tolist() == [2 * 72 * chunks for chunks in met]


def test_other_error_bars_read_next_to_nothing(publish: Publish) -> None:
    assert open_release(publish("replicates", name="one")).cost_of(BOXES).tolist() == [0] * len(BOXES)
    assert open_release(publish("identity", name="two")).cost_of(BOXES).max() <= 2


def test_cells_over_a_long_period_take_little_memory(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block, cells are the same; all that 400 cells meet in 1,200 steps would need 70 MB."""
    grid, window = Grid(0, 0, 20, 20, nx=20, ny=20), Window(WINDOW.start, WINDOW.step, 1200)
    release = open_release(publish("parts", grid, window))
    whole = release.cells(0, 1200)
    monkeypatch.setattr(parts, "SLAB_NUMBERS", 2**14)
    monkeypatch.setattr(parts, "BLOCK", 6)
    tracemalloc.start()
    try:
        pieces = release.cells(0, 1200)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()
    for name in ("value", "standard_error", "low", "high"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=1e-6)
