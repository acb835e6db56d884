"""What share of each cell an area covers, against shapely's intersections and against points thrown at the map."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Transformer
from tests.codes import has_code

from gridveil.geography import area as coverage
from gridveil.geography import area as outline
from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError

GRID = Grid(-3, 2, 9, 10, nx=12, ny=16)  # cells of 1 x 0.5
LONDON = Grid(-0.5, 51.25, -0.1, 51.5, nx=8, ny=5, crs="EPSG:4326")
BRITISH = Grid(520_000, 170_000, 560_000, 200_000, nx=10, ny=6, crs="EPSG:27700")
MANY = settings(max_examples=60, deadline=None)

# Corners on the grid's lines and corners, off the map, and anywhere.
NUMBERS = st.one_of(st.integers(-6, 14).map(float), st.floats(-6, 14, allow_nan=False).map(lambda v: round(v, 3)))
CORNERS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=9)


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [np.asarray(ring).tolist() for ring in rings]}


def square(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def shares(grid: Grid, shape: Any) -> np.ndarray:
    """What shapely says, cell by cell."""
    xs, ys = np.linspace(grid.x0, grid.x1, grid.nx + 1), np.linspace(grid.y0, grid.y1, grid.ny + 1)
    cells = shapely.box(xs[None, :-1], ys[:-1, None], xs[None, 1:], ys[1:, None])
    return np.asarray(shapely.area(shapely.intersection(shape, cells)) / shapely.area(cells))


def weights_or_zeros(grid: Grid, geometry: dict[str, Any]) -> np.ndarray:
    try:
        return Area.polygon(grid, geometry).weights
    except UsageError as error:
        assert "covers nothing" in str(error) or "fewer than three" in str(error)  # noqa: PT017 - both outcomes are right
        return np.zeros((grid.ny, grid.nx))


@given(CORNERS)
@MANY
def test_shares_of_simple_polygons_are_areas(corners: list[tuple[float, float]]) -> None:
    hull = shapely.convex_hull(shapely.MultiPoint(corners))
    if hull.geom_type == "Polygon":
        for direction in (1, -1):
            found = weights_or_zeros(GRID, polygon(shapely.get_coordinates(hull)[::direction]))
            np.testing.assert_allclose(found, shares(GRID, hull), atol=2e-9)


@given(CORNERS, st.integers(0, 2**32 - 1))
@MANY
def test_self_crossing_drawings_cover_what_they_encircle(corners: list[tuple[float, float]], seed: int) -> None:
    """Points in a cell, counted: those the line winds around. Oracle: winding numbers, with 400 points a cell."""
    found = weights_or_zeros(GRID, polygon(corners))
    rng = np.random.default_rng(seed)
    row, column = int(rng.integers(GRID.ny)), int(rng.integers(GRID.nx))
    grid = (np.arange(20) + 0.5) / 20
    x, y = (axis.ravel() for axis in np.meshgrid(-3 + column + grid, 2 + 0.5 * (row + grid)))
    wound = np.zeros(len(x), dtype=int)
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        side = (bx - ax) * (y - ay) - (x - ax) * (by - ay)
        wound += ((ay <= y) & (by > y) & (side > 0)).astype(int) - ((ay > y) & (by <= y) & (side < 0)).astype(int)
    # An edge through the cell leaves a strip of points on the wrong side: at most 1.5 of 20 in each row, an edge.
    assert abs(found[row, column] - (wound != 0).mean()) <= 0.075 * len(corners)
    if (wound != 0).all() or not (wound != 0).any():
        assert found[row, column] == pytest.approx(float((wound != 0).mean()), abs=0.1)


def test_holes_several_polygons_and_features() -> None:
    outer, hole, other = square(-3, 2, 3, 10), square(-1, 4, 1, 6), square(0.5, 3, 8.25, 9)
    with_hole = shapely.Polygon(outer, [hole])
    both = shapely.union(with_hole, shapely.Polygon(other))
    several = {"type": "MultiPolygon", "coordinates": [[outer, hole], [other]]}
    features = [
        {"type": "Feature", "properties": None, "geometry": polygon(outer, hole)},
        {"type": "Feature", "geometry": polygon(other), "id": 7},
    ]
    np.testing.assert_allclose(Area.polygon(GRID, polygon(outer, hole)).weights, shares(GRID, with_hole), atol=1e-12)
    for geometry in (several, {"type": "Feature", "geometry": several}):
        np.testing.assert_allclose(Area.polygon(GRID, geometry).weights, shares(GRID, both), atol=1e-12)
    found = Area.polygon(GRID, {"type": "FeatureCollection", "features": features})
    np.testing.assert_allclose(found.weights, shares(GRID, both), atol=1e-12)
    assert found.cells == pytest.approx(both.area / 0.5)


def test_an_open_ring_and_heights_do_no_harm() -> None:
    closed = Area.polygon(GRID, polygon(square(0, 3, 2, 5)))
    open_ring = [[*corner, 12.5] for corner in square(0, 3, 2, 5)[:-1]]
    np.testing.assert_array_equal(Area.polygon(GRID, polygon(open_ring)).weights, closed.weights)


def test_districts_that_share_borders_cover_the_map_once() -> None:
    rng = np.random.default_rng(0)
    places = shapely.MultiPoint(rng.uniform([-3, 2], [9, 10], (40, 2)))
    whole = shapely.box(-3, 2, 9, 10)
    districts = [
        shapely.intersection(d, whole) for d in shapely.get_parts(shapely.voronoi_polygons(places, extend_to=whole))
    ]
    total = sum(Area.polygon(GRID, shapely.geometry.mapping(d)).weights for d in districts)
    np.testing.assert_allclose(total, 1.0, atol=1e-8)
    together = {
        "type": "FeatureCollection",
        "features": [{"type": "Feature", "geometry": shapely.geometry.mapping(d)} for d in districts],
    }
    np.testing.assert_allclose(Area.polygon(GRID, together).weights, 1.0, atol=1e-8)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
@MANY
def test_rectangles_are_polygons(west: float, south: float, east: float, north: float) -> None:
    shape = polygon(square(west, south, east, north))
    try:
        found = Area.rectangle(GRID, west, south, east, north)
    except UsageError:
        overlaps = min(east, 9) > max(west, -3) and min(north, 10) > max(south, 2)
        assert not (west < east and south < north and overlaps)
    else:
        np.testing.assert_allclose(found.weights, weights_or_zeros(GRID, shape), atol=2e-9)


def test_boxes() -> None:
    area = Area.box(GRID, x=(2, 5), y=(0, 16))
    assert area.cells == 48
    np.testing.assert_array_equal(area.weights, Area.rectangle(GRID, -1, 2, 2, 10).weights)
    assert Area.box(GRID).weights.min() == 1
    with pytest.raises(UsageError, check=has_code("range-outside", "5:5")):
        Area.box(GRID, x=(5, 5))


def test_longitude_and_latitude_on_a_map_that_has_them() -> None:
    ring = [[-0.42, 51.28], [-0.2, 51.31], [-0.33, 51.47], [-0.42, 51.28]]
    np.testing.assert_allclose(
        Area.polygon(LONDON, polygon(ring)).weights, shares(LONDON, shapely.Polygon(ring)), atol=1e-9
    )


def test_longitude_and_latitude_on_a_projected_map() -> None:
    """A long edge stays where it is: along a parallel, which is bent on the map, not the chord between its ends."""
    ring = np.array([[-0.15, 51.45], [0.35, 51.45], [0.35, 51.65], [-0.15, 51.65]])
    fine = np.concatenate(
        [np.linspace(a, b, 2000, endpoint=False) for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]
    )
    projected = np.stack(Transformer.from_crs(4326, 27700, always_xy=True).transform(*fine.T), axis=1)
    found = Area.polygon(BRITISH, polygon(ring)).weights
    np.testing.assert_allclose(found, shares(BRITISH, shapely.Polygon(projected)), atol=2e-5)
    chords = np.stack(Transformer.from_crs(4326, 27700, always_xy=True).transform(*ring.T), axis=1)
    assert np.abs(shares(BRITISH, shapely.Polygon(chords)) - found).max() > 1e-3


def test_a_polygon_around_everything_is_the_whole_map() -> None:
    for grid in (LONDON, BRITISH):
        assert Area.polygon(grid, polygon(square(-180, -90, 180, 90))).weights.min() == 1
    assert Area.polygon(GRID, polygon(square(-1e6, -1e6, 1e6, 1e6))).weights.min() == 1


TRIANGLE = [[0, 3], [2, 3], [0, 5], [0, 3]]


@pytest.mark.parametrize(
    ("geometry", "code"),
    [
        (None, "polygon-syntax"),
        ([], "polygon-syntax"),
        ("polygon", "polygon-syntax"),
        ({"type": ["Polygon"]}, "polygon-syntax"),
        ({"type": "Point", "coordinates": [1, 2]}, "polygon-syntax"),
        ({"type": "Polygon"}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": {"a": 1}}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": []}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[]]}, "polygon-syntax"),
        ({"type": "MultiPolygon", "coordinates": []}, "polygon-syntax"),
        ({"type": "MultiPolygon", "coordinates": [TRIANGLE]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": TRIANGLE}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[0, 3], [2, 3]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[0, 3], [2], [0, 5]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[["0", "3"], ["2", "3"], ["0", "5"]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[None, 3], [2, 3], [0, 5]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[float("nan"), 3], [2, 3], [0, 5]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[10**400, 3], [2, 3], [0, 5]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [[[1e308, 3], [-1e308, 3], [0, 5]]]}, "polygon-far-away"),
        ({"type": "Polygon", "coordinates": [[[0, 3], [2, 3], [4, 3]]]}, "polygon-empty"),
        ({"type": "Polygon", "coordinates": [[[1, 3], [1, 3], [1, 3]]]}, "polygon-syntax"),
        ({"type": "Polygon", "coordinates": [square(20, 20, 21, 21)]}, "area-outside-map"),
        ({"type": "Feature"}, "polygon-syntax"),
        ({"type": "Feature", "geometry": {"type": "Feature", "geometry": None}}, "polygon-syntax"),
        ({"type": "FeatureCollection"}, "polygon-syntax"),
        ({"type": "FeatureCollection", "features": [3]}, "polygon-syntax"),
        ({"type": "FeatureCollection", "features": []}, "polygon-syntax"),
    ],
)
def test_nonsense_is_explained(geometry: Any, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        Area.polygon(GRID, geometry)


def test_coordinates_of_another_system_are_explained() -> None:
    with pytest.raises(UsageError, check=has_code("polygon-not-lonlat")):
        Area.polygon(BRITISH, polygon(square(520_000, 170_000, 530_000, 180_000)))
    unknown = Grid(0, 0, 1, 1, nx=1, ny=1, crs="EPSG:999999")
    with pytest.raises(UsageError, check=has_code("crs-unknown", "EPSG:999999")):
        Area.polygon(unknown, polygon(square(0, 0, 1, 1)))


@pytest.mark.parametrize(
    "limits", [(0, 3, float("nan"), 5), ("0", 3, 2, 5), (None, 3, 2, 5), (2, 3, 0, 5), (20, 3, 21, 5)]
)
def test_rectangles_of_nonsense_are_explained(limits: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError):
        Area.rectangle(GRID, *limits)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "geometry"]), inner, max_size=2)
    ),
    max_leaves=20,
)
KINDS = st.sampled_from(["Polygon", "MultiPolygon", "Feature", "FeatureCollection", "GeometryCollection"])


@given(KINDS, JSON)
@settings(max_examples=300, deadline=None)
def test_whatever_json_there_is_no_other_error(kind: str, inner: Any) -> None:
    geometry = {"type": kind, "coordinates": inner, "geometry": inner, "features": inner}
    for grid in (GRID, LONDON):
        try:
            area = Area.polygon(grid, geometry)
        except UsageError:
            continue
        assert 0 < area.weights.max() <= 1


@given(st.lists(st.lists(st.tuples(st.floats(), st.floats()), min_size=3, max_size=6), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_whatever_numbers_there_is_no_other_error(rings: list[list[tuple[float, float]]]) -> None:
    for grid in (GRID, BRITISH):
        try:
            area = Area.polygon(grid, {"type": "Polygon", "coordinates": rings})
        except UsageError:
            continue
        assert 0 < area.weights.max() <= 1


def test_there_are_limits_to_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = np.arange(301) * 150 / 301 * 2 * np.pi
    star = polygon(np.stack([3 + 3 * np.cos(turn), 6 + 3 * np.sin(turn)], axis=1))
    with pytest.raises(UsageError, check=has_code("polygon-crosses-itself")):
        Area.polygon(GRID, star)
    strips = [[square(x, 2, x + 0.01, 10)] for x in np.linspace(-3, 8, 300)]
    strips += [[square(-3, y, 9, y + 0.01)] for y in np.linspace(2, 9, 300)]
    with pytest.raises(UsageError, check=has_code("polygon-crosses-itself")):
        Area.polygon(GRID, {"type": "MultiPolygon", "coordinates": strips})
    circle = polygon(np.stack([3 + 3 * np.cos(turn / 150), 6 + 3 * np.sin(turn / 150)], axis=1))
    assert Area.polygon(GRID, circle).cells == pytest.approx(9 * np.pi / 0.5, rel=1e-3)
    monkeypatch.setattr(coverage, "MAX_PIECES", 300)
    with pytest.raises(UsageError, check=has_code("outline-too-intricate")):
        Area.polygon(GRID, circle)
    monkeypatch.setattr(outline, "MAX_CORNERS", 300)
    with pytest.raises(UsageError, check=has_code("polygon-too-large", "300")):
        Area.polygon(GRID, circle)


def test_the_example_in_messages_is_one() -> None:
    assert Area.polygon(Grid(0, 0, 2, 2, nx=1, ny=1), json.loads(outline.EXAMPLE)).cells == 0.5


def test_a_hole_is_never_added() -> None:
    outer = square(-3, 2, 3, 10)
    for hole in (square(5, 5, 7, 7), square(2, 5, 7, 7), square(-3, 2, 3, 4)):
        found = Area.polygon(GRID, polygon(outer, hole, square(-1, 8, 0, 9))).weights
        cut = shapely.difference(shapely.Polygon(outer), shapely.union(shapely.Polygon(hole), shapely.box(-1, 8, 0, 9)))
        np.testing.assert_allclose(found, shares(GRID, cut), atol=1e-12)
    with pytest.raises(UsageError, check=has_code("polygon-empty")):
        Area.polygon(GRID, polygon(square(0, 4, 1, 5), square(-1, 3, 2, 6)))


@pytest.mark.parametrize(
    ("west", "east", "lon", "instead"), [(170, 190, -175, "185"), (-190, -170, 175, "-185"), (350, 370, 5, "365")]
)
def test_a_map_beyond_180_degrees_says_how_to_write_longitudes(
    west: float, east: float, lon: float, instead: str
) -> None:
    grid = Grid(west, -20, east, -10, nx=20, ny=10, crs="EPSG:4326")
    assert Area.polygon(grid, polygon(square(float(instead), -15, float(instead) + 2, -13))).cells == pytest.approx(4)
    cut_at_180 = {
        "type": "MultiPolygon",
        "coordinates": [[square(west + 1, -15, west + 2, -13)], [square(lon, -15, lon + 2, -13)]],
    }
    for geometry in (polygon(square(lon, -15, lon + 2, -13)), cut_at_180):
        with pytest.raises(UsageError, check=has_code("polygon-wrong-longitude", instead)):
            Area.polygon(grid, geometry)


def test_a_projected_map_across_180_degrees_has_no_polygons() -> None:
    fiji = Grid(3_000_000, -2_300_000, 3_600_000, -1_700_000, nx=6, ny=6, crs="EPSG:3832")
    with pytest.raises(UsageError, check=has_code("map-across-antimeridian")):
        Area.polygon(fiji, polygon(square(177, -18, 179, -17)))
