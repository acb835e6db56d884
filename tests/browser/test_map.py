"""The map itself in real Chromium: hatching, shapes, marking, time, and text that stays text."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect
from pyproj import Transformer
from tests.browser.conftest import TWO_DAYS, Open, publish, serving
from tests.browser.hands import (
    Sheet,
    expect_answer,
    expect_state,
    mark_steps,
    numbers,
    polygon_answer,
    settle,
    state,
)

from gridveil.geography.grid import Grid
from gridveil.release.query.open import Release, open_release

LIVE = "#map [aria-live]"
BRITISH = Grid(450_000, 130_000, 550_000, 230_000, nx=20, ny=20, crs="EPSG:27700")


def pixels(page: Page) -> np.ndarray:
    """Return the screen, (y, x, RGB)."""
    return np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"), dtype=float)


def test_cells_are_hatched_where_the_interval_is_wider_than_the_value(new_page: Open, town: Release) -> None:
    page = new_page("#release=town&time=0:120")
    settle(page)
    page.mouse.move(0, 0)
    sheet, screen, cells = Sheet.of(page), pixels(page), town.cells(0, 120)
    wide = (cells.high - cells.low) / np.abs(cells.value)
    clear = np.abs(wide - 1) > 0.001  # no cell at the very edge of being uncertain
    hatched = np.zeros_like(clear)
    for y, x in np.ndindex(hatched.shape):
        (left, bottom), (right, top) = sheet.at(x, y), sheet.at(x + 1, y + 1)
        inside = screen[math.ceil(top) + 1 : math.floor(bottom) - 1, math.ceil(left) + 1 : math.floor(right) - 1]
        hatched[y, x] = np.ptp(inside, axis=(0, 1)).max() > 0
    assert np.array_equal(hatched[clear], wide[clear] > 1)
    assert 0 < hatched.sum() < hatched.size
    expect(page.locator("#legend")).to_contain_text("hatched: the interval is wider than the value")


def test_cells_have_the_shape_that_they_have_on_the_ground(new_page: Open) -> None:
    page = new_page("#release=west-london")
    settle(page)
    sheet = Sheet.of(page)
    ratio = 0.25 * math.cos(math.radians(51.4475)) / 0.105  # degrees of longitude are shorter
    assert abs(sheet.width / sheet.height / ratio - 1) < 0.01


def test_a_cell_is_read_aloud_with_its_interval(new_page: Open, town: Release) -> None:
    page = new_page("#release=town&time=24:48")
    settle(page)
    page.locator("#map canvas").focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator(LIVE)).to_contain_text("Cell x 15, y 17")
    said = numbers(page.locator(LIVE).inner_text().split(": ", 1)[1])
    answer = town.query((15, 16), (17, 18), (24, 48))
    value, ninety_five, low, high, *_ = said
    assert ninety_five == 95
    for shown, wanted in ((value, answer.value), (low, answer.low), (high, answer.high)):
        assert abs(shown - wanted) <= 0.051 * (answer.high - answer.low)
    tip = page.locator(".tip").inner_text()
    assert "95\N{NO-BREAK SPACE}% interval" in tip
    assert "per hour on average" in tip


def test_a_click_marks_one_cell_and_escape_clears_it(page: Page, town: Release) -> None:
    settle(page)
    page.mouse.click(*Sheet.of(page).at(12.5, 19.5))
    expect_state(page, area="12:13,19:20")
    expect_answer(page, town.query((12, 13), (19, 20)))
    page.keyboard.press("Escape")
    expect_state(page, area=None)


def test_escape_gives_up_a_drag(page: Page) -> None:
    settle(page)
    sheet = Sheet.of(page)
    page.mouse.move(*sheet.at(5.5, 5.5))
    page.mouse.down()
    page.mouse.move(*sheet.at(10.5, 9.5), steps=3)
    page.keyboard.press("Escape")
    page.mouse.up()
    page.wait_for_timeout(100)
    assert "area" not in state(page)


def test_a_drag_beyond_the_edge_ends_at_it(page: Page) -> None:
    settle(page)
    sheet = Sheet.of(page)
    page.mouse.move(*sheet.at(20.5, 20.5))
    page.mouse.down()
    page.mouse.move(sheet.left + sheet.width + 60, sheet.top - 60, steps=3)
    page.mouse.up()
    expect_state(page, area="20:32,20:32")


def test_a_polygon_by_keyboard(page: Page, town: Release) -> None:
    settle(page)
    page.get_by_role("button", name="Polygon").click()
    page.locator("#map canvas").focus()
    page.keyboard.press("ArrowUp")  # where the cursor starts: cell 16, 16
    for keys in ([], ["ArrowRight"] * 6, ["ArrowDown"] * 8):
        for key in keys:
            page.keyboard.press(key)
        page.keyboard.press("Space")
    page.keyboard.press("Enter")
    ring = [[16.5 * 250, 16.5 * 250], [22.5 * 250, 16.5 * 250], [22.5 * 250, 8.5 * 250]]
    expect_state(page, area=";".join(f"{x:g},{y:g}" for x, y in ring))
    geometry = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    expect_answer(page, polygon_answer(town, geometry, (0, 120)))


def test_a_play_goes_on_after_the_end_and_asks_for_nothing_twice(new_page: Open) -> None:
    page = new_page("#release=town&time=116:117")
    settle(page)
    asked: Counter[str] = Counter()

    def note(request: Request) -> None:
        if "/slice" in request.url:
            asked[request.url] += 1

    page.on("request", note)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => { const first = parseInt(map.dataset.time); return first > 1 && first < 60; }")
    page.get_by_role("button", name="Pause").click()
    shown = page.evaluate("parseInt(map.dataset.time)")
    assert set(asked.values()) == {1}
    steps = {int(re.findall(r"time=(\d+)", url)[0]) for url in asked}
    assert steps >= {117, 118, 119, 0, 1, 2}
    assert max(step for step in steps if step < 60) > shown  # frames ahead were asked for before their turn


def test_the_map_shows_the_period_that_is_marked(new_page: Open) -> None:
    page = new_page("#release=town")
    settle(page)
    mark_steps(page, 10, 30, 120)
    expect_state(page, period="10:30", time="10:30")
    expect(page.locator("#map")).to_have_attribute("data-time", "10:30")
    expect(page.locator("#clock")).to_contain_text(
        "The map shows: Mon 4 Feb 2013, 10:00 to Tue 5 Feb 2013, 06:00", use_inner_text=True
    )
    page.get_by_role("slider", name="Time shown on the map").fill("41")
    expect_state(page, period="10:30", time="41:42")
    expect(page.locator("#clock .now")).to_contain_text("Tue 5 Feb 2013, 17:00 to 18:00")
    page.locator("#show").select_option("marked")
    expect_state(page, period="10:30", time="10:30")
    page.get_by_role("button", name="Clear the period").click()
    expect_state(page, period=None, time="0:120")


def test_a_link_with_a_period_alone_shows_it_on_the_map(new_page: Open) -> None:
    page = new_page("#release=town&period=10:30")
    settle(page)
    expect(page.locator("#map")).to_have_attribute("data-time", "10:30")


def test_highest_and_lowest_are_of_the_marked_period(new_page: Open, town: Release) -> None:
    page = new_page("#release=town&period=24:48")
    settle(page)
    values = [town.query(time=(step, step + 1)).value for step in range(24, 48)]
    told = page.locator("#panel-curve .readout")
    expect(told).to_contain_text("In the marked period: highest")
    for hour in (int(np.argmax(values)), int(np.argmin(values))):
        expect(told).to_contain_text(f"Tue 5 Feb 2013, {hour:02}:00 to")
    page.get_by_role("button", name="Clear the period").click()
    expect(told).not_to_contain_text("In the marked period")


def test_times_in_the_zone_of_the_browser(new_page: Open) -> None:
    page = new_page("#release=town&time=18:19", timezone_id="Asia/Tokyo")
    settle(page)
    expect(page.locator("#clock")).to_contain_text("Mon 4 Feb 2013, 18:00 to 19:00")
    zones = page.get_by_role("combobox", name="Time zone of all times")
    zones.select_option("Asia/Tokyo")
    expect(page.locator("#clock")).to_contain_text("Tue 5 Feb 2013, 03:00 to 04:00")
    expect_state(page, zone="Asia/Tokyo")
    zones.select_option("another …")
    other = page.get_by_label("Another time zone")
    other.fill("Mars/Olympus")
    other.press("Enter")
    expect(page.locator("#clock [role=alert]")).to_contain_text("There is no time zone “Mars/Olympus”")
    expect_state(page, zone="Asia/Tokyo")
    other.fill("America/New_York")
    other.press("Enter")
    expect(page.locator("#clock")).to_contain_text("Mon 4 Feb 2013, 13:00 to 14:00")
    expect(page.locator("#clock [role=alert]")).to_be_hidden()
    expect(other).to_be_hidden()
    expect_state(page, zone="America/New_York")


def test_both_areas_that_are_compared_are_outlined(new_page: Open) -> None:
    page = new_page("#release=town&area=4:10,20:26&other-area=18:28,6:12&tab=compare")
    settle(page)
    page.mouse.move(0, 0)
    sheet, screen = Sheet.of(page), pixels(page)
    for name, (x, y) in {"--released": (10, 22), "--other": (28, 8)}.items():
        colour = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", name)
        wanted = np.array([int(colour.strip()[at : at + 2], 16) for at in (1, 3, 5)])
        left, top = sheet.at(x, y + 1)
        side = screen[round(top) : round(top) + 14, round(left) - 2 : round(left) + 3]
        assert np.abs(side - wanted).max(-1).min() < 25, name


def test_a_file_dropped_on_the_map_is_drawn(page: Page) -> None:
    settle(page)
    before = pixels(page)
    page.evaluate(
        """() => {
          const line = {type: 'LineString', coordinates: [[500, 7500], [7500, 7500]]};
          const given = new DataTransfer();
          given.items.add(new File([JSON.stringify(line)], 'feeder.geojson'));
          const drop = new DragEvent('drop', {dataTransfer: given, bubbles: true, cancelable: true});
          document.querySelector('#map').dispatchEvent(drop);
        }"""
    )
    expect(page.locator("#overlay li")).to_contain_text("feeder.geojson")
    page.wait_for_timeout(100)
    sheet = Sheet.of(page)
    (left, y), (right, _) = sheet.at(2, 30), sheet.at(30, 30)
    strip = np.s_[round(y) - 1 : round(y) + 2, math.ceil(left) + 4 : math.floor(right) - 4]
    assert (np.abs(pixels(page)[strip] - before[strip]).max((0, 2)) > 20).all()
    page.get_by_role("button", name="Remove feeder.geojson").click()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(100)
    assert np.array_equal(pixels(page)[strip], before[strip])


def test_what_a_publisher_writes_stays_text(new_page: Open) -> None:
    trick = "<img src=x onerror=\"document.title='tricked'\"><b>Town</b>"

    def facts(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(json=answer.json() | {"title": trick, "publisher": trick, "cite": trick, "error_bars": trick})

    page = new_page("#release=west-london")
    settle(page)
    page.route("**/api/releases/town", facts)
    page.goto("/#release=town")
    expect(page.locator("h1")).to_have_text(trick)
    page.locator("#how-private").click()
    expect(page.locator("#label")).to_contain_text(trick)
    assert page.locator("img, h1 b, dialog b").count() == 0


def test_the_label_says_what_is_promised_and_what_is_not(page: Page, town: Release) -> None:
    settle(page)
    page.locator("#how-private").click()
    label = page.locator("#label")
    expect(label).to_contain_text("at most e^3 (20.1) times as likely")
    for worlds, rate in (("In the data, or not", "20.1 %"), ("One of two places", "99.8 %")):
        expect(label.get_by_role("row", name=worlds)).to_contain_text(rate)
    for line in town.label.not_covered_in_words():
        expect(label).to_contain_text(line)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(label).to_be_hidden()
    expect(page.locator("#how-private")).to_be_focused()


# A projected grid, and the user's own borders


@pytest.fixture(scope="module")
def british(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Release]]:
    """A release on the British national grid, 100 km wide, and where it is served."""
    del executable
    folder = tmp_path_factory.mktemp("british") / "british"
    publish(folder, BRITISH, TWO_DAYS, title="South-east England")
    with serving(folder) as (url, _):
        yield url, open_release(folder)


def degrees(corners: list[tuple[float, float]]) -> list[list[float]]:
    """Return corners given in cells as longitude and latitude, by PROJ, to what a link keeps (0.1 m); closed."""
    x, y = np.array([*corners, corners[0]]).T
    place = Transformer.from_crs("EPSG:27700", "EPSG:4326", always_xy=True).transform
    lon, lat = place(BRITISH.x0 + x * BRITISH.cell_width, BRITISH.y0 + y * BRITISH.cell_height)
    return np.stack([lon, lat], axis=1).round(6).tolist()


def lay(page: Page, geometry: dict[str, Any]) -> None:
    """Lay a file over the map."""
    page.locator("#own-file").set_input_files(
        {"name": "own.geojson", "mimeType": "application/geo+json", "buffer": json.dumps(geometry).encode()}
    )
    expect(page.locator("#overlay li")).to_contain_text("own.geojson")
    page.wait_for_timeout(100)


def test_a_border_in_degrees_falls_on_its_cells_of_a_projected_grid(
    new_page: Open, british: tuple[str, Release]
) -> None:
    url, release = british
    page = new_page(base_url=url, viewport={"width": 1600, "height": 1300})
    settle(page)
    before = pixels(page)
    square = degrees([(4, 3), (16, 3), (16, 15), (4, 15)])
    lay(page, {"type": "Polygon", "coordinates": [square]})
    sheet, after = Sheet.of(page), pixels(page)
    drawn = np.abs(after - before).max(-1) > 20
    for x, y in ((10, 3), (10, 15), (4, 9), (16, 9), (4.2, 3), (16, 14.8)):  # the sides, up to their ends
        column, row = (round(at) for at in sheet.at(x, y))
        assert drawn[row - 2 : row + 3, column - 2 : column + 3].any(), (x, y)
    for x, y in ((10, 2.5), (10, 3.5), (3.5, 9), (4.5, 9), (16.5, 9), (10, 15.5)):  # and not beside them
        column, row = (round(at) for at in sheet.at(x, y))
        assert not drawn[row - 2 : row + 3, column - 2 : column + 3].any(), (x, y)
    page.mouse.click(*sheet.at(10, 9))
    page.wait_for_function("() => location.hash.includes('area=')")
    expect_answer(page, release.query(area={"type": "Polygon", "coordinates": [square]}))
    cells = numbers(page.locator("#answer .quiet").first.inner_text())[0]
    assert cells == pytest.approx(12 * 12, abs=1)


def test_a_polygon_drawn_on_a_projected_grid_is_the_one_asked_about(
    new_page: Open, british: tuple[str, Release]
) -> None:
    url, release = british
    page = new_page(base_url=url)
    settle(page)
    page.get_by_role("button", name="Polygon").click()
    sheet = Sheet.of(page)
    corners = [(2.0, 2.0), (17.0, 4.0), (9.0, 16.0)]
    for corner in corners:
        page.mouse.click(*sheet.at(*corner))
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('area=')")
    asked = [[float(each) for each in corner.split(",")] for corner in state(page)["area"].split(";")]
    assert np.array(asked) == pytest.approx(np.array(degrees(corners)[:3]), abs=0.004)  # a pixel is 200 m
    expect_answer(page, release.query(area={"type": "Polygon", "coordinates": [[*asked, asked[0]]]}))


HOLED = [[[500, 500], [6500, 500], [6500, 6500], [500, 6500]], [[2000, 2000], [5000, 2000], [5000, 5100], [2000, 5100]]]
ISLAND = [[[7000, 7000], [7900, 7000], [7900, 7900], [7000, 7900]]]


def closed(rings: list[list[list[int]]]) -> list[list[list[int]]]:
    return [[*ring, ring[0]] for ring in rings]


def test_holes_and_islands_of_a_border_count(page: Page, town: Release) -> None:
    settle(page)
    geometry = {"type": "MultiPolygon", "coordinates": [closed(HOLED), closed(ISLAND)]}
    lay(page, {"type": "Feature", "properties": {}, "geometry": geometry})
    sheet = Sheet.of(page)
    page.mouse.click(*sheet.at(4, 4))
    page.wait_for_function("() => location.hash.includes('area=')")
    whole, hole, island = (
        town.query(area={"type": "Polygon", "coordinates": closed([ring])}) for ring in (*HOLED, *ISLAND)
    )
    wanted = town.query(area=geometry)
    assert wanted.value == pytest.approx(whole.value - hole.value + island.value)
    expect_answer(page, wanted)
    expect(page.locator("#answer")).to_contain_text("2 polygons with 12 corners, less a hole")
    page.reload()
    settle(page)
    expect_answer(page, wanted)
    lay(page, geometry)
    page.mouse.click(*Sheet.of(page).at(14.5, 14.5))  # in the hole there is only the cell
    expect_state(page, area="14:15,14:15")


def test_a_border_with_too_many_corners_is_drawn_and_says_why_it_is_not_asked(page: Page) -> None:
    settle(page)
    angle = np.linspace(0, 2 * np.pi, 6001)[:-1]
    ring = np.stack([4000 + 3000 * np.cos(angle), 4000 + 3000 * np.sin(angle)], axis=1).tolist()
    lay(page, {"type": "Polygon", "coordinates": [[*ring, ring[0]]]})
    expect(page.locator("#overlay")).to_contain_text("Those with more than 5,000 corners are only drawn.")
    page.mouse.click(*Sheet.of(page).at(16.5, 16.5))
    said = "This border has 6,000 corners and is only drawn: up to 5,000 can be asked about."
    expect(page.locator("#where-hint")).to_contain_text(said)
    expect(page.locator(LIVE)).to_contain_text(said)
    assert "area" not in state(page)
