"""The page's pure functions, run in Chromium as the page runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from pyproj import Geod, Transformer

from gridveil.geography.grid import Grid, make_lattice

Call = Callable[..., Any]
RING, HOLE = [[0, 0], [8, 0], [8, 8], [0, 8]], [[1, 1], [2, 1], [2, 2]]
FACTS: dict[str, Any] = {
    "id": "town",
    "axes": {
        "x": {"start": 0, "end": 8000, "size": 32, "unit": ""},
        "y": {"start": 0, "end": 4000, "size": 16, "unit": ""},
        "time": {"start": "2013-02-04T00:00:00Z", "end": "2013-02-09T00:00:00Z", "step_seconds": 3600, "steps": 120},
    },
    "lonlat": None,
    "cell_metres": None,
}
SKEWED = FACTS | {"lonlat": [[[-0.52, 51.39], [-0.24, 51.4]], [[-0.5, 51.5], [-0.25, 51.52]]]}
BRITISH = Grid(450_000, 130_000, 550_000, 230_000, nx=32, ny=16, crs="EPSG:27700")
BENT = FACTS | {"lonlat": make_lattice(BRITISH).round(7).tolist()}


@pytest.fixture(scope="module")
def page(browser: Browser, server_url: str) -> Iterator[Page]:
    """One page for all: nothing here leaves a trace, and nothing needs the release to be drawn."""
    with browser.new_context(base_url=server_url, locale="en-GB", timezone_id="UTC") as context:
        opened = context.new_page()
        opened.goto("/api/releases")
        yield opened


@pytest.fixture(scope="module")
def call(page: Page) -> Call:
    """Call a function of a module with arguments that JSON can carry."""

    def run(module: str, function: str, *arguments: Any) -> Any:
        script = (
            "async ([module, name, given]) => JSON.stringify("
            "(await import(`/page/${module}.js`))[name](...JSON.parse(given))) ?? 'null'"
        )
        return json.loads(page.evaluate(script, [module, function, json.dumps(arguments)]))

    return run


# The view in the URL


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"time": [19, 20], "period": [0, 24], "tab": "highest", "zone": "Europe/London"},
        {"area": {"x": [0, 10], "y": [3, 4]}},
        {"area": {"polygons": [[[[1.5, -2], [3, 4.25], [5000.125, 0]]]]}, "tab": "compare"},
        {"area": {"polygons": [[RING, HOLE, HOLE], [RING]]}, "other": {"area": {"polygons": [[HOLE]]}, "period": None}},
        {"other": {"area": {"x": [1, 2], "y": [3, 4]}, "period": None}, "area": {"x": [0, 1], "y": [0, 1]}},
        {"other": {"area": None, "period": None}, "zone": "America/New_York"},
    ],
)
def test_a_view_survives_its_url(call: Call, view: dict[str, Any]) -> None:
    whole = {"release": "town-2", "time": None, "period": None, "area": None, "other": None} | view
    whole = {"tab": "curve", "zone": "UTC"} | whole
    assert call("state", "fromHash", call("state", "toHash", whole)) == whole


def test_a_url_is_short_and_readable(call: Call) -> None:
    view = {"release": "town", "time": [0, 24], "area": {"x": [0, 10], "y": [3, 4]}, "tab": "curve", "zone": "UTC"}
    assert call("state", "toHash", view) == "#release=town&time=0:24&area=0:10,3:4"
    holed = call("state", "toHash", view | {"area": {"polygons": [[RING, HOLE], [HOLE]]}})
    assert holed == "#release=town&time=0:24&area=0,0;8,0;8,8;0,8~1,1;2,1;2,2!1,1;2,1;2,2"


def test_links_of_one_ring_still_work(call: Call) -> None:
    read = call("state", "fromHash", "#release=town&area=0,0;8,0;8,8;0,8")
    assert read["area"] == {"polygons": [[RING]]}


@pytest.mark.parametrize(
    "hostile",
    [
        "#release=../../etc/passwd",
        "#release=<img src=x onerror=alert(1)>&tab=<b>&zone=javascript:alert(1)",
        "#time=9:3&period=a:b&area=0:10&other-area=1,2,3",
        "#time=-5:5&period=1:2:3&area=0:1,0:1,0:1",
        "#area=1e999,0;2,2;3,3&time=1e3:2e3",
        "#area=" + "1,1;" * 5000,
        "#area=1,2;NaN,3;Infinity,4",
        "#area=0,0;8,0;8,8~1,1;2,1!~!",
        "#area=" + "~".join(["0,0;8,0;8,8"] * 1700),
        "#__proto__=1&constructor=2&time=%",
        "#" + "&" * 10000,
    ],
)
def test_what_makes_no_sense_in_a_url_is_left_out(call: Call, hostile: str) -> None:
    empty = {"release": None, "time": None, "period": None, "area": None, "tab": "curve", "zone": "UTC"}
    read = call("state", "fromHash", hostile)
    other = read.pop("other")
    assert read == empty
    assert other in (None, {"area": None, "period": None})


def test_a_view_is_fitted_to_its_release(call: Call) -> None:
    polygons = [[[[0.123456789, 1], [2, 3], [4, 5]]]]
    view = {
        "release": "another",
        "time": [100, 500],
        "period": [120, 130],
        "area": {"x": [20, 90], "y": [0, 99]},
        "other": {"area": {"polygons": polygons}, "period": [3, 999]},
    }
    fitted = call("state", "fit", view, FACTS)
    assert fitted["release"] == "town"
    assert fitted["time"] == [100, 120]
    assert fitted["period"] is None
    assert fitted["area"] == {"x": [20, 32], "y": [0, 16]}
    assert fitted["other"] == {"area": {"polygons": [[[[0.123, 1], [2, 3], [4, 5]]]]}, "period": [3, 120]}
    assert call("state", "fit", {"time": None}, FACTS)["time"] == [0, 120]


# Colours


def lightness(colours: np.ndarray) -> np.ndarray:
    """Return CIE L* of sRGB colours."""
    share = colours / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    y = linear @ [0.2126, 0.7152, 0.0722]
    return np.where(y > 216 / 24389, 116 * np.cbrt(y) - 16, y * 24389 / 27)


def as_deuteranopes_see(colours: np.ndarray) -> np.ndarray:
    """Return colours as people without green cones see them (Viénot 1999, in linear light)."""
    linear = (colours / 255) ** 2.2
    cones = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    seen: np.ndarray = 255 * np.clip(linear @ cones.T, 0, 1) ** (1 / 2.2)
    return seen


@pytest.mark.parametrize("page_is", ["dark", "light"])
def test_more_consumption_stands_out_evenly_for_everyone(call: Call, page_is: str) -> None:
    dark = page_is == "dark"
    colours = np.array(call("colour", "palette", dark))
    assert colours.shape == (256, 3)
    for seen in (colours, as_deuteranopes_see(colours)):
        light = lightness(seen)[::15] * (1 if dark else -1)
        steps = np.diff(light)
        assert light[-1] - light[0] > 85
        assert steps.min() > 0.4 * steps.mean()
        assert steps.max() < 1.8 * steps.mean()


def test_the_scale_is_a_square_root_and_ends_at_its_top(call: Call) -> None:
    for value, wanted in [(0, 0), (-3, 0), (1, 0.25), (4, 0.5), (16, 1), (99, 1)]:
        assert call("colour", "position", value, 16) == wanted
    assert call("colour", "position", 5, 0) == 0


@pytest.mark.parametrize("top", [0.0123, 0.5, 1, 3.3, 15.8, 32.1, 999, 12345])
def test_the_scale_is_written_with_room_between(call: Call, top: float) -> None:
    marks = call("colour", "marks", top)
    at = np.sqrt(np.array(marks) / top)
    assert marks[0] == 0
    assert marks[-1] == top
    assert len(marks) >= 3
    assert np.diff(at).min() >= 0.12
    assert at[-1] - at[-2] >= 0.34


def test_a_slice_is_coloured_north_up_and_hatched_where_the_interval_is_wider(page: Page, call: Call) -> None:
    rng = np.random.default_rng(5)
    value = rng.normal(5, 6, (3, 4))
    low, high = value - rng.exponential(4, (3, 4)), value + rng.exponential(4, (3, 4))
    given = {"nx": 4, "ny": 3} | {
        name: plane.ravel().tolist() for name, plane in (("value", value), ("low", low), ("high", high))
    }
    painted = page.evaluate(
        "async (slice) => { const {colourise, palette} = await import('/page/colour.js');"
        " const made = colourise(slice, 2, 4, palette(true));"
        " return [[...made.colours], [...made.uncertain]]; }",
        given,
    )
    colours, uncertain = (np.array(each).reshape(3, 4, 4) for each in painted)
    dark = True
    table = np.array(call("colour", "palette", dark))
    level = np.floor(np.sqrt(np.clip(value / 2 / 4, 0, 1)) * 255 + 0.5).astype(int)
    assert np.array_equal(colours[:, :, :3], table[level[::-1]])
    assert (colours[:, :, 3] == 255).all()
    wider = (high - low > abs(value))[::-1]
    assert 0 < wider.sum() < wider.size
    assert np.array_equal(uncertain[:, :, 3] > 0, wider)


# Words


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((1345.678, 1210.4, 1479.6), ["1,350", "1,210", "1,480", "kWh"]),
        ((53269, 50001, 56725), ["53,300", "50,000", "56,700", "kWh"]),
        ((0.1234, 0.0512, 0.2088), ["0.12", "0.05", "0.21", "kWh"]),
        ((12, -4000, 4100), ["0", "−4,000", "4,100", "kWh"]),  # noqa: RUF001
        ((5.00001, 5, 5.00002), ["5.0000", "5.0000", "5.0000", "kWh"]),
        ((-3.2, -40, 33.6), ["−3", "−40", "34", "kWh"]),  # noqa: RUF001  # a true minus sign
        ((-0.0001, -20, 20), ["0", "−20", "20", "kWh"]),  # noqa: RUF001
        ((298018.8, 292344.2, 305453.7), ["298", "292", "305", "MWh"]),
        ((298018.8, 298012.2, 298029.7), ["298.019", "298.012", "298.030", "MWh"]),
        ((4.2e9, 4.1e9, 4.3e9), ["4,200", "4,100", "4,300", "GWh"]),
        ((7, 7, 7), ["7.00", "7.00", "7.00", "kWh"]),
    ],
)
def test_numbers_are_in_one_unit_and_no_finer_than_they_are_known(
    call: Call, answer: tuple[float, float, float], words: list[str]
) -> None:
    given = dict(zip(("value", "low", "high"), answer, strict=True))
    said = call("words", "figure", given)
    assert [said[name] for name in ("value", "low", "high", "unit")] == words
    assert call("words", "interval", given) == f"95\N{NO-BREAK SPACE}% interval: {words[1]} to {words[2]} {words[3]}"


def test_rounding_keeps_a_value_between_its_ends_and_all_three_in_the_same_steps(page: Page) -> None:
    rng = np.random.default_rng(8)
    middle = rng.normal(0, 1, 500) * 10 ** rng.uniform(-1, 9, 500)
    low, high = middle - 10 ** rng.uniform(-2, 9, 500), middle + 10 ** rng.uniform(-2, 9, 500)
    given = np.stack([middle, low, high], axis=1)
    told = page.evaluate(
        "async (rows) => { const {figure} = await import('/page/words.js');"
        " return rows.map(([value, low, high]) => figure({value, low, high}))"
        ".map(({value, low, high, unit}) => [value, low, high, unit]); }",
        given.tolist(),
    )
    units = {"kWh": 1, "MWh": 1000, "GWh": 1e6}
    for row, (*texts, unit) in zip(given, told, strict=True):
        shown = np.array([float(text.replace(",", "").replace("\N{MINUS SIGN}", "-")) for text in texts]) * units[unit]
        width = row[2] - row[1]
        step = 10 ** np.floor(np.log10(width) - 1)
        assert shown[1] <= shown[0] <= shown[2]
        assert np.abs(shown - row).max() <= 0.501 * step
        assert shown / step == pytest.approx(np.round(shown / step), abs=1e-6 * max(1, abs(shown).max() / step / 1e3))
        assert width / step > 9.999


@pytest.mark.parametrize(
    ("steps", "zone", "words"),
    [
        ((0, 120), "UTC", "Mon 4 Feb 2013 to Fri 8 Feb 2013"),
        ((0, 24), "UTC", "Mon 4 Feb 2013"),
        ((19, 20), "UTC", "Mon 4 Feb 2013, 19:00 to 20:00"),
        ((23, 24), "UTC", "Mon 4 Feb 2013, 23:00 to 24:00"),
        ((23, 25), "UTC", "Mon 4 Feb 2013, 23:00 to Tue 5 Feb 2013, 01:00"),
        ((0, 24), "Europe/Berlin", "Mon 4 Feb 2013, 01:00 to Tue 5 Feb 2013, 01:00"),
        ((0, 5), "America/New_York", "Sun 3 Feb 2013, 19:00 to 24:00"),
    ],
)
def test_times_in_words(call: Call, steps: tuple[int, int], zone: str, words: str) -> None:
    assert call("words", "span", steps, FACTS, zone) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3600, "hour"), (1800, "30 minutes"), (86400, "day"), (7200, "2 hours"), (604800, "week"), (90, "90 seconds")],
)
def test_how_long_a_step_is(call: Call, seconds: int, words: str) -> None:
    assert call("words", "duration", seconds) == words


def test_places_in_words(call: Call) -> None:
    assert call("words", "place", None) == "the whole map"
    assert call("words", "place", {"x": [3, 4], "y": [5, 6]}) == "cell x 3, y 5"
    assert call("words", "place", {"x": [3, 10], "y": [5, 6]}) == "cells x 3 to 9, y 5"
    assert call("words", "place", {"polygons": [[HOLE]]}) == "a polygon with 3 corners"
    assert call("words", "place", {"polygons": [[RING, HOLE]]}) == "a polygon with 7 corners, less a hole"
    several = {"polygons": [[RING, HOLE], [RING, HOLE], [RING]]}
    assert call("words", "place", several) == "3 polygons with 18 corners, less 2 holes"


# Where things are


@pytest.mark.parametrize("facts", [FACTS, SKEWED, BENT])
@pytest.mark.parametrize("cell", [(0, 0), (32, 16), (7.25, 11.5), (-4, 20)])
def test_cells_and_coordinates_lead_back_to_each_other(
    call: Call, facts: dict[str, Any], cell: tuple[float, float]
) -> None:
    world = call("frame", "toWorld", facts, cell)
    assert call("frame", "toCells", facts, world) == pytest.approx(cell, abs=1e-6)


def test_corners_are_where_the_release_says(call: Call) -> None:
    corners = [point for row in SKEWED["lonlat"] for point in row]
    for cell, corner in zip([(0, 0), (32, 0), (0, 16), (32, 16)], corners, strict=True):
        assert call("frame", "toWorld", SKEWED, cell) == pytest.approx(corner)
    assert call("frame", "toWorld", FACTS, (16, 4)) == [4000, 1000]


def test_a_projected_grid_of_100_km_is_placed_to_a_metre(page: Page) -> None:
    """Both ways, against PROJ itself: the page's places in metres on the ground, its cells in metres of the grid."""
    cells = np.random.default_rng(3).uniform(0, 1, (500, 2)) * [BRITISH.nx, BRITISH.ny]
    x, y = BRITISH.x0 + cells[:, 0] * BRITISH.cell_width, BRITISH.y0 + cells[:, 1] * BRITISH.cell_height
    true = np.stack(Transformer.from_crs("EPSG:27700", "EPSG:4326", always_xy=True).transform(x, y), axis=1)
    world, back = page.evaluate(
        "async ([facts, cells, places]) => { const {toCells, toWorld} = await import('/page/frame.js');"
        " return [cells.map((at) => toWorld(facts, at)), places.map((at) => toCells(facts, at))]; }",
        [BENT, cells.tolist(), true.tolist()],
    )
    assert max(Geod(ellps="WGS84").inv(*true.T, *np.array(world).T)[2]) < 1.5
    off = (np.array(back) - cells) * [BRITISH.cell_width, BRITISH.cell_height]
    assert np.hypot(*off.T).max() < 1.5


def test_edges_are_straight_in_longitude_and_latitude(call: Call) -> None:
    """A line of 80 km along a parallel is bent by 150 m on the British grid, which the page draws."""
    to_grid = Transformer.from_crs("EPSG:4326", "EPSG:27700", always_xy=True).transform
    west, east, north = -1.2, -0.05, 51.5
    drawn = np.array(call("frame", "ringCells", BENT, [[west, north], [east, north]], False))  # noqa: FBT003  # not closed
    assert len(drawn) > 20
    x, y = to_grid(np.linspace(west, east, 2000), np.full(2000, north))
    line = np.stack([(x - BRITISH.x0) / BRITISH.cell_width, (y - BRITISH.y0) / BRITISH.cell_height], axis=1)
    middle = (drawn[1:] + drawn[:-1]) / 2
    away = np.abs(middle[:, None] - line).min(axis=1) * [BRITISH.cell_width, BRITISH.cell_height]
    assert away[:, 1].max() < 5
    bulge = (line[1000] - (line[0] + line[-1]) / 2)[1] * BRITISH.cell_height
    assert abs(bulge) > 100
    assert call("frame", "ringCells", FACTS, [[0, 0], [8000, 0]]) == [[0, 0], [32, 0]]


def test_ticks_are_where_the_sides_have_that_longitude_and_latitude(call: Call) -> None:
    to_grid = Transformer.from_crs("EPSG:4326", "EPSG:27700", always_xy=True).transform
    from_grid = Transformer.from_crs("EPSG:27700", "EPSG:4326", always_xy=True).transform
    for axis, value in ((0, -0.5), (1, 51.6)):
        share = call("frame", "shareAt", BENT, value, axis)
        x, y = (BRITISH.x0 + share * 100_000, BRITISH.y0) if axis == 0 else (BRITISH.x0, BRITISH.y0 + share * 100_000)
        place = list(from_grid(x, y))
        place[axis] = value
        assert to_grid(*place) == pytest.approx((x, y), abs=2)


def test_places_far_away_stay_far_away(page: Page) -> None:
    places = [[lon, lat] for lon in range(-180, 181, 10) for lat in range(-80, 81, 10) if abs(lat - 51) + abs(lon) > 12]
    found = page.evaluate(
        "async ([facts, places]) => { const {toCells} = await import('/page/frame.js');"
        " return places.map((at) => toCells(facts, at)); }",
        [BENT, places],
    )
    outside = [not (0 <= x <= BRITISH.nx and 0 <= y <= BRITISH.ny) for x, y in found]
    assert all(outside)


@pytest.mark.parametrize(("start", "end"), [(0, 8000), (-0.5, -0.25), (51.395, 51.5), (3, 3.0004)])
def test_ticks_are_round_and_inside(call: Call, start: float, end: float) -> None:
    ticks = call("frame", "ticks", start, end, 5)
    values = np.array(ticks["values"])
    assert 3 <= len(values) <= 7
    assert values.min() >= start - 1e-12
    assert values.max() <= end + 1e-12
    assert np.round(values, ticks["decimals"]) == pytest.approx(values, abs=1e-9)


def test_a_ring_holds_the_points_inside_it(page: Page) -> None:
    ring = np.array([[0, 0], [6, 1], [3, 3], [7, 6], [1, 5]])
    points = np.random.default_rng(1).uniform(-1, 8, (400, 2))
    inside = page.evaluate(
        "async ([points, ring]) => { const {inside} = await import('/page/pick.js');"
        " return points.map((point) => inside(point, [ring])); }",
        [points.tolist(), ring.tolist()],
    )
    # The angles under which the sides are seen add up to a full turn inside, and to nothing outside.
    seen = ring[None] - points[:, None]
    angle = np.arctan2(seen[..., 1], seen[..., 0])
    turn = np.mod(np.roll(angle, -1, 1) - angle + np.pi, 2 * np.pi) - np.pi
    assert np.array_equal(inside, abs(turn.sum(1)) > np.pi)
    assert 0 < sum(inside) < len(points)


def test_marking_by_cells(call: Call) -> None:
    assert call("pick", "between", (5, 2), (3, 9)) == {"x": [3, 6], "y": [2, 10]}
    grid = {"nx": 32, "ny": 16}
    assert call("pick", "cellAt", (3.9, 0.1), grid) == [3, 0]
    assert call("pick", "cellAt", (-0.1, 3), grid) is None
    assert call("pick", "nearest", (-5, 99), grid) == [0, 15]
    moved = {key: call("pick", "step", (0, 15), f"Arrow{key}", grid) for key in ("Left", "Right", "Up", "Down")}
    assert moved == {"Left": [0, 15], "Right": [1, 15], "Up": [0, 15], "Down": [0, 14]}


# Time


@pytest.mark.parametrize(
    ("seconds", "steps", "wanted"),
    [
        (3600, 120, {"step": 1, "day": 24, "all": 120}),
        (1800, 48, {"step": 1, "all": 48}),
        (86400, 30, {"step": 1, "all": 30}),
        (7000, 300, {"step": 1, "all": 300}),
    ],
)
def test_a_day_is_offered_where_steps_make_up_days(
    call: Call, seconds: int, steps: int, wanted: dict[str, int]
) -> None:
    assert call("clock", "lengths", {"step_seconds": seconds, "steps": steps}) == wanted


@pytest.mark.parametrize(
    ("first", "length", "wanted"), [(30, 24, [24, 48]), (119, 24, [96, 120]), (119, 50, [100, 120]), (-3, 1, [0, 1])]
)
def test_time_is_shown_in_pieces(call: Call, first: int, length: int, wanted: list[int]) -> None:
    assert call("clock", "piece", first, length, 120) == wanted


@pytest.mark.parametrize(
    ("time", "name"), [((0, 120), "all"), ((24, 48), "day"), ((5, 6), "step"), ((5, 29), "marked")]
)
def test_how_time_is_shown_follows_from_its_length(call: Call, time: tuple[int, int], name: str) -> None:
    assert call("clock", "way", time, FACTS) == name


# The user's own files


def test_geojson_of_every_kind_is_read(call: Call) -> None:
    square = [[0, 0], [8, 0], [8, 8], [0, 0]]
    lines = [[[0, 0], [1, 1]], [[2, 2], [3, 3]]]
    given = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2, 3]}},
            {"type": "Feature", "geometry": {"type": "MultiLineString", "coordinates": lines}},
            {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": [[square], [square, square]]}},
            {"type": "Feature", "geometry": None},
            {
                "type": "Feature",
                "geometry": {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [4, 5]}]},
            },
            {"type": "Feature", "geometry": {"type": "LineString", "coordinates": [["a", 1]]}},
        ],
    }
    kinds = [(shape["kind"], [len(part) for part in shape["parts"]]) for shape in call("overlay", "shapes", given)]
    assert kinds == [("point", [1]), ("line", [1]), ("line", [1]), ("polygon", [1, 2]), ("point", [1])]
    read = call("overlay", "read", json.dumps(given), FACTS)
    ring = [[0, 0], [8, 0], [8, 8]]
    assert read[3]["area"] == {"polygons": [[ring], [ring, ring]]}
    assert read[0]["rings"] == [[pytest.approx([1 / 250, 2 / 250])]]
    assert read[0]["area"] is None


def test_a_hole_is_outside(call: Call) -> None:
    assert call("pick", "inside", (4, 4), [RING, HOLE])
    assert not call("pick", "inside", (1.8, 1.5), [RING, HOLE])


def test_polygons_as_geojson(call: Call) -> None:
    closed = [*RING, RING[0]], [*HOLE, HOLE[0]]
    assert call("api", "geometry", [[RING, HOLE]]) == {"type": "Polygon", "coordinates": list(closed)}
    many = {"type": "MultiPolygon", "coordinates": [list(closed), [closed[0]]]}
    assert call("api", "geometry", [[RING, HOLE], [RING]]) == many


@pytest.mark.parametrize(
    "given", [None, 3, [], {}, {"type": "Polygon"}, {"type": 7}, {"type": "Multi", "coordinates": [[1]]}]
)
def test_what_is_no_geojson_has_no_shapes(call: Call, given: object) -> None:
    assert call("overlay", "shapes", given) == []


# Files


def test_csv_is_quoted_and_never_a_formula(call: Call) -> None:
    written = call("table", "csv", ["name", "kwh"], [['=HYPERLINK("x")', -1.5], ["a,b", 0.1], [None, 1e21]])
    assert written == 'name,kwh\r\n"\'=HYPERLINK(""x"")",-1.5\r\n"a,b",0.1\r\n,1e+21\r\n'


def test_high_epsilon_is_said_beside_the_number(call: Call) -> None:
    assert call("label", "strength", {"epsilon": 1}) == {"text": "ε = 1", "high": False}
    assert call("label", "strength", {"epsilon": 4.996}) == {"text": "ε = 4.996", "high": False}
    assert call("label", "strength", {"epsilon": 5}) == {"text": "ε = 5, high", "high": True}
