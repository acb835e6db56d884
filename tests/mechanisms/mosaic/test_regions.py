from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds import TotalsDistribution
from gridveil.mechanisms.mosaic.regions import (
    RegionalProfiles,
    RegionPlan,
    choose_region_bound,
    detect_differences,
    fit_regions,
    plan_regions,
)
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.research.datasets.synthetic import make_districts
from gridveil.simulate.sources import ArraySource, SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.session import Measurement

GRID = Grid(0, 0, 8000, 8000, nx=32, ny=32)
START = datetime(2013, 2, 4, tzinfo=UTC)
WINDOW = Window(START, timedelta(hours=1), 120)
BOUND = Bound(23_000, 50_000)
EXACT = 1e9


def placed(*, districts: bool, households: int = 1000) -> PlacedDataset:
    """A town of districts; or the same one in which everybody has moved to the home of another."""
    town = make_districts(households, grid=GRID, window=WINDOW, seed=0)
    cells = np.stack([town.x // GRID.cell_width, town.y // GRID.cell_height], axis=1).astype(np.int64)
    homes = cells if districts else np.random.default_rng(1).permutation(cells)
    return PlacedDataset(Dataset("town", "invented", WINDOW, 0, town.consumption), GRID, homes)


def kernel(town: PlacedDataset, epsilon: float, seed: int = 0) -> Kernel:
    source = ArraySource(town.grid, WINDOW, town.cells, town.dataset.readings)
    return Kernel(source, WINDOW, budget=PureDP(epsilon), bound=BOUND, noise=SeededLaplace(seed))


def plan_of(households: float, epsilon: float, grid: Grid = GRID, window: Window = WINDOW) -> RegionPlan:
    plan = plan_regions(grid, window, households, epsilon)
    assert plan is not None
    return plan


def fitted(town: PlacedDataset, epsilon: float) -> tuple[np.ndarray, RegionalProfiles]:
    """The bounded cube, and what a look finds in it that knows totals and profile."""
    plan = plan_of(len(town.cells), epsilon)
    cube = town.source().bounded_cube(WINDOW, BOUND).astype(np.float64)
    space, profile = cube.sum(2), cube.sum((0, 1)) / cube.sum()
    measured = kernel(town, epsilon).session().sums(plan.full.labels(), plan.full.epsilon, bound=BOUND)
    return cube, fit_regions(plan.full, measured, space, profile, 50, 0)


@pytest.mark.parametrize(
    ("grid", "window", "households", "epsilon"),
    [
        (GRID, WINDOW, 1000, 5.0),  # too few households for the budget
        (GRID, WINDOW, 0, 1e9),
        (Grid(0, 0, 1, 1, 1, 1), WINDOW, 1e6, 1.0),
        (GRID, Window(START, timedelta(days=1), 30), 1e6, 1.0),  # no step tells the time of the day
        (GRID, Window(START, timedelta(days=7), 3), 1e6, 1.0),
        (GRID, Window(START, timedelta(hours=1), 5), 1e6, 1.0),  # one part of the day
        (GRID, Window(START, timedelta(hours=1), 1), 1e6, 1.0),
    ],
)
def test_no_look_where_it_cannot_pay(grid: Grid, window: Window, households: float, epsilon: float) -> None:
    assert plan_regions(grid, window, households, epsilon) is None


@pytest.mark.parametrize("shape", [(1, 2), (5, 7), (64, 3)])
@pytest.mark.parametrize(("minutes", "steps"), [(15, 96), (60, 120), (60, 13), (300, 40), (1080, 5)])
@pytest.mark.parametrize("power", [6_000, 1e12])
def test_any_grid_and_window(shape: tuple[int, int], minutes: int, steps: int, power: float) -> None:
    grid = Grid(0, 0, 1, 1, *shape)
    window = Window(START, timedelta(minutes=minutes), steps)
    plan = plan_of(power, 1.0, grid, window)
    assert 0 < plan.test.epsilon <= 0.03
    for look in (plan.test, plan.full):
        labels = look.labels()
        assert labels.shape == (*shape, steps)
        np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
        assert labels.max() + 1 == len(look.centres()) * look.parts
        count = labels.max() + 1
        for values in (np.zeros(count), np.full(count, -5.0), np.arange(count) * 1e6):
            measured = Measurement(values.astype(np.int64), np.full(count, 1000.0))
            for space in (np.zeros(shape), np.full(shape, 1e5)):
                found = fit_regions(look, measured, space, np.full(steps, 1 / steps), 3, 0)
                assert np.isfinite(found.factor).all()
                assert np.isfinite(found.draws).all()
                assert (found.factor > 0).all()
                assert found.draws.shape == (3, *found.factor.shape)


def test_a_household_meets_each_look_with_its_bound_alone() -> None:
    town = placed(districts=True)
    plan = plan_of(1000, 10.0)
    asked = kernel(town, 10.0)
    detect_differences(asked.session(), plan, BOUND)
    assert asked.spent == pytest.approx(plan.test.epsilon, rel=1e-8)
    asked.session().sums(plan.full.labels(), plan.full.epsilon, bound=BOUND)
    assert asked.spent == pytest.approx(plan.test.epsilon + plan.full.epsilon, rel=1e-8)


def test_districts_are_seen_and_their_absence_too() -> None:
    plan, different, alike = plan_of(1000, 30.0), placed(districts=True), placed(districts=False)
    assert all(detect_differences(kernel(different, 30.0, seed).session(), plan, BOUND) for seed in range(10))
    assert sum(detect_differences(kernel(alike, 30.0, seed).session(), plan, BOUND) for seed in range(10)) <= 1


def test_without_noise_the_regions_own_days_are_found() -> None:
    cube, found = fitted(placed(districts=True, households=3000), EXACT)
    regions, steps = found.factor.shape
    own = np.stack([cube[found.region == k].sum(axis=0) for k in range(regions)]).reshape(regions, -1, 24).sum(1)
    told = cube.sum((0, 1)) / cube.sum() * found.factor * own.sum(axis=1, keepdims=True)
    told = told.reshape(regions, -1, 24).sum(1)
    separable = np.outer(own.sum(axis=1), own.sum(axis=0)) / own.sum()
    assert steps == 120
    assert np.abs(told - own).sum() < 0.3 * np.abs(separable - own).sum()
    assert np.abs(told - own).sum() < 0.1 * own.sum()


@pytest.mark.parametrize("epsilon", [10.0, EXACT])
def test_totals_of_regions_and_the_maps_profile_are_kept(epsilon: float) -> None:
    cube, found = fitted(placed(districts=True), epsilon)
    space, profile = cube.sum(2), cube.sum((0, 1)) / cube.sum()
    for factor in (found.factor, *found.draws[:3]):
        local = profile * factor
        np.testing.assert_allclose(local.sum(axis=1), 1, rtol=1e-9)
        np.testing.assert_allclose((space[..., None] * local[found.region]).sum((0, 1)), cube.sum((0, 1)), rtol=1e-2)


def test_draws_say_how_far_off_the_estimate_is() -> None:
    """The squared error of factors, against the variance of the draws: a calibrated model has a ratio of about 1."""
    cube, found = fitted(placed(districts=True, households=3000), 10.0)
    regions = len(found.factor)
    own = np.stack([cube[found.region == k].sum(axis=0) for k in range(regions)])
    profile = cube.sum((0, 1)) / cube.sum()
    weight = own.sum(axis=1, keepdims=True) * profile
    parts = lambda a: a.reshape(*a.shape[:-1], 5, 4, 6).sum((-3, -1))  # noqa: E731 -- six hours of every day
    error = parts(found.factor * weight - own)
    spread = parts(found.draws * weight).std(axis=0)
    inside = np.abs(error) < 2 * spread
    assert 0.8 < np.average(inside, weights=spread) <= 1
    assert (spread**2).sum() < 10 * (error**2).sum()


def test_noise_alone_makes_no_districts() -> None:
    town = placed(districts=False)
    _, found = fitted(town, 10.0)
    assert np.abs(found.factor - 1).mean() < 0.1
    assert found.amplitude < 0.3


def test_the_looks_have_a_low_bound_unless_one_is_given() -> None:
    totals = np.linspace(1e3, 1e5, 100)
    people = TotalsDistribution(100.0, 0.1, totals, np.full(100, 0.01), np.ones(1), np.ones((1, 100)))
    free = choose_region_bound(Bound(23_000, 23_000 * 120), 120, people)
    assert free.step == 23_000
    assert 55_000 < free.window < 65_000
    assert choose_region_bound(BOUND, 120, people) == BOUND
