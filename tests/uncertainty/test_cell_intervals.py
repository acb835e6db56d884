"""Error bars of all cells at once: against range queries of one cell, and against the mixture they are solved in."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special
from tests.uncertainty.test_area_errors import MODELS, NX, NY, PARTS, SHAPE, STEPS, make_draws

from gridveil.model.arrays import Floats
from gridveil.uncertainty import ErrorModel, NoisyParts, Posterior
from gridveil.uncertainty.behaviour import LONDON, half_variances, variances
from gridveil.uncertainty.laplace import errors_of, quick_widths

Bars = tuple[Floats, Floats, Floats]
PERIODS = [(3, 4), (0, 30), (5, 12), (29, 30)]


def one_by_one(model: ErrorModel, start: int, stop: int, values: Floats) -> list[Floats]:
    """A range query for every cell."""
    y, x = np.indices(values.shape).reshape(2, -1)
    period = np.broadcast_to([[start, stop]], (values.size, 2))
    bars = model.of_boxes(np.column_stack([period, y, y + 1, x, x + 1]), values.ravel())
    return [part.reshape(values.shape) for part in bars]


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("name", MODELS)
def test_all_cells_at_once_are_range_queries_of_each(name: str, period: tuple[int, int]) -> None:
    """Half-widths of several parts are 5e-4 of themselves off at most; of one, and standard errors, not at all."""
    values = np.random.default_rng(0).random((NY, NX))
    error, low, high = MODELS[name].of_cells(*period, values)
    expected, lowest, highest = one_by_one(MODELS[name], *period, values)
    np.testing.assert_allclose(error, expected, rtol=1e-9)
    alone = period[1] == period[0] + 1 and name in PARTS
    np.testing.assert_allclose(high - values, highest - values, rtol=1e-9 if alone else 5e-4, atol=1e-12)
    np.testing.assert_allclose(values - low, values - lowest, rtol=1e-9 if alone else 5e-4, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_quick_widths_are_near_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = np.abs(rng.standard_cauchy(int(rng.integers(1, 60)))) ** rng.uniform(0.1, 2)
    error, width = errors_of([(weights, np.ones(len(weights)))])
    second = (weights**2).sum()
    fourth, sixth = (np.array([(weights**power).sum() / second ** (power / 2)]) for power in (4, 6))
    assert quick_widths(fourth, sixth).item() == pytest.approx((width / error).item(), rel=5e-4)


@pytest.mark.parametrize("name", ["parts", "regions, shares", "wild"])
def test_cells_from_a_file_are_those_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    held: Any = MODELS[name]
    expected = held.of_cells(2, 29, np.zeros((NY, NX)))
    monkeypatch.setattr("gridveil.uncertainty.parts.SLAB_NUMBERS", 1)
    monkeypatch.setattr("gridveil.uncertainty.parts.SLAB_STEPS", 4)
    with h5py.File(tmp_path / "parts.h5", "w") as file:
        stored = {
            field: file.create_dataset(field, data=array) if array is not None and array.ndim == 3 else array
            for field, array in vars(held).items()
        }
        for ours, theirs in zip(NoisyParts(**stored).of_cells(2, 29, np.zeros((NY, NX))), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_a_label_that_no_part_has_is_refused() -> None:
    for labels in (np.full(SHAPE, 3, np.int32), np.full((1, NY, NX), -2, np.int32)):
        with pytest.raises(ValueError, match="labels from"):
            NoisyParts(labels, np.ones(3), np.ones((1, 1, 1))).of_cells(0, 2, np.zeros((NY, NX)))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve for cells however few there are."""
    monkeypatch.setattr("gridveil.uncertainty.posterior.MAX_EXACT_CELLS", 0)


def town(cells: tuple[int, int] = (20, 20), draws: int = 128, steps: int = 48, regions: int = 2) -> Posterior:
    """Cells from crowded to empty, known well and badly."""
    rng = np.random.default_rng(3)
    level = rng.lognormal(6, 1.5, cells)
    space = level * rng.lognormal(0, rng.uniform(0.05, 0.8, cells), (draws, *cells))
    space[rng.random((draws, *cells)) > rng.uniform(0.1, 2, cells)] = 0
    profile = rng.gamma(100, 0.01, (draws, regions, steps)) * (1.2 + np.sin(np.arange(steps) / 4))
    return Posterior(
        space.astype(np.float32),
        rng.integers(0, regions, cells),
        (profile / profile.sum(axis=2, keepdims=True)).astype(np.float32),
        rng.uniform(90, 110, draws).astype(np.float32),
        LONDON,
        1.0,
    )


def mixture_ends(model: Posterior, start: int, stop: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Both ends of each cell's mixture of gamma distributions by bisection, and where enough draws have something."""
    count = len(model.size)
    tail = 0.025 - 0.475 / count
    low, high = np.zeros((2, model.region.size))
    full = (model.space > 1e-3).sum(axis=0).ravel()
    half = half_variances(LONDON, model.time.shape[2], 1.0)
    whole = model.space.sum(axis=(1, 2), dtype=float)
    for cell, region in enumerate(model.region.ravel()):
        part = model.time[:, region, start:stop].sum(axis=1, dtype=float)
        own = variances(half, np.array([[start, stop]]), np.array([[part.mean()]])).item()
        energy = model.space.reshape(count, -1)[:, cell].astype(float)
        there = energy > 1e-3
        if there.sum() < 20:
            continue
        mean = (energy * part)[there]
        variance = (energy * np.minimum(model.size, 1.3 * energy) * (1 - energy / whole) * own)[there]
        square = variance / mean**2 / 9
        sure = energy.mean() >= 4 * energy.std()
        share = there.mean()
        for place, wanted in ((high, 1 - tail), (low, max(tail - (1 - share), 0) / share if sure else 0)):
            below, above = 0.0, mean.max() * 40
            for _ in range(50):
                middle = (below + above) / 2
                scores = (np.cbrt(middle / mean) - 1 + square) / np.sqrt(square)  # Wilson and Hilferty
                less = special.ndtr(scores).mean() < wanted
                below, above = (middle, above) if less else (below, middle)
            place[cell] = below
    return low, high, full >= 20


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("start", "stop"), [(5, 6), (20, 21), (0, 24), (10, 13)])
def test_quick_ends_are_those_of_the_mixture(start: int, stop: int) -> None:
    """The distributions of all draws, no grouping: apart by 3 % of the width at the median, 10 % at the 95th."""
    model = town()
    low, high, enough = mixture_ends(model, start, stop)
    error, _, got_high = (part.ravel() for part in model.of_cells(start, stop, np.zeros((20, 20))))
    _, got_low, _ = (part.ravel() for part in model.of_cells(start, stop, np.full((20, 20), 1e9)))
    np.testing.assert_allclose(error, one_by_one(model, start, stop, np.zeros((20, 20)))[0].ravel(), rtol=1e-5)
    assert enough.sum() > 100
    assert 20 < (low > 0).sum() < 400
    width = (high - low)[enough]
    for got, expected in ((got_low, low), (got_high, high)):
        off = np.abs(got - expected)[enough] / width
        assert np.median(off) < 0.03
        assert np.quantile(off, 0.95) < 0.1
    assert ((got_low > 0) == (low > 0))[enough].mean() > 0.99


@pytest.mark.usefixtures("quick")
def test_what_is_empty_follows_the_rules_of_range_queries() -> None:
    model = town()
    model.space[:, 0, 0] = 0
    model.space[1:, 0, 1] = 0
    _, low, high = model.of_cells(5, 6, np.zeros((20, 20)))
    _, _, expected = one_by_one(model, 5, 6, np.zeros((20, 20)))
    assert high[0, 0] == pytest.approx(expected[0, 0], rel=0.01)  # which takes the mean of all regions' profiles
    assert high[0, 1] == pytest.approx(expected[0, 1], rel=0.05)
    assert not low[0, :2].any()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("cells", [(1, 1), (3, 2)])
@pytest.mark.parametrize("draws", [5, 40])
def test_quick_ends_of_any_shape_hold_their_values(cells: tuple[int, int], draws: int) -> None:
    for model in (town(cells, draws, steps=1, regions=1), make_draws((STEPS, *cells), draws, regions=1)):
        for value in (-1.0, 0.0, 5.0, 1e9):
            error, low, high = model.of_cells(0, 1, np.full(cells, value))
            assert np.isfinite([error, low, high]).all()
            assert ((low >= 0) & (low <= max(value, 0)) & (value <= high)).all()
    model = make_draws((STEPS, *cells), draws, regions=1)
    model.space[:] = 7.0  # nothing is uncertain but behaviour, and over the window nothing is
    _, low, high = model.of_cells(0, STEPS, np.full(cells, 7.0))
    np.testing.assert_allclose([low, high], 7, rtol=0.02)


def test_a_large_map_takes_a_twentieth_of_a_second() -> None:
    """65,536 cells, 128 draws: about 50 ms of one core after the first time; the limit is for slow, busy machines."""
    model = town((256, 256), regions=16)
    values = np.zeros((256, 256))
    model.of_cells(3, 4, values)
    taken = []
    for step in range(5):
        start = time.process_time()
        model.of_cells(step, step + 1, values)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.5
