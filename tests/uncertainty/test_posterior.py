"""Error bars about consumption itself: against brute force, simulation and hostile files."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import stats
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_label
from tests.work import count_calls

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, Posterior
from gridveil.uncertainty.behaviour import LONDON, Behaviour, half_variances, variances
from gridveil.uncertainty.mixture import points
from gridveil.uncertainty.posterior import round_bits

SHAPE = (GRID.nx, GRID.ny, WINDOW.steps)
Change = Callable[[h5py.File], object]


def make_posterior(shape: tuple[int, int, int] = SHAPE, draws: int = 60, regions: int = 3, seed: int = 0) -> Posterior:
    rng = np.random.default_rng(seed)
    profile = rng.gamma(20, 1, (draws, regions, shape[2]))
    return Posterior(
        space=rng.gamma(3, 20_000, (draws, *shape[:2])),
        region=rng.integers(0, regions, shape[:2]),
        time=profile / profile.sum(axis=2, keepdims=True),
        size=rng.uniform(90_000, 120_000, draws),
    )


def publish_posterior(path: Path, posterior: Posterior, grid: Grid = GRID, window: Window = WINDOW) -> Release:
    cube = posterior.space[..., None] * posterior.time[np.arange(len(posterior.size))[:, None, None], posterior.region]
    estimate = Estimate(cube.mean(axis=0), posterior)
    write_release(path, grid=grid, window=window, estimate=estimate, label=make_label(grid, window))
    return open_release(path)


@pytest.fixture
def posterior() -> Posterior:
    return make_posterior()


@pytest.fixture
def release(tmp_path: Path, posterior: Posterior) -> Release:
    return publish_posterior(tmp_path / "release", posterior)


def covariance(behaviour: Behaviour, hours: np.ndarray) -> np.ndarray:
    lag = np.abs(hours[:, None] - hours)
    terms = zip(behaviour.strengths, behaviour.hours, behaviour.periods, strict=True)
    return sum(s**2 * np.exp(-lag / h) * np.cos(2 * np.pi * lag / p) for s, h, p in terms)


@pytest.mark.parametrize("hours", [0.25, 1.0, 24.0])
def test_the_variance_of_a_period_equals_sums_of_the_covariance(hours: float) -> None:
    """Against a fine grid of points; a step has 400 of them, so that the sums are near the integrals."""
    steps, fine = 6, 400
    middles = (np.arange(steps * fine) + 0.5) * hours / fine
    between = covariance(LONDON, middles) / (steps * fine) ** 2
    profile = np.array([0.1, 0.3, 0.1, 0.2, 0.25, 0.05])
    half = half_variances(LONDON, steps, hours)
    for first, last in ((0, 1), (2, 5), (0, 6), (4, 6)):
        weights = np.repeat((np.arange(steps) >= first) & (np.arange(steps) < last), fine).astype(float)
        share = profile[first:last].sum()
        weights -= share
        got = variances(half, np.array([[first, last]]), np.array([[share]])).item()
        assert got == pytest.approx(weights @ between @ weights, rel=2e-3, abs=1e-12)


def test_points_have_the_gamma_distribution() -> None:
    for shape in (1.0, 3.0, 40.0):
        some = points(np.array([shape]), np.array([shape]), np.array([[-1.96, -1.0, 0.0, 1.0, 1.96]]))
        expected = stats.gamma.ppf(stats.norm.cdf([-1.96, -1.0, 0.0, 1.0, 1.96]), shape)
        np.testing.assert_allclose(some, expected, rtol=0.03, atol=0.03)


def test_where_next_to_nothing_is_meant_every_point_is_nothing() -> None:
    """In single precision the ratio of variance and mean would overflow, and infinity times 0 is no number."""
    score = np.array([[-4.0, 0.0, 4.0]])
    for mean, variance in ((0.0, 1.0), (1e-25, 1e-6), (0.0, 0.0)):
        assert points(np.array([mean]), np.array([variance]), score).tolist() == [0.0, 0.0, 0.0]


def test_standard_errors_equal_brute_force(release: Release, posterior: Posterior) -> None:
    """Sums of cubes over draws, and the households' own behaviour region by region."""
    space, profile, size = (
        round_bits(part).astype(float) for part in (posterior.space, posterior.time, posterior.size)
    )
    half = half_variances(LONDON, SHAPE[2], 1.0)
    whole = space.sum(axis=(1, 2))
    for x0, x1, y0, y1, t0, t1 in ([1, 7, 0, 4, 3, 22], [0, 8, 0, 5, 0, 30], [2, 3, 2, 3, 5, 6], [0, 8, 0, 5, 4, 5]):
        inside = np.stack(
            [(space * (posterior.region == k))[:, x0:x1, y0:y1].sum(axis=(1, 2)) for k in range(3)]
        )  # (region, draw)
        part = profile[:, :, t0:t1].sum(axis=2).T
        mean = (inside * part).sum(axis=0)
        own = variances(half, np.array([[t0, t1]]), part.mean(axis=1)[None]).T
        lump = np.minimum(size, 1.3 * inside.sum(axis=0))
        variance = lump * (1 - inside.sum(axis=0) / whole) * (inside * own).sum(axis=0)
        expected = np.sqrt(mean.var(ddof=1) + variance.mean()) / 1000
        answer = release.query((x0, x1), (y0, y1), (t0, t1))
        assert answer.standard_error == pytest.approx(expected, rel=2e-4)
        assert 0 <= answer.low <= answer.value <= answer.high


def test_cell_errors_are_those_of_one_cell_queries(release: Release) -> None:
    stored = release._values.file["consumption_se"][()].transpose(2, 1, 0)
    cells = np.argwhere(np.ones(SHAPE, bool))
    ranges = np.stack([cells, cells + 1], axis=2).reshape(-1, 6)
    np.testing.assert_allclose(stored.ravel(), release.answers_of(ranges).standard_error, rtol=1e-5)
    assert release.about_the_truth


def test_many_ranges_equal_single_queries(release: Release) -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, SHAPE, (300, 3))
    ranges = np.stack([first, rng.integers(first + 1, np.array(SHAPE) + 1)], axis=2).reshape(300, 6)
    many = release.answers_of(ranges)
    for row in range(0, 300, 60):
        one = release.answers_of(ranges[[row]])
        assert (one.low.item(), one.high.item()) == pytest.approx((many.low[row], many.high[row]))
    assert release.answers_of(np.empty((0, 6), int)).high.shape == (0,)


def test_intervals_hold_the_truth_if_the_model_is_right() -> None:
    """400 towns drawn from the model: the truth is one more draw. Binomial; false alarms below 1 in a million."""
    rng = np.random.default_rng()
    inside = 0
    steps = 24
    half = half_variances(LONDON, steps, 1.0)
    for _ in range(400):
        draws = rng.gamma(50, 40, (201, 2, 1))  # kWh, many households in each cell
        profile = np.full((201, 1, steps), 1 / steps)
        true = draws[-1, 0, 0] * 6 / steps
        part = draws[-1, 0, 0] / draws[-1].sum()
        own = variances(half, np.array([[6, 12]]), np.array([[6 / steps]])).item()
        true += rng.normal(0, np.sqrt(0.1 * draws[-1, 0, 0] * (1 - part) * own))
        model = Posterior(
            draws[:-1].transpose(0, 2, 1).astype(np.float32), np.zeros((1, 2), int), profile[:-1].astype(np.float32),
            np.full(200, 0.1, np.float32), LONDON, 1.0,
        )  # fmt: skip
        _, low, high = model.of_boxes(
            np.array([[6, 12, 0, 1, 0, 1]]), np.array([true]) * 0 + draws[:-1, 0, 0].mean() / 4
        )
        inside += int(low.item() <= true <= high.item())
    assert stats.binomtest(inside, 400, 0.95).pvalue > 1e-6


def test_what_may_be_empty_has_the_upper_end_of_what_is_not(tmp_path: Path) -> None:
    """Half of the draws have nothing in a cell; and none has anything in another."""
    posterior = make_posterior(draws=200, regions=1)
    posterior.space[::2, 0, 0] = 0.0
    posterior.space[:, 1, 1] = 0.0
    release = publish_posterior(tmp_path / "empty", posterior)
    full = make_posterior(draws=200, regions=1)
    full.space[::2, 0, 0] = full.space[1::2, 0, 0]
    expected = publish_posterior(tmp_path / "full", full).query((0, 1), (0, 1))
    half = release.query((0, 1), (0, 1))
    assert half.low == 0
    assert half.high == pytest.approx(expected.high, rel=0.03)
    never = release.query((1, 2), (1, 2))
    assert (never.value, never.low) == (0, 0)
    assert 60 < never.high < 600  # a household's use in 30 hours, kWh


def test_a_query_needs_few_calls_and_little_memory(tmp_path: Path) -> None:
    """It takes less than a millisecond: sums come from the draws' prefix sums, not from their cells."""
    grid, window = Grid(0, 0, 32, 32, nx=32, ny=32), Window(WINDOW.start, timedelta(hours=1), 120)
    posterior = make_posterior((32, 32, 120), draws=200, regions=16)
    posterior.region[:] = np.arange(32)[:, None] // 8 * 4 + np.arange(32) // 8
    release = publish_posterior(tmp_path / "large", posterior, grid, window)
    box = np.array([[5, 100, 2, 31, 3, 30]])

    def ask() -> None:
        release._errors.of_boxes(box, np.ones(1))

    ask()  # what it keeps of the draws is made once
    assert count_calls(ask) < 500
    tracemalloc.start()
    ask()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6
    assert (tmp_path / "large" / "consumption.nc").stat().st_size < 6e6


@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("cells", [(1, 1), (3, 2)])
def test_any_shape_and_step(tmp_path: Path, cells: tuple[int, int], steps: int) -> None:
    grid, window = Grid(0, 0, 1, 1, *cells), Window(WINDOW.start, timedelta(minutes=15), steps)
    posterior = make_posterior((*cells, steps), draws=40, regions=1)
    posterior.space[:] = 0.0
    answer = publish_posterior(tmp_path / "r", posterior, grid, window).query(time=(0, 1))
    assert (answer.value, answer.low) == (0, 0)
    assert answer.high > 0


def test_large_grids_get_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.uncertainty.posterior.MAX_SPACE_VALUES", 40 * 45)
    assert len(make_posterior(draws=60).to_release(SHAPE[::-1], 1.0).size) == 45


def test_faulty_draws_are_a_fault_of_the_mechanism(posterior: Posterior) -> None:
    for fault in (
        {"space": posterior.space[:, :3]},
        {"space": -posterior.space},
        {"region": posterior.region + 1},
        {"size": np.full(60, np.nan)},
        {"behaviour": Behaviour((1.0,), (0.0,), (24.0,))},
    ):
        with pytest.raises(UsageError):
            replace(posterior, **fault).to_release(SHAPE[::-1], 1.0)


def resized(name: str, shape: tuple[int, ...]) -> Change:
    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, shape, "f4")

    return change


CHANGES: dict[str, tuple[Change, str]] = {
    "regions": (lambda file: file["gridveil/draw_region"].__setitem__((0, 0), 9), "regions from"),
    "negative": (lambda file: file["gridveil/draw_space"].__setitem__((0, 0, 0), -1), "negative"),
    "not a number": (lambda file: file["gridveil/draw_size"].__setitem__(0, np.nan), "not finite"),
    "no decay": (lambda file: file["gridveil/behaviour_hours"].__setitem__(0, 0), "no sense"),
    "other shape": (resized("gridveil/draw_space", (60, 5, 9)), "shape"),
    "no draws": (resized("gridveil/draw_time", (0, 3, 30)), "draw_space has shape"),
    "many terms": (resized("gridveil/behaviour_hours", (10**6,)), "behaviour_"),
    "missing": (lambda file: file["gridveil"].__delitem__("draw_size"), "missing"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(release: Release, tmp_path: Path, name: str) -> None:
    release._values.file.close()
    change, message = CHANGES[name]
    with h5py.File(tmp_path / "release" / "consumption.nc", "r+") as file:
        assert file.attrs["gridveil_format"] == 1
        change(file)
    with pytest.raises(InputError, check=has_code("values-unreadable", message)):
        open_release(tmp_path / "release").query()


def test_differences_have_no_error_bars_about_consumption(tmp_path: Path) -> None:
    release = publish_posterior(tmp_path / "release", make_posterior())
    schedule = np.zeros((1, WINDOW.steps))
    schedule[0, [3, 18]] = -1.0, 1.0
    with pytest.raises(UsageError, check=has_code("schedules-negative")):
        release.at(Area.box(GRID), schedule)
    assert release.at(Area.box(GRID), np.abs(schedule)).value[0] > 0
