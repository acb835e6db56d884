"""Cubes that are too large for memory: written from lazy values, slab by slab, as they would be from an array."""

import math
import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, make_label

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make, train_steps
from gridveil.model.arrays import Product, Scaled
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.publishing.run import publish, release_with_private_bound
from gridveil.release.format import netcdf
from gridveil.release.format import netcdf as room
from gridveil.release.format.files import VALUES
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import open_release
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import Estimate, NoisyParts, Posterior, Replicates

START = make_label().window.start
QUICK = {"stpt": {"train_steps": 48, "epochs": 1}}


def window_of(steps: int) -> Window:
    return Window(START, timedelta(hours=1), steps)


def write(path: Path, estimate: Estimate, progress: Callable[[str, float], None] = lambda *_: None) -> Path:
    nx, ny, steps = estimate.cube.shape
    grid, window = Grid(0, 0, nx, ny, nx, ny), window_of(steps)
    label = make_label(grid, window)
    write_release(path, grid=grid, window=window, estimate=estimate, label=label, progress=progress)
    return path / VALUES


def made(kind: str, side: int, steps: int, draws: int = 8) -> Estimate:
    """An estimate such as mechanisms make, lazily."""
    rng = np.random.default_rng(0)
    space, time = rng.gamma(2.0, 1e5, (draws, side, side)), rng.random((draws, 2, steps))
    region = np.add.outer(np.arange(side) * 2 // side, np.zeros(side, dtype=np.int64))
    one, total = np.ones((1, 1, 1)), NoisyParts(np.zeros((1, 1, 1), dtype=np.int64), np.array([1e6]), np.full(1, 1e-6))
    if kind == "even":
        return Estimate(Product.of(space[0], np.ones(steps)), total)
    if kind == "identity":
        counts = rng.integers(-(10**6), 10**6, (side, side, steps))
        return Estimate(Scaled(counts, 1.1), NoisyParts(None, 1e6 * one, one))
    if kind == "stpt":
        return Estimate(Product.of(space[0], time[0, 0]), Replicates(space, time[:, 0]))
    return Estimate(Product(space[0], time[0], region), Posterior(space, region, time, np.full(draws, 1e6)))


@pytest.mark.parametrize("bounds", ["given", "private"])
@pytest.mark.parametrize("name", ["even", "identity", "stpt", "mosaic"])
def test_lazy_values_make_the_file_that_an_array_makes(
    name: str, bounds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netcdf, "SLAB_CELLS", 8 * 16 * 16)  # several slabs
    mechanism = make(name, QUICK.get(name, {}))
    before = train_steps(mechanism)
    readings = np.random.default_rng(0).integers(0, 900, (16, 16, before + 50))
    bound = Bound(1000, 30_000 if bounds == "given" else 50_000)
    kernel = kernel_on(readings, window_of(50), epsilon=100, bound=bound, train_steps=before)
    private = bounds == "private"
    estimate = release_with_private_bound(kernel, mechanism) if private else mechanism.release(kernel.session())
    assert not isinstance(estimate.values, np.ndarray)
    lazily = write(tmp_path / "lazy", estimate)
    at_once = write(tmp_path / "dense", replace(estimate, values=estimate.dense()))
    assert lazily.read_bytes() == at_once.read_bytes()
    published = (estimate.dense() / 1000).astype(np.float32).transpose(2, 1, 0)
    np.testing.assert_array_equal(open_release(tmp_path / "lazy").values(), published)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 7), (64, 64, 8), (65, 3, 9), (7, 130, 17)])
def test_chunks_that_are_packed_here_are_read_by_hdf5(tmp_path: Path, shape: tuple[int, int, int]) -> None:
    values = np.random.default_rng(0).normal(3000, 4000, shape)
    one = np.ones((1, 1, 1))
    path = write(tmp_path / "release", Estimate(values, NoisyParts(None, one, one)))
    with h5py.File(path) as file:
        for stored in (file["consumption"], file["consumption_se"]):
            assert (stored.compression, stored.compression_opts, stored.shuffle) == ("gzip", 4, True)
            sides = zip(stored.shape, stored.chunks, strict=True)
            assert stored.id.get_num_chunks() == math.prod(-(-length // size) for length, size in sides)
        np.testing.assert_array_equal(file["consumption"][()].transpose(2, 1, 0), (values / 1000).astype(np.float32))
        assert (file["consumption_se"][()] == np.float32(np.sqrt(2) / 1000)).all()


@pytest.mark.parametrize("kind", ["even", "identity", "stpt", "mosaic"])
def test_the_writer_makes_nothing_of_the_size_of_the_cube(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A longer window needs more memory for its profiles, but not for its cells.

    Which of a few slabs of 2**15 cells are held at once is up to threads, so that peaks differ by up to a megabyte; a
    cube of floats would differ by 20.
    """
    monkeypatch.setattr(netcdf, "SLAB_CELLS", 2**15)
    side, short, long = 64, 60, 700
    peaks = {}
    for steps in (short, long):
        estimate = made(kind, side, steps)
        tracemalloc.start()
        write(tmp_path / str(steps), estimate)
        peaks[steps] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks[long] - peaks[short] < side**2 * (long - short)  # a byte a value; a cube of floats has eight


def test_writing_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcdf, "SLAB_CELLS", 8 * 64)
    told: dict[str, list[float]] = {}
    write(tmp_path / "release", made("mosaic", 8, 40), lambda stage, done: told.setdefault(stage, []).append(done))
    assert told["write the release"] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert told["sum up its files"][-1] == 1.0
    assert all(done == sorted(done) for done in told.values())


def test_negative_values_of_any_slab_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcdf, "SLAB_CELLS", 8 * 4)
    one = np.ones((1, 1, 1))
    for place in (0, 39):
        counts = np.ones((2, 2, 40), dtype=np.int64)
        counts[1, 0, place] = -1
        write(tmp_path / str(place), Estimate(Scaled(counts), NoisyParts(None, one, one)))
        assert "egative" in (tmp_path / str(place) / "README.md").read_text()
    write(tmp_path / "none", Estimate(Scaled(abs(counts)), NoisyParts(None, one, one)))
    assert "egative" not in (tmp_path / "none" / "README.md").read_text()


@pytest.mark.parametrize("kind", ["even", "identity", "stpt", "mosaic"])
def test_no_release_is_larger_than_foreseen(kind: str, tmp_path: Path) -> None:
    estimate = made(kind, 24, 200, draws=200)
    folder = write(tmp_path / "release", estimate).parent
    texts = 20_000  # and what HDF5 needs to find things
    most = room.max_bytes(Grid(0, 0, 1, 1, 24, 24), window_of(200))
    assert most / 20 < sum(file.stat().st_size for file in folder.iterdir()) < most + texts


def test_too_little_room_is_refused_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = window_of(30)
    most = room.max_bytes(GRID, window)
    for free in (0, most - 1):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(UsageError, check=has_code("disk-too-full", "8 x 5 cells and 30 steps")):
            room.check_disk_space(tmp_path / "not" / "there", GRID, window)
    with pytest.raises(UsageError, check=has_code("disk-too-full")):
        publish(
            readings=str(tmp_path / "none.parquet"),
            households=str(tmp_path / "none.parquet"),
            extent=(0, 0, 1, 1),
            grid=(8, 5),
            start=START.isoformat(),
            steps=30,
            epsilon="1",
            bound_step=5,
            bound_window=10,
            mechanism="identity",
            out=str(tmp_path / "release"),
            no_ledger=True,
        )
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=most))
    room.check_disk_space(tmp_path / "not" / "there", GRID, window)
