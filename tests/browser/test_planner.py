"""What a network planner does with borders of their own, and what the page says where something is amiss."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import Open, serving
from tests.browser.hands import (
    Sheet,
    expect_answer,
    expect_state,
    mark_cells,
    polygon_answer,
    saved,
    settle,
    table,
)

from gridveil.release.export.table import centres
from gridveil.release.query.open import Release, open_release

CASTLE = [[-0.45, 51.41], [-0.33, 51.42], [-0.36, 51.47], [-0.44, 51.46], [-0.45, 51.41]]
QUAY = [[-0.32, 51.40], [-0.27, 51.40], [-0.27, 51.43], [-0.32, 51.43], [-0.32, 51.40]]
FAR = [[10, 48], [11, 48], [11, 49], [10, 48]]


def polygon(ring: list[list[float]]) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": [ring]}


def feature(ring: list[list[float]], **more: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": polygon(ring), "properties": {}, **more}


def load(page: Page, folder: Path, *features: dict[str, Any]) -> None:
    file = folder / "feeders.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    page.locator("#own-file").set_input_files(file)
    expect(page.locator("#overlay")).to_contain_text("feeders.geojson")


@pytest.mark.parametrize("release", ["west-london", "high-epsilon", "not-private"])
def test_no_word_of_a_program_is_on_the_page(page: Page, release: str) -> None:
    for tab in ("curve", "profile", "highest", "compare", "areas"):
        for more in ("", "&area=1:4,1:3&period=0:24&other-area=1:4,1:3&other-period=0:24", "&other-period=0:1"):
            page.goto("about:blank")  # otherwise it would be the same page with another view
            page.goto(f"/#release={release}&tab={tab}{more}")
            settle(page)
            text = page.locator("body").inner_text()
            assert not re.search(r"\b(false|undefined|null|NaN|Infinity)\b|\[object", text), (tab, more)


def test_a_border_is_called_by_its_name(new_page: Open, london: Release, tmp_path: Path) -> None:
    page = new_page("#release=west-london")
    settle(page)
    load(page, tmp_path, feature(CASTLE, properties={"code": "K3", "NAME": "Castle <b>feeder</b>"}))
    at = Sheet.of(page).at(14, 15)
    page.mouse.move(*at)
    expect(page.locator("#map .tip")).to_contain_text("in Castle <b>feeder</b>")
    page.mouse.click(*at)
    expect(page.locator("#map .tip")).to_be_hidden()
    expect_answer(page, polygon_answer(london, polygon(CASTLE), (0, 168)))
    expect(page.locator("#answer .answer-what")).to_contain_text("Consumption of Castle <b>feeder</b>,")
    expect(page.locator("#answer")).to_contain_text("a polygon with 4 corners")
    [row] = table(saved(page, page.get_by_role("button", name="save the answer"), tmp_path))
    assert row["area"] == "Castle <b>feeder</b>"
    expect(page.locator(".typed")).to_be_hidden()
    page.get_by_role("button", name="Compare with this").click()
    settle(page)
    mark_cells(page, (20, 24), (2, 5))
    expect(page.locator("#panel-compare")).to_contain_text("Castle <b>feeder</b>")
    expect_state(page, other_name="Castle <b>feeder</b>")
    again = new_page(page.evaluate("location.hash"))
    settle(again)
    expect(again.locator("#panel-compare .pair")).to_contain_text("Castle <b>feeder</b>")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"properties": {"name": "Quay"}, "id": 7}, "Quay"),
        ({"properties": {"name": ""}, "id": 7}, "7"),
        ({"properties": {"rank": 3, "id": "F-12", "code": "x"}}, "F-12"),
        ({"properties": {"rank": 3, "town": "Dover"}}, "Dover"),
        ({"properties": {"rank": 3}}, ""),
        ({"properties": None}, ""),
        ({"properties": {"name": "a\n\tb " + "c" * 200}}, "a b " + "c" * 76),
    ],
)
def test_what_a_feature_is_called(page: Page, given: dict[str, Any], name: str) -> None:
    assert page.evaluate("given => import('/page/overlay.js').then(({nameOf}) => nameOf(given))", given) == name


def test_all_borders_in_a_table(new_page: Open, london: Release, tmp_path: Path) -> None:
    page = new_page("#release=west-london&period=24:48")
    settle(page)
    expect(page.get_by_role("tab", name="My areas")).to_be_hidden()
    areas = {"Castle": CASTLE, "Quay": QUAY, "Far": FAR}
    load(page, tmp_path, *(feature(ring, properties={"name": name}) for name, ring in areas.items()))
    page.get_by_role("tab", name="My areas").click()
    rows = page.locator("#panel-areas tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator("#panel-areas")).to_contain_text("1 left out, for no part of it is on the map")
    wanted = {name: polygon_answer(london, polygon(areas[name]), (24, 48)) for name in ("Castle", "Quay")}
    order = sorted(wanted, key=lambda name: -wanted[name].value)
    for place, name in enumerate(order):
        expect(rows.nth(place).get_by_role("button")).to_have_text(name)
        told = float(rows.nth(place).locator("b").get_attribute("data-value") or "nan")
        assert told == pytest.approx(wanted[name].value, rel=1e-9)
    lines = table(saved(page, page.get_by_role("button", name="save your areas"), tmp_path))
    assert [line["area"] for line in lines] == order
    assert [float(line["kwh_high"]) for line in lines] == pytest.approx([wanted[name].high for name in order], rel=1e-9)
    page.get_by_role("button", name="Quay").click()
    expect_answer(page, wanted["Quay"])
    expect(page.get_by_role("button", name="Quay")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Remove feeders.geojson").click()
    expect(page.locator("#panel-areas")).to_contain_text("Lay a GeoJSON file with borders over the map")


def test_an_area_that_is_refused_can_be_left(new_page: Open, london: Release, faults: list[str]) -> None:
    page = new_page("#release=west-london&area=530000,180000;531000,180000;531000,181000")
    expect(page.locator("#answer .trouble")).to_be_visible()
    page.get_by_role("button", name="Clear: whole map, all times").click()
    expect_answer(page, london.query())
    assert all("422" in fault for fault in faults)
    faults.clear()


@pytest.mark.parametrize(
    ("area", "said"),
    [
        ("99:100,3:5", "lies outside this map"),
        ("30:40,3:5", "goes beyond this map"),
        ("north", "cannot be read"),
    ],
)
def test_a_link_with_an_area_outside_the_map_says_so(new_page: Open, area: str, said: str) -> None:
    page = new_page(f"#release=town&area={area}")
    settle(page)
    expect(page.locator("#trouble")).to_contain_text(said)


def test_the_same_question_for_the_command_line(new_page: Open) -> None:
    page = new_page("#release=town&area=2:5,1:5&period=0:24")
    settle(page)
    expect(page.locator(".typed code")).to_have_text("gridveil query town --x 2:5 --y 1:5 --time 0:24")
    expect(page.locator("#answer .answer-what")).to_contain_text("cells x 2 to 4, y 1 to 4")


@pytest.mark.parametrize("release", ["west-london", "town"])
def test_tables_say_where_cells_are(
    new_page: Open, tmp_path: Path, request: pytest.FixtureRequest, release: str
) -> None:
    opened: Release = request.getfixturevalue({"town": "town", "west-london": "london"}[release])
    page = new_page(f"#release={release}")
    settle(page)
    page.locator("#save summary").click()
    columns = centres(opened.grid)
    for name in ("Map as a table (CSV)", "Highest cells as a table (CSV)"):
        rows = table(saved(page, page.get_by_text(name), tmp_path))
        for column, values in columns.items():
            wanted = [values[int(row["y"]) * opened.grid.nx + int(row["x"])] for row in rows]
            assert [float(row[column]) for row in rows] == pytest.approx(wanted, abs=1e-6)
        assert "warning" not in rows[0]


def test_tables_of_what_is_not_private_say_so_in_every_row(new_page: Open, tmp_path: Path) -> None:
    page = new_page("#release=not-private&tab=highest")
    settle(page)
    rows = table(saved(page, page.get_by_role("button", name="save the highest cells"), tmp_path))
    assert {row["warning"] for row in rows} == {"NOT PRIVATE (TEST NOISE)"}


def test_the_curve_as_a_picture_from_any_tab(new_page: Open, tmp_path: Path) -> None:
    page = new_page("#release=town&tab=highest&area=4:9,20:25")
    settle(page)
    page.locator("#save summary").click()
    with Image.open(saved(page, page.get_by_text("Curve as a picture (PNG)"), tmp_path)) as picture:
        assert picture.width == 1800
        pixels = np.asarray(picture.convert("RGB"), dtype=int)
    blue = np.abs(pixels - (0x00, 0x72, 0xB2)).max(axis=2) < 12  # the line's colour
    assert blue.any(axis=0).mean() > 0.7  # from side to side


def test_another_release_of_the_same_ground_keeps_the_area(page: Page) -> None:
    settle(page)
    made = page.evaluate(
        """async () => {
          const {moved, toHash} = await import('/page/state.js');
          const facts = async (id) => (await fetch(`/api/releases/${id}`)).json();
          const [town, london] = [await facts('town'), await facts('west-london')];
          const state = {area: {x: [8, 16], y: [4, 12]}, period: [3, 9], zone: 'UTC', tab: 'highest'};
          const of = (from, to) => { const {area, period} = moved(state, from, to); return {area, period}; };
          const finer = structuredClone(london);
          finer.axes.x.size = finer.axes.y.size = 64;
          const other = structuredClone(london);
          other.axes.x.size = 16;
          other.lonlat = [[[10, 48], [11, 48]], [[10, 49], [11, 49]]];
          return [of(town, london), of(town, {...town}), of(london, finer), of(london, other)];
        }"""
    )
    (x0, x1), (y0, y1) = ((-0.5 + 0.25 * i / 32 for i in (8, 16)), (51.395 + 0.105 * i / 32 for i in (4, 12)))
    assert made[0]["area"] is None
    assert made[1] == {"area": {"x": [8, 16], "y": [4, 12]}, "period": [3, 9]}
    ring = np.array(made[2]["area"]["polygons"][0][0])
    assert ring == pytest.approx(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]), abs=1e-6)
    assert made[3]["area"] is None


def test_a_server_that_is_gone_is_said_once(new_page: Open, release_folder: Path, faults: list[str]) -> None:
    with serving(release_folder / "town") as (url, server):
        page = new_page(base_url=url)
        settle(page)
        server.terminate()
        server.wait()
        mark_cells(page, (3, 5), (3, 5))
        expect(page.locator("#trouble")).to_contain_text("The server does not answer")
        page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")
        assert page.locator("body").inner_text().count("The server does not answer") == 1
        expect(page.locator("#answer-value")).to_be_hidden()
    faults.clear()


def test_on_a_laptop_the_player_is_in_sight(new_page: Open) -> None:
    page = new_page("#release=west-london", viewport={"width": 1366, "height": 768})
    settle(page)
    box = page.locator("#clock").bounding_box()
    assert box
    assert box["y"] + box["height"] <= 768


def test_on_paper_there_is_nothing_to_press(new_page: Open) -> None:
    page = new_page("#release=town&area=4:9,20:25")
    settle(page)
    page.emulate_media(media="print")
    assert page.locator("button:visible, select:visible, input:visible, summary:visible").count() == 0
    expect(page.locator("#clock .now")).to_be_visible()
    expect(page.locator("#answer-value")).to_be_visible()


def test_releases_of_the_same_title_are_told_apart(new_page: Open) -> None:
    page = new_page("page/vendor/uPlot.LICENSE")

    def alike(route: Route) -> None:
        found = route.fetch().json()
        for release in found["releases"][:2]:
            release["title"] = "The same"
        route.fulfill(json=found)

    def nobody(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"publisher": "not stated", "together": "They add up to epsilon 16."})

    page.route("**/api/releases", alike)
    page.route("**/api/releases/town", nobody)
    page.goto("/#release=town")
    settle(page)
    assert page.locator("#release option").all_inner_texts()[:3] == [
        "The same · town",
        "The same · west-london",
        "A street at epsilon 10",
    ]
    expect(page.locator("#about")).not_to_contain_text("not stated")
    page.locator("#how-private").click()
    expect(page.locator("#label")).to_contain_text("They add up to epsilon 16.")


def test_what_intervals_leave_out_is_said_beside_the_verdict(new_page: Open, release_folder: Path) -> None:
    page = new_page("#release=high-epsilon&tab=compare&area=0:4,0:5&other-area=4:8,0:5")
    settle(page)
    assert not open_release(release_folder / "high-epsilon").about_the_truth
    expect(page.locator("#compare-verdict")).to_have_text(re.compile("published value is higher|may be equal"))
    expect(page.locator(".findings")).to_contain_text("they cover in part at most")
