"""Areas over periods and schedules: values against sums of all cells, error bars against those of single queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.model import arrays as prefix
from gridveil.model.errors import UsageError
from gridveil.release.format import netcdf
from gridveil.release.query.open import QueryAnswers, Release, open_release
from gridveil.uncertainty import Estimate

Opened = tuple[Release, Estimate]
SHAPE = (GRID.ny, GRID.nx)
MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PERIODS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda p: p[0] != p[1]).map(sorted),
    min_size=1,
    max_size=20,
).map(np.array)
CORNERS = st.lists(st.tuples(st.floats(-0.6, 0.0), st.floats(51.2, 51.6)), min_size=3, max_size=8)
WEIGHTS = arrays(float, SHAPE, elements=st.sampled_from([0.0, 0.25, 1.0]))


def sums(release: Release, area: Area) -> np.ndarray:
    """The area's consumption in every step, added up cell by cell."""
    return np.einsum("tyx,yx->t", release.values().astype(float), area.weights)


def rows(answers: QueryAnswers) -> np.ndarray:
    return np.stack([answers.value, answers.standard_error, answers.low, answers.high], axis=1)


@given(CORNERS, PERIODS)
@MANY
def test_polygons_equal_sums_of_cells(release: Opened, corners: list[tuple[float, float]], periods: np.ndarray) -> None:
    opened, _ = release
    geometry = {"type": "Polygon", "coordinates": [corners]}
    try:
        area = Area.polygon(GRID, geometry)
    except UsageError:
        return
    steps = sums(opened, area)
    answers = opened.over(area, periods)
    expected = [steps[first:last].sum() for first, last in periods]
    np.testing.assert_allclose(answers.value, expected, rtol=1e-10, atol=1e-9)
    assert (answers.low <= answers.value).all()
    assert (answers.value <= answers.high).all()
    one = opened.query(area=geometry, time=tuple(periods[0].tolist()))
    assert [one.value, one.standard_error, one.low, one.high] == pytest.approx(rows(answers)[0], rel=1e-9, abs=1e-9)


@given(
    WEIGHTS,
    arrays(float, (3, WINDOW.steps), elements=st.sampled_from([0.0, 1 / 7, 1.0, -2.0])).filter(
        lambda rows: rows.any(axis=1).all()
    ),
)
@MANY
def test_schedules_equal_sums_of_cells(release: Opened, weights: np.ndarray, schedules: np.ndarray) -> None:
    opened, _ = release
    area = Area(weights)
    np.testing.assert_allclose(opened.at(area, schedules).value, schedules @ sums(opened, area), rtol=1e-10, atol=1e-9)


@given(PERIODS)
@MANY
def test_boxes_have_the_bars_of_range_queries(release: Opened, periods: np.ndarray) -> None:
    opened, _ = release
    ranges = np.column_stack([np.tile([2, 7, 1, 5], (len(periods), 1)), periods])
    expected = rows(opened.answers_of(ranges))
    found = rows(opened.over(Area.box(GRID, x=(2, 7), y=(1, 5)), periods))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_schedule_of_adjacent_steps_is_a_period(release: Opened) -> None:
    opened, _ = release
    area = Area.polygon(GRID, {"type": "Polygon", "coordinates": [[[-0.45, 51.27], [-0.13, 51.3], [-0.3, 51.49]]]})
    schedule = np.zeros((1, WINDOW.steps))
    schedule[0, 3:11] = 1
    np.testing.assert_allclose(rows(opened.at(area, schedule)), rows(opened.over(area, [[3, 11]])), rtol=1e-6)


def test_nothing_of_nothing(release: Opened) -> None:
    opened, _ = release
    assert rows(opened.over(Area.box(GRID), np.empty((0, 2), int))).shape == (0, 4)
    assert opened.over(Area(np.zeros(SHAPE)), [[0, 5]]).value.tolist() == [0.0]


def test_sums_too_large_for_memory_are_read_by_planes(
    publish: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers whether prefix sums are held, read from chunks, or stored plainly."""
    periods = np.column_stack([np.arange(0, 28), np.arange(2, 30)])
    area = Area.polygon(GRID, {"type": "Polygon", "coordinates": [[[-0.45, 51.27], [-0.13, 51.3], [-0.3, 51.49]]]})
    box = [[0, 8, 1, 4, 3, 29], [7, 8, 0, 5, 0, 1]]
    held = open_release(publish(name="held"))
    expected = rows(held.over(area, periods))
    assert held._prefix._held is not None
    monkeypatch.setattr(prefix, "HELD_BYTES", 0)
    in_chunks = open_release(publish(name="chunks"))
    monkeypatch.setattr(netcdf, "HELD_BYTES", 0)
    plainly = open_release(publish(name="plain"))
    with h5py.File(plainly.path) as file:
        assert file["gridveil/prefix_sums"].chunks is None
        assert file["consumption"].chunks is not None
    for opened in (in_chunks, plainly):
        np.testing.assert_allclose(rows(opened.over(area, periods)), expected, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(rows(opened.answers_of(box)), rows(held.answers_of(box)), rtol=1e-12)
        np.testing.assert_allclose(opened.cells(2, 9).value, held.cells(2, 9).value, rtol=1e-6)
        assert opened._prefix._held is None


@pytest.mark.parametrize(
    ("periods", "code"),
    [
        *((periods, "periods-shape") for periods in ([0, 1], [[0.0, 1.0]], [["a", "b"]], [[0, 1, 2]])),
        *((periods, "period-outside") for periods in ([[0, 31]], [[-1, 3]], [[3, 3]])),
    ],
)
def test_bad_periods_are_explained(publish: Callable[..., Path], periods: Any, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        open_release(publish()).over(Area.box(GRID), periods)


@pytest.mark.parametrize(
    ("schedules", "code"),
    [
        (np.ones(30), "schedules-shape"),
        (np.ones((1, 29)), "schedules-shape"),
        (np.full((1, 30), np.nan), "schedules-shape"),
        ([["a"] * 30], "schedules-shape"),
        ([[1], []], "schedules-shape"),
        (np.zeros((1, 30)), "schedule-empty"),
    ],
)
def test_bad_schedules_are_explained(publish: Callable[..., Path], schedules: Any, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        open_release(publish()).at(Area.box(GRID), schedules)


def test_areas_of_other_maps_and_too_many_limits_are_refused(publish: Callable[..., Path]) -> None:
    opened = open_release(publish())
    with pytest.raises(UsageError, check=has_code("area-shape", "8 x 5")):
        opened.over(Area.box(Grid(0, 0, 1, 1, nx=3, ny=2)), [[0, 1]])
    with pytest.raises(UsageError, check=has_code("area-and-range")):
        opened.query(x=(0, 1), area=Area.box(GRID))
    with pytest.raises(UsageError, check=has_code("polygon-syntax", "Point")):
        opened.query(area={"type": "Point", "coordinates": [0, 51.3]})


def test_weights_of_an_area_are_shares(release: Opened) -> None:
    opened, _ = release
    for wrong in (-0.25, 1.5, np.nan):
        weights = np.zeros(SHAPE)
        weights[2, 3] = wrong
        with pytest.raises(UsageError, check=has_code("area-weights")):
            opened.over(Area(weights), [(0, 4)])
        with pytest.raises(UsageError, check=has_code("area-weights")):
            opened.at(Area(weights), np.ones((1, WINDOW.steps)))
