"""Errors of areas over periods and schedules: against every noise variable and every draw one by one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gridveil.model.arrays import Floats
from gridveil.uncertainty import KINDS, ErrorModel, LinearNoise, NoisyParts, Posterior, Replicates
from gridveil.uncertainty.behaviour import LONDON, Behaviour, half_variances, schedule_variances, variances
from gridveil.uncertainty.laplace import errors_of, t_quantile
from gridveil.uncertainty.mixture import ends, points, scores

STEPS, NY, NX = SHAPE = (30, 5, 8)
RNG = np.random.default_rng(5)


def cube(*shape: int) -> Floats:
    return RNG.uniform(0.1, 1, shape)


PARTS = {
    "identity": NoisyParts(None, np.array(2000.0), np.array(1.0)),
    "steps": NoisyParts(None, 900 * cube(1, 1, STEPS), cube(NX, NY, 1)),
    "wild": NoisyParts(None, 900 * cube(NX, NY, STEPS) ** 9, cube(NX, NY, STEPS)),
    "parts": NoisyParts(RNG.integers(-1, 12, (NX, NY, STEPS)), 9000 * cube(12), cube(NX, NY, STEPS)),
    "many": NoisyParts(np.arange(1200).reshape(NX, NY, STEPS), 9000 * cube(1200), cube(NX, NY, 1)),
    "pillars": NoisyParts(np.arange(40).reshape(NX, NY, 1), 9000 * cube(40), cube(1, 1, STEPS)),
    "regions": NoisyParts(RNG.integers(-1, 6, (NX, NY, 1)), 9000 * cube(6), cube(NX, NY, 1)),
    "regions, shares": NoisyParts(RNG.integers(-1, 6, (NX, NY, 1)), 9000 * cube(6), cube(NX, NY, STEPS)),
    "days": NoisyParts(np.arange(STEPS).reshape(1, 1, -1) // 7, 9000 * cube(5), cube(NX, NY, STEPS)),
    "rows": NoisyParts(RNG.integers(-1, 6, (1, NY, STEPS)), 9000 * cube(6), cube(NX, 1, STEPS)),
    "none": NoisyParts(np.full((1, 1, 1), -1), 9000 * cube(1), np.array(1.0)),
}
FACTORS = {
    "all": LinearNoise(RNG.standard_t(2, (NX, 12)), RNG.standard_t(2, (NY, 6)), RNG.standard_t(2, (STEPS, 40))),
    "time": LinearNoise(None, None, RNG.normal(0, 900, (STEPS, 5))),
    "space": LinearNoise(RNG.normal(0, 900, (NX, 11)), RNG.normal(size=(NY, 3)), None),
    "x": LinearNoise(RNG.standard_t(2, (NX, 3)), None, None),
    "y": LinearNoise(None, RNG.standard_t(2, (NY, 3)), RNG.normal(size=(STEPS, 1))),
    "nothing": LinearNoise(None, None, None),
}


def make_draws(shape: tuple[int, int, int] = SHAPE, draws: int = 60, regions: int = 3) -> Posterior:
    steps, ny, nx = shape
    rng = np.random.default_rng(1)
    profile = rng.gamma(20, 1, (draws, regions, steps))
    space = rng.gamma(3, 20_000, (draws, nx, ny)) * (rng.random((draws, nx, ny)) > 0.4)
    posterior = Posterior(
        space, rng.integers(0, regions, (nx, ny)), profile / profile.sum(axis=2, keepdims=True), np.full(draws, 1e5)
    )
    return posterior.to_release(shape, 1.0)


MODELS: dict[str, ErrorModel] = (
    {name: errors.to_release(SHAPE, 1.0) for name, errors in PARTS.items()}
    | {f"linear {name}": errors.to_release(SHAPE, 1.0) for name, errors in FACTORS.items()}
    | {
        "replicates": Replicates(RNG.normal(1e3, 99, (40, NX, NY)), RNG.normal(1, 0.2, (40, STEPS))).to_release(
            SHAPE, 1.0
        )
    }
    | {"draws": make_draws()}
)


def queries() -> tuple[list[Floats], Floats]:
    """Areas with parts of cells, and schedules: steps apart, averages, one step, all."""
    rng = np.random.default_rng(2)
    scattered = rng.random((NY, NX)) * (rng.random((NY, NX)) > 0.6)
    one = np.zeros((NY, NX))
    one[2, 3] = 0.25
    apart = (np.arange(STEPS) % 7 == 3) / 5
    return [scattered, one, np.ones((NY, NX))], np.stack([apart, np.eye(STEPS)[4], np.ones(STEPS), rng.random(STEPS)])


def expected_noise(coefficients: Floats) -> tuple[float, float]:
    weights = np.abs(coefficients[coefficients != 0])
    error, width = errors_of([(weights, np.ones(len(weights)))])
    return float(error[0]), float(width[0])


@pytest.mark.parametrize("name", PARTS)
def test_parts_one_by_one(name: str) -> None:
    """The cube of labels, shares and scales in full (x, y, t), and one sum for each part."""
    errors, model = PARTS[name], MODELS[name]
    full = (NX, NY, STEPS)
    shares = np.broadcast_to(errors.shares, full)
    if errors.labels is None:
        labels, scales = np.arange(shares.size).reshape(full), np.broadcast_to(errors.scales, full).ravel()
    else:
        labels, scales = np.broadcast_to(errors.labels, full), errors.scales
    areas, schedules = queries()
    for area in areas:
        error, low, high = model.of_area(area).at(schedules, np.full(len(schedules), 7.0))
        for row, schedule in enumerate(schedules):
            held = (shares * area.T[:, :, None] * schedule).ravel()
            sums = np.array([held[labels.ravel() == part].sum() for part in range(len(scales))])
            expected = expected_noise(sums * scales / 1000)
            assert (error[row], high[row] - 7) == pytest.approx(expected, rel=2e-6)
            assert 7 - low[row] == pytest.approx(expected[1], rel=2e-6)


@pytest.mark.parametrize("name", FACTORS)
def test_linear_noise_one_by_one(name: str) -> None:
    errors, model = FACTORS[name], MODELS[f"linear {name}"]
    x, y, over_time = (
        np.eye(n) if factor is None else factor
        for factor, n in zip((errors.x, errors.y, errors.time), SHAPE[::-1], strict=True)
    )
    areas, schedules = queries()
    for area in areas:
        error, low, high = model.of_area(area).at(schedules, np.zeros(len(schedules)))
        for row, schedule in enumerate(schedules):
            weights = np.einsum("yx,t,xk,yl,tm->klm", area, schedule, x, y, over_time, optimize=True).ravel()
            expected = expected_noise(weights / 1000 / np.sqrt(2))
            assert (error[row], high[row]) == pytest.approx(expected, rel=2e-6)
            assert low[row] == -high[row]


def test_replicates_one_by_one() -> None:
    model: Any = MODELS["replicates"]
    areas, schedules = queries()
    for area in areas:
        error, low, high = model.of_area(area).at(schedules, np.zeros(len(schedules)))
        for row, schedule in enumerate(schedules):
            sums = [
                (space * area).sum() * (over_time * schedule).sum()
                for space, over_time in zip(model.space, model.time, strict=True)
            ]
            assert error[row] == pytest.approx(np.std(sums, ddof=1), rel=1e-9)
            assert high[row] == -low[row] == pytest.approx(np.std(sums, ddof=1) * t_quantile(39), rel=1e-9)


def covariance(behaviour: Behaviour, steps: int, hours: float) -> Floats:
    """The dense covariance of a process' integrals over steps: second differences of half the variance of n steps."""
    half = half_variances(behaviour, steps, hours)
    lag = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    return np.asarray(half[lag + 1] + half[np.abs(lag - 1)] - 2 * half[lag])


@pytest.mark.parametrize("hours", [0.25, 1.0, 24.0])
@pytest.mark.parametrize("steps", [1, 2, 7, 100])
def test_variances_of_schedules_are_quadratic_forms(steps: int, hours: float) -> None:
    """Of `a - share`, because `e_t = Z_t - profile_t * sum Z`; and of a period they are those in closed form."""
    rng = np.random.default_rng(steps)
    profile = rng.dirichlet(np.ones(steps))
    dense = covariance(LONDON, steps, hours)
    taken_off = np.eye(steps) - np.outer(profile, np.ones(steps))  # from Z to e
    schedules = np.concatenate([rng.random((5, steps)), (np.arange(steps) % 3 == 0)[None] / 3])
    got = schedule_variances(LONDON, hours, schedules, (schedules @ profile)[:, None])[:, 0]
    expected = [a @ taken_off @ dense @ taken_off.T @ a for a in schedules]
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-12 * dense.sum())  # differences cost digits
    first = rng.integers(0, steps, 20)
    periods = np.column_stack([first, rng.integers(first + 1, steps + 1)])
    whole = ((np.arange(steps) >= periods[:, :1]) & (np.arange(steps) < periods[:, 1:])).astype(float)
    shares = np.stack([whole @ profile, whole.mean(axis=1)], axis=1)
    half = half_variances(LONDON, steps, hours)
    closed = variances(half, periods, shares)
    np.testing.assert_allclose(
        schedule_variances(LONDON, hours, whole, shares), closed, rtol=1e-9, atol=1e-12 * half[-1]
    )


def test_draws_one_by_one() -> None:
    model: Any = MODELS["draws"]
    dense = covariance(LONDON, STEPS, 1.0)
    areas, schedules = queries()
    for area in areas:
        error, low, high = model.of_area(area).at(schedules, np.zeros(len(schedules)))
        _, low_of_much, _ = model.of_area(area).at(schedules, np.full(len(schedules), 1e9))
        for row, a in enumerate(schedules):
            mean, variance, there = np.zeros((3, 60))
            own = [
                (a - model.time[:, k].astype(float).mean(axis=0) @ a)
                @ dense
                @ (a - model.time[:, k].astype(float).mean(axis=0) @ a)
                for k in range(3)
            ]
            for r in range(60):
                energy = [(model.space[r] * area)[model.region == k].sum(dtype=float) for k in range(3)]
                there[r] = sum(energy)
                mean[r] = sum(energy[k] * (model.time[r, k] @ a) for k in range(3))
                lump = min(100.0, 1.3 * there[r]) * (1 - there[r] / model.space[r].sum(dtype=float))
                variance[r] = lump * sum(energy[k] * own[k] for k in range(3))
            assert error[row] == pytest.approx(np.sqrt(mean.var(ddof=1) + variance.mean()), rel=1e-4)
            empty = np.array([np.mean(there == 0)])
            lowest, highest = ends(points(mean[None], variance[None], scores(60)), empty, 60)
            sure = there.mean() >= 4 * there.std()
            assert high[row] == pytest.approx(highest.item(), rel=1e-4)
            assert low_of_much[row] == pytest.approx(lowest.item() if sure else 0.0, rel=1e-4)
            assert low[row] == 0  # the value was


@pytest.mark.parametrize("name", MODELS)
def test_boxes_are_range_queries(name: str) -> None:
    model = MODELS[name]
    rng = np.random.default_rng(3)
    for _ in range(8):
        (x0, x1), (y0, y1) = (np.sort(rng.choice(n + 1, 2, replace=False)) for n in (NX, NY))
        periods = np.sort(np.array([rng.choice(STEPS + 1, 2, replace=False) for _ in range(15)]), axis=1)
        weights = np.zeros((NY, NX))
        weights[y0:y1, x0:x1] = 1
        values = rng.random(15)
        area = model.of_area(weights)
        expected = model.of_boxes(np.column_stack([periods, np.tile([y0, y1, x0, x1], (15, 1))]), values)
        over = area.over(periods, values)
        steps = np.arange(STEPS)
        schedules = (steps >= periods[:, :1]) & (steps < periods[:, 1:])
        at = area.at(schedules.astype(float), values)
        for ours, theirs, listed in zip(over, expected, at, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-9)
            np.testing.assert_allclose(listed, ours, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_an_area_without_cells_has_no_error(name: str) -> None:
    area = MODELS[name].of_area(np.zeros((NY, NX)))
    bars = (*area.over(np.array([[0, 3], [2, 30]]), np.zeros(2)), *area.at(np.ones((2, STEPS)), np.zeros(2)))
    assert not np.any(bars)
    none = MODELS[name].of_area(np.ones((NY, NX))).over(np.empty((0, 2), int), np.empty(0))
    assert [part.shape for part in none] == [(0,)] * 3


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 1, 1), (1, 2, 3)])
def test_any_shape(shape: tuple[int, int, int]) -> None:
    steps, ny, nx = shape
    models: list[ErrorModel] = [
        NoisyParts(None, np.array(2000.0), np.array(1.0)),
        NoisyParts(np.zeros((1, 1, 1), int), np.array([2000.0]), np.array(0.1)),
        LinearNoise(np.ones((nx, 2)), None, np.ones((steps, 3))),
        Replicates(np.ones((5, nx, ny)), np.ones((5, steps))),
    ]
    for model in [*(one.to_release(shape, 1.0) for one in models), make_draws(shape, regions=1)]:
        area = model.of_area(np.full((ny, nx), 0.5))
        for error, low, high in (area.over(np.array([[0, 1]]), np.ones(1)), area.at(np.ones((1, steps)), np.ones(1))):
            assert error.shape == (1,)
            assert error[0] >= 0
            assert low[0] <= 1 <= high[0]


class Recorder:
    """A dataset in a file that says what was read of it."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.shape, self.read = dataset, dataset.shape, 0

    def __getitem__(self, key: Any) -> Any:
        part = self.dataset[key]
        self.read += part.size
        return part


@pytest.mark.parametrize("name", ["parts", "many", "regions, shares", "wild"])
def test_of_what_is_in_a_file_only_the_box_and_the_steps_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """And slab by slab, with the same answers as from memory."""
    held: Any = MODELS[name]
    weights = np.zeros((NY, NX))
    weights[1:3, 2:6] = np.random.default_rng(4).uniform(0.1, 1, (2, 4))
    _, schedules = queries()
    periods = np.array([[4, 20], [5, 6], [6, 7], [7, 9], [4, 10]])
    expected = [held.of_area(weights).over(periods, np.zeros(5)), held.of_area(weights).at(schedules, np.zeros(4))]
    with h5py.File(tmp_path / "parts.h5", "w") as file:
        arrays = {}
        for field in ("labels", "shares", "scales"):
            array = getattr(held, field)
            large = array is not None and array.size > 100
            arrays[field] = Recorder(file.create_dataset(field, data=array)) if large and array.ndim == 3 else array
        monkeypatch.setattr("gridveil.uncertainty.parts_area.SLAB_NUMBERS", 30)
        model = NoisyParts(**arrays)
        for part, one in zip(model.of_area(weights).over(periods, np.zeros(5)), expected[0], strict=True):
            np.testing.assert_allclose(part, one, rtol=1e-6, atol=1e-12)
        recorders = [array for array in arrays.values() if isinstance(array, Recorder)]
        assert recorders
        assert all(0 < recorder.read <= 2 * 8 * 16 for recorder in recorders)
        for part, one in zip(model.of_area(weights).at(schedules, np.zeros(4)), expected[1], strict=True):
            np.testing.assert_allclose(part, one, rtol=1e-6, atol=1e-12)


def test_a_label_that_no_part_has_is_refused() -> None:
    for labels in (np.full((STEPS, NY, NX), 3, np.int32), np.full((1, NY, NX), -2, np.int32)):
        model = NoisyParts(labels, np.ones(3), np.ones((1, 1, 1)))
        with pytest.raises(ValueError, match="labels from"):
            model.of_area(np.ones((NY, NX))).over(np.array([[0, 2]]), np.zeros(1))


def test_a_year_of_hours_takes_less_than_a_second() -> None:
    """A quarter of a second of one core, the best of three; the limit is for slow machines."""
    area = make_draws((8760, 2, 2), draws=128, regions=2).of_area(np.ones((2, 2)))
    periods = np.column_stack([np.arange(8760), np.arange(1, 8761)])
    taken = []
    for _ in range(3):
        start = time.process_time()
        area.over(periods, np.ones(8760))
        taken.append(time.process_time() - start)
    assert min(taken) < 1


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_found_by_its_name_in_a_file_and_says_what_it_covers(name: str) -> None:
    model = MODELS[name]
    assert KINDS[model.kind] is type(model)
    assert model.about_the_truth == (name == "draws")
    assert (model.freedom is not None) == (name == "replicates")
