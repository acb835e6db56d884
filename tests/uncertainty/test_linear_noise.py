"""Releases whose noise is a product of factors: answers against brute force, simulation and the other error model."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray
from numpy.typing import NDArray
from scipy import stats
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_label
from tests.work import count_calls, wait_for_next_second

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, LinearNoise, NoisyParts

SHAPE = (GRID.nx, GRID.ny, WINDOW.steps)
STORED = SHAPE[::-1]
RNG = np.random.default_rng(0)


def fourier(steps: int, k: int) -> Floats:
    """Return the orthonormal real basis of the k lowest frequencies, in columns."""
    angles = 2 * np.pi * np.outer(np.arange(steps), np.arange(1, k)) / steps
    waves = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(steps, -1) * np.sqrt(2 / steps)
    return np.hstack([np.full((steps, 1), steps**-0.5), waves])


MODELS = {
    "fourier": LinearNoise(None, None, 3000 * fourier(30, 6)),
    "space": LinearNoise(RNG.normal(0, 900, (8, 11)), RNG.normal(size=(5, 3)), None),
    "one axis": LinearNoise(None, RNG.standard_t(2, (5, 7)) * 100, None),
    "all": LinearNoise(RNG.standard_t(2, (8, 12)), RNG.standard_t(2, (5, 6)), RNG.standard_t(2, (30, 40))),
    "rank one": LinearNoise(RNG.normal(0, 500, (8, 1)), np.ones((5, 1)), np.ones((30, 1))),
    "identity": LinearNoise(None, None, None),
}


def publish(path: Path, errors: LinearNoise | NoisyParts, grid: Grid = GRID, window: Window = WINDOW) -> Release:
    values = np.random.default_rng(1).normal(3000, 4000, (grid.nx, grid.ny, window.steps))
    write_release(path, grid=grid, window=window, estimate=Estimate(values, errors), label=make_label(grid, window))
    return open_release(path)


def random_ranges(count: int, shape: tuple[int, ...] = SHAPE, seed: int = 2) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    corners = [rng.permuted(np.tile(np.arange(size + 1), (count, 1)), axis=1)[:, :2] for size in shape]
    return np.sort(np.stack(corners, axis=1), axis=2).reshape(count, 6)


def matrix(errors: LinearNoise) -> Floats:
    """Return the whole matrix from the noise `z` to the cube, kWh, rows (x, y, t)."""
    factors = [np.eye(n) if f is None else f for f, n in zip((errors.x, errors.y, errors.time), SHAPE, strict=True)]
    return np.kron(factors[0], np.kron(factors[1], factors[2])) / 1000


def indicators(ranges: NDArray[np.int64]) -> Floats:
    whole = np.zeros((len(ranges), *SHAPE))
    for row, (x0, x1, y0, y1, t0, t1) in zip(whole, ranges.tolist(), strict=True):
        row[x0:x1, y0:y1, t0:t1] = 1
    return whole.reshape(len(ranges), -1)


@pytest.mark.parametrize("name", MODELS)
def test_standard_errors_are_those_of_the_covariance(tmp_path: Path, name: str) -> None:
    opened = publish(tmp_path / "r", MODELS[name])
    ranges = random_ranges(60)
    expected = np.linalg.norm(indicators(ranges) @ matrix(MODELS[name]), axis=1)
    answers = opened.answers_of(ranges)
    np.testing.assert_allclose(answers.standard_error, expected, rtol=1e-10)
    np.testing.assert_allclose(answers.high - answers.value, answers.value - answers.low, rtol=1e-9)
    ratio = (answers.high - answers.value) / answers.standard_error
    assert ((ratio >= 1.9599) & (ratio <= 2.1184)).all()
    cells = opened._values.file["consumption_se"][()].transpose(2, 1, 0)
    np.testing.assert_allclose(cells.ravel(), np.linalg.norm(matrix(MODELS[name]), axis=1), rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_intervals_cover_the_noise(tmp_path: Path, name: str) -> None:
    """20,000 draws, 4 queries, 6 models: the count inside each is binomial; false alarms 1 in a million each."""
    opened = publish(tmp_path / "r", MODELS[name])
    ranges = np.array([[0, 8, 0, 5, 0, 30], [3, 4, 2, 3, 7, 8], [1, 4, 0, 2, 0, 12], [2, 5, 1, 5, 20, 21]])
    weights = (indicators(ranges) @ matrix(MODELS[name])).T
    used = np.flatnonzero(np.abs(weights).max(axis=1) > 0)
    rng = np.random.default_rng()
    noise = np.concatenate([rng.laplace(scale=np.sqrt(0.5), size=(1000, len(used))) @ weights[used] for _ in range(20)])
    answers = opened.answers_of(ranges)
    inside = (np.abs(noise) <= answers.high - answers.value).sum(axis=0)
    assert min(stats.binomtest(int(count), 20_000, 0.95).pvalue for count in inside) > 1e-6


@pytest.mark.parametrize(
    "errors",
    [
        LinearNoise(None, None, 2000 * np.eye(30)),
        LinearNoise(2000 * np.eye(8), None, None),
        LinearNoise(np.eye(8), 2000 * np.eye(5), np.eye(30)),
        LinearNoise(None, None, -2000 * np.eye(30)[:, ::-1]),
    ],
    ids=["time", "x", "all", "another order"],
)
def test_an_identity_is_independent_noise_on_every_cell(errors: LinearNoise) -> None:
    ranges = random_ranges(300, STORED)
    parts = NoisyParts(None, np.array(2000 / np.sqrt(2)), np.array(1.0)).to_release(STORED, 1.0)
    factors = errors.to_release(STORED, 1.0)
    for ours, theirs in zip(factors.errors_of(ranges), parts.errors_of(ranges), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1.5e-6)
    cells = factors.cell_errors(slice(3, 9), STORED), parts.cell_errors(slice(3, 9), STORED)
    np.testing.assert_allclose(*cells, rtol=1e-12)


def test_pillars_are_one_wide_factors() -> None:
    ranges = random_ranges(300, STORED)
    labels = np.arange(40).reshape(8, 5, 1)
    parts = NoisyParts(labels, np.full(40, 700.0), np.array(1 / 30)).to_release(STORED, 1.0)
    factors = LinearNoise(None, None, np.full((30, 1), 700 * np.sqrt(2) / 30)).to_release(STORED, 1.0)
    for ours, theirs in zip(factors.errors_of(ranges), parts.errors_of(ranges), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1.5e-6)


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    opened = publish(tmp_path / "r", MODELS[name])
    read = opened._errors
    assert isinstance(read, LinearNoise)
    for axis, factor in read.by_axis.items():
        np.testing.assert_array_equal(factor, getattr(MODELS[name], axis))
    with xarray.open_dataset(tmp_path / "r" / "consumption.nc", engine="h5netcdf", group="gridveil") as data:
        assert data.attrs["error_model"] == "linear noise"
        assert data.noise_scale.attrs["units"] == "kW h"
        assert data.noise_scale.item() == 0.001
        for axis in ("x", "y", "time"):
            assert (f"noise_{axis}" in data) == (getattr(MODELS[name], axis) is not None)
        if "noise_time" in data:
            assert data.noise_time.dims == ("time", "noise_of_time")
            assert data.noise_time.attrs["units"] == "1"
            assert "identity" in data.noise_time.attrs["long_name"]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    publish(tmp_path / "one", MODELS["all"])
    wait_for_next_second()
    publish(tmp_path / "two", MODELS["all"])
    assert (tmp_path / "one/consumption.nc").read_bytes() == (tmp_path / "two/consumption.nc").read_bytes()


def test_single_queries_and_none_at_all(tmp_path: Path) -> None:
    opened = publish(tmp_path / "r", MODELS["all"])
    ranges = random_ranges(70)
    many = opened.answers_of(ranges)
    for row in (0, 33, 69):
        assert opened.answers_of(ranges[[row]]).high.item() == pytest.approx(many.high[row], rel=1e-9)
    assert opened.answers_of(np.empty((0, 6), int)).high.shape == (0,)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 7), (5, 7, 24)])
@pytest.mark.parametrize("columns", [None, 1, 9])
def test_any_shape_of_cube(tmp_path: Path, shape: tuple[int, int, int], columns: int | None) -> None:
    factors = [None if columns is None else RNG.normal(size=(size, columns)) for size in shape]
    grid, window = Grid(0, 0, 1, 1, nx=shape[0], ny=shape[1]), Window(WINDOW.start, WINDOW.step, shape[2])
    opened = publish(tmp_path / "r", LinearNoise(*factors), grid, window)
    norm = np.prod([n**0.5 if f is None else np.linalg.norm(f.sum(0)) for f, n in zip(factors, shape, strict=True)])
    assert opened.query().standard_error == pytest.approx(norm / 1000)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-30, 1e200])
def test_no_tiny_and_huge_noise(size: float) -> None:
    factors = LinearNoise(None, None, size * fourier(30, 6)).to_release(STORED, 1.0)
    plain = LinearNoise(None, None, fourier(30, 6)).to_release(STORED, 1.0)
    ranges = random_ranges(50, STORED)
    for ours, theirs in zip(factors.errors_of(ranges), plain.errors_of(ranges), strict=True):
        np.testing.assert_allclose(ours, size * theirs, rtol=1e-9)


def test_a_range_in_which_noise_cancels_has_none(tmp_path: Path) -> None:
    swing = np.tile([[1.0], [-1.0]], (15, 1))
    answer = publish(tmp_path / "r", LinearNoise(None, None, swing)).query(time=(2, 8))
    assert (answer.standard_error, answer.low) == (0, answer.value)


def test_batches_do_not_mix_queries_up(monkeypatch: pytest.MonkeyPatch) -> None:
    factors, ranges = MODELS["all"].to_release(STORED, 1.0), random_ranges(200, STORED)
    whole = factors.errors_of(ranges)
    monkeypatch.setattr("gridveil.uncertainty.linear.BATCH_NUMBERS", 500)
    monkeypatch.setattr("gridveil.uncertainty.laplace.HEAVY_ROWS", 3)
    np.testing.assert_allclose(factors.errors_of(ranges), whole, rtol=1e-9)


def test_answers_are_computed_many_at_a_time() -> None:
    """A hundred thousand take about 5 s on one core, and two calls each at most."""
    factors = LinearNoise(None, None, 5000 * fourier(120, 10)).to_release((120, 32, 32), 1.0)
    ranges = random_ranges(100_000, (120, 32, 32))
    assert count_calls(lambda: factors.errors_of(ranges)) < 2 * len(ranges)


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        (LinearNoise(np.ones((7, 3)), None, None), "noise-factor-shape"),
        (LinearNoise(None, np.ones((8, 3)), None), "noise-factor-shape"),
        (LinearNoise(None, None, np.ones(30)), "noise-factor-shape"),
        (LinearNoise(None, None, np.ones((30, 0))), "noise-factor-shape"),
        (LinearNoise(None, None, np.ones((30, 2, 2))), "noise-factor-shape"),
        (LinearNoise(None, None, np.ones((2, 30))), "noise-factor-shape"),
        (LinearNoise(None, None, np.full((30, 1), np.nan)), "noise-factor-not-finite"),
        (LinearNoise(np.full((8, 1), np.inf), None, None), "noise-factor-not-finite"),
    ],
    ids=["x", "y", "vector", "no column", "three axes", "transposed", "nan", "infinite"],
)
def test_factors_that_make_no_sense_are_refused(tmp_path: Path, errors: LinearNoise, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        publish(tmp_path / "r", errors)
    assert list(tmp_path.iterdir()) == []


def replaced(name: str, **how: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[f"gridveil/{name}"]
        file.create_dataset(f"gridveil/{name}", **({"dtype": "f8"} | how))

    return change


CHANGES: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "no scale": (lambda file: file.__delitem__("gridveil/noise_scale"), "noise_scale is missing"),
    "negative": (lambda file: file["gridveil/noise_scale"].__setitem__(0, -1.0), "noise_scale is -1"),
    "nan scale": (lambda file: file["gridveil/noise_scale"].__setitem__(0, np.nan), "noise_scale is nan"),
    "many scales": (replaced("noise_scale", shape=(2,)), "shape"),
    "shape": (replaced("noise_x", shape=(9, 12)), "shape (9, 12)"),
    "vector": (replaced("noise_x", data=np.ones(8)), "not a matrix"),
    "scalar": (replaced("noise_x", shape=()), "shape"),
    "three axes": (replaced("noise_x", shape=(8, 2, 2)), "shape"),
    "no column": (replaced("noise_x", shape=(8, 0)), "not a matrix"),
    "vast": (replaced("noise_x", shape=(8, 2**40), chunks=(8, 64)), "stored in a way"),
    "text": (replaced("noise_x", shape=(8, 12), dtype="S3"), "stored in a way"),
    "external": (replaced("noise_x", shape=(8, 12), external=[("/etc/hostname", 0, 2**20)]), "another file"),
    "nan": (lambda file: file["gridveil/noise_time"].__setitem__((2, 2), np.nan), "not finite"),
    "infinite": (lambda file: file["gridveil/noise_time"].__setitem__((2, 2), np.inf), "not finite"),
    "overflow": (lambda file: file["gridveil/noise_time"].__setitem__((slice(None), 2), 1.7e308), "not finite"),
    "group": (lambda file: (file.__delitem__("gridveil/noise_x"), file.create_group("gridveil/noise_x")), "not a"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(tmp_path: Path, name: str) -> None:
    publish(tmp_path / "r", MODELS["all"])
    change, message = CHANGES[name]
    with h5py.File(tmp_path / "r/consumption.nc", "r+") as file:
        change(file)
    with pytest.raises(InputError, check=has_code("values-unreadable", "consumption.nc", message)):
        open_release(tmp_path / "r").query()


def test_damaged_bytes_never_escape_as_another_error(tmp_path: Path) -> None:
    """Overwritten copies either are refused or still answer; most damage is done to the error model's own numbers."""
    publish(tmp_path / "r", MODELS["all"])
    path = tmp_path / "r/consumption.nc"
    with h5py.File(path, "r+") as file:  # stored plainly, damage comes through as numbers of any size
        for name in ("noise_x", "noise_y", "noise_time"):
            numbers = file[f"gridveil/{name}"][()]
            del file[f"gridveil/{name}"]
            where = file["gridveil"].create_dataset(name, data=numbers).id.get_offset()
    whole = path.read_bytes()
    dice = random.Random(7)  # noqa: S311 - which bytes are damaged protects nothing
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(dice.randrange(1, 40)):
            place = dice.choice([dice.randrange(len(whole)), where + dice.randrange(30 * 40 * 8)])
            damaged[place] = dice.randrange(256)
        path.write_bytes(damaged)
        try:
            open_release(tmp_path / "r").query(x=(0, 4))
        except InputError as error:
            assert "consumption.nc" in str(error)  # noqa: PT017 - both outcomes are right


def test_vast_factors_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "r", MODELS["all"])
    monkeypatch.setattr("gridveil.uncertainty.linear.MOST_BYTES", 100)
    with pytest.raises(InputError, check=has_code("values-unreadable", "larger than in any")):
        open_release(tmp_path / "r")
