"""All cells at once are what single queries say of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label

from gridveil.model.errors import InputError, UsageError
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, Posterior, posterior

Opened = tuple[Release, Estimate]
PERIODS = [(0, 1), (7, 8), (29, 30), (0, 30), (3, 20), (0, 2)]


def cell_ranges(start: int, stop: int) -> np.ndarray:
    y, x = np.indices((GRID.ny, GRID.nx)).reshape(2, -1)
    return np.column_stack([x, x + 1, y, y + 1, np.full(len(x), start), np.full(len(x), stop)])


def check(opened: Release, start: int, stop: int, somewhere: np.ndarray | slice = slice(None)) -> None:
    """Values are sums; bars are those of single queries, and ends within 1/500 of the interval: maps need no more."""
    cells = opened.cells(start, stop)
    expected = opened.values()[start:stop].sum(axis=0, dtype=float)
    np.testing.assert_allclose(cells.value, expected, rtol=1e-6, atol=1e-6)
    assert {part.dtype.name for part in (cells.value, cells.standard_error, cells.low, cells.high)} == {"float32"}
    answers = opened.answers_of(cell_ranges(start, stop))
    np.testing.assert_allclose(cells.standard_error.ravel(), answers.standard_error, rtol=1e-4, atol=1e-4)
    width = (answers.high - answers.low)[somewhere]
    for name in ("low", "high"):
        off = getattr(cells, name).ravel()[somewhere] - getattr(answers, name)[somewhere]
        assert (np.abs(off) <= 2e-3 * width + 1e-4).all()


@pytest.mark.parametrize("period", PERIODS)
def test_cells_are_single_queries(release: Opened, period: tuple[int, int]) -> None:
    check(release[0], *period)


def test_one_step_is_what_was_published(release: Opened) -> None:
    opened, _ = release
    np.testing.assert_array_equal(opened.cells(4, 5).value, opened.values()[4])


@pytest.mark.parametrize("period", [(3, 3), (-1, 4), (0, 31), (5, 2)])
def test_bad_periods_are_explained(publish: Callable[..., Path], period: tuple[int, int]) -> None:
    with pytest.raises(UsageError, check=has_code("range-outside", "time")):
        open_release(publish()).cells(*period)


@pytest.mark.parametrize("most", [0, 2**22])
def test_draws_have_cells_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whether they are packed, or stored plainly as large ones are."""
    monkeypatch.setattr(posterior, "UNCOMPRESSED_FROM", most)
    rng = np.random.default_rng(5)
    space = rng.gamma(2.0, 5e4, (64, GRID.nx, GRID.ny)) * (rng.uniform(size=(GRID.nx, GRID.ny)) > 0.2)
    profiles = rng.gamma(9.0, 1.0, (64, 3, WINDOW.steps))
    errors = Posterior(
        space,
        rng.integers(0, 3, (GRID.nx, GRID.ny)),
        profiles / profiles.sum(axis=2, keepdims=True),
        np.full(64, 9e4),
    )
    values = space.mean(axis=0)[:, :, None] * profiles.mean(axis=(0, 1)) / profiles.mean(axis=(0, 1)).sum()
    write_release(tmp_path / "draws", grid=GRID, window=WINDOW, estimate=Estimate(values, errors), label=make_label())
    with h5py.File(tmp_path / "draws" / "consumption.nc") as file:
        assert (file["gridveil/draw_space"].chunks is None) == (most == 0)
    opened = open_release(tmp_path / "draws")
    for period in PERIODS:
        check(opened, *period, somewhere=space.any(axis=0).T.ravel())


def test_numbers_that_are_not_finite_are_refused(publish: Callable[..., Path]) -> None:
    path = publish("identity")
    with h5py.File(path / "consumption.nc", "r+") as file:
        file["consumption"][4, 2, 2] = np.nan
    opened = open_release(path)
    assert np.isfinite(opened.cells(3, 4).value).all()
    with pytest.raises(InputError, check=has_code("values-unreadable", "not finite")):
        opened.cells(4, 5)


def test_values_that_are_not_finite_are_not_written(tmp_path: Path) -> None:
    estimate = make_estimate("identity")
    estimate.values[3, 2, 28] = np.inf
    with pytest.raises(UsageError, check=has_code("estimate-not-finite")):
        write_release(tmp_path / "r", grid=GRID, window=WINDOW, estimate=estimate, label=make_label())
    assert not list(tmp_path.iterdir())
