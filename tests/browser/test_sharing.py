"""What leaves the page and comes back to it: files, links, the user's own borders. Numbers against the Python API."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Open
from tests.browser.hands import (
    Sheet,
    expect_answer,
    expect_state,
    mark_cells,
    mark_steps,
    polygon_answer,
    saved,
    settle,
    state,
    table,
)

from gridveil.release.query.open import Release, open_release

Shot = Callable[..., Path]
ANSWER = ("kwh", "standard_error_kwh", "kwh_low", "kwh_high")
DISTRICT = {
    "type": "Polygon",
    "coordinates": [[[-0.45, 51.41], [-0.33, 51.42], [-0.36, 51.47], [-0.44, 51.46], [-0.45, 51.41]]],
}
FEEDER = {"type": "LineString", "coordinates": [[-0.48, 51.40], [-0.3, 51.49]]}
HOSTILE = [
    "#area=<script>alert(1)</script>",
    "#area=99999999999999999999:1,0:1",
    "#area=5:5,0:1&period=9:3&time=-1:4",
    "#area=0:999999999,0:999999999&time=0:999999999&period=3:999999999",
    "#release=../../etc/passwd&tab=__proto__&zone=Mars/Olympus",
    "#area=1,2;NaN,Infinity;3,4",
    "#area=" + ";".join(f"{n}.5,{n}" for n in range(9000)),
    "#%E0%A4%A&&&===&area",
    "#area=9,9;4000,9;4000,4000&name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&other-area=all&other-name=x&tab=areas",
]


def menu(page: Page, name: str) -> Locator:
    """Open the menu of files, and return what it offers under a name."""
    page.locator("#save summary").click()
    return page.locator("#save .sheet").get_by_text(name)


def test_the_map_as_a_table_and_a_picture(new_page: Open, town: Release, tmp_path: Path) -> None:
    page = new_page("#release=town&time=18:21")
    settle(page)
    press = menu(page, "Map as a table (CSV)")
    rows = table(saved(page, press, tmp_path))
    cells = town.cells(18, 21)
    assert len(rows) == 32 * 32
    assert {(row["start"], row["end"]) for row in rows} == {("2013-02-04T18:00:00Z", "2013-02-04T21:00:00Z")}
    for name, plane in zip(ANSWER, (cells.value, cells.standard_error, cells.low, cells.high), strict=True):
        told = np.full((32, 32), np.nan)
        for row in rows:
            told[int(row["y"]), int(row["x"])] = float(row[name])
        np.testing.assert_allclose(told, plane, rtol=1e-6)
    with Image.open(saved(page, page.get_by_text("Map as a picture (PNG)"), tmp_path)) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 1000
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 100


def test_the_curve_as_a_table_and_a_picture(new_page: Open, town: Release, tmp_path: Path) -> None:
    page = new_page("#release=town&area=4:9,20:25")
    settle(page)
    rows = table(saved(page, menu(page, "Curve as a table (CSV)"), tmp_path))
    assert len(rows) == 120
    for step in (0, 18, 119):
        wanted = town.query((4, 9), (20, 25), (step, step + 1))
        told = [float(rows[step][name]) for name in ANSWER]
        assert told == pytest.approx([wanted.value, wanted.standard_error, wanted.low, wanted.high], rel=1e-9)
    assert rows[18]["start"].startswith("2013-02-04T18:00:00")
    with Image.open(saved(page, page.get_by_text("Curve as a picture (PNG)"), tmp_path)) as picture:
        assert picture.format == "PNG"
        assert picture.width > 400


def test_the_answer_as_a_table(new_page: Open, town: Release, tmp_path: Path) -> None:
    page = new_page("#release=town&area=4:9,20:25&period=10:30")
    settle(page)
    [row] = table(saved(page, page.get_by_role("button", name="save the answer"), tmp_path))
    wanted = town.query((4, 9), (20, 25), (10, 30))
    assert [float(row[name]) for name in ANSWER] == pytest.approx(
        [wanted.value, wanted.standard_error, wanted.low, wanted.high], rel=1e-9
    )
    assert float(row["share_of_map"]) == pytest.approx(wanted.value / town.query(time=(10, 30)).value, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "tab"),
    [("comparison", "compare&other-area=2:4,2:4"), ("highest cells", "highest"), ("typical", "profile")],
)
def test_every_panel_has_a_table(new_page: Open, tmp_path: Path, name: str, tab: str) -> None:
    page = new_page(f"#release=town&area=4:9,20:25&tab={tab}")
    settle(page)
    rows = table(saved(page, page.get_by_role("button", name=f"save the {name}"), tmp_path))
    assert len(rows) >= 2
    kwh = [float(value) for row in rows for column, value in row.items() if column.endswith("kwh")]
    assert np.isfinite(kwh).all()


def test_the_whole_release_in_another_format(new_page: Open, release_folder: Path, tmp_path: Path) -> None:
    page = new_page("#release=high-epsilon")
    settle(page)
    folder = release_folder / "high-epsilon"
    label = saved(page, menu(page, "Privacy label"), tmp_path)
    assert label.read_bytes() == (folder / "label.json").read_bytes()
    page.keyboard.press("Escape")
    expect(page.locator("#save .sheet")).to_be_hidden()
    parquet = pq.read_table(saved(page, menu(page, "Parquet table"), tmp_path))
    assert parquet.num_rows == 8 * 5 * 48
    assert np.asarray(parquet["kwh"]).sum() == pytest.approx(open_release(folder).query().value, rel=1e-5)


def test_a_link_restores_the_view(page: Page, new_page: Open, town: Release) -> None:
    settle(page)
    mark_cells(page, (3, 12), (15, 29))
    settle(page)
    mark_steps(page, 30, 60, 120)
    page.get_by_role("slider", name="Time shown on the map").fill("41")
    page.get_by_role("tab", name="Highest cells").click()
    expect_state(page, area="3:12,15:29", period="30:60", time="41:42", tab="highest")
    again = new_page(page.evaluate("location.hash"))
    settle(again)
    expect_answer(again, town.query((3, 12), (15, 29), (30, 60)))
    expect(again.locator("#map")).to_have_attribute("data-time", "41:42")
    expect(again.get_by_role("tab", name="Highest cells")).to_have_attribute("aria-selected", "true")
    assert state(again) == state(page)


def test_the_back_button_goes_back_through_what_was_asked(page: Page, town: Release) -> None:
    settle(page)
    mark_cells(page, (3, 12), (15, 29))
    expect_answer(page, town.query((3, 12), (15, 29)))
    mark_cells(page, (20, 24), (5, 9))
    expect_answer(page, town.query((20, 24), (5, 9)))
    page.go_back()
    expect_answer(page, town.query((3, 12), (15, 29)))
    page.go_back()
    expect_answer(page, town.query())
    page.go_forward()
    expect_answer(page, town.query((3, 12), (15, 29)))


@pytest.mark.parametrize("hash_", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_link_leaves_a_working_page(new_page: Open, town: Release, hash_: str) -> None:
    page = new_page(hash_)
    page.on("dialog", lambda dialog: pytest.fail(f"a link ran code: {dialog.message}"))
    settle(page)
    assert "script" not in page.evaluate("location.hash")
    mark_cells(page, (3, 5), (3, 5))
    page.evaluate("import('/page/state.js').then(({store}) => store.set({period: null}))")
    expect_answer(page, town.query((3, 5), (3, 5)))


def test_a_link_to_nowhere_says_so_and_can_be_left(new_page: Open, town: Release, faults: list[str]) -> None:
    page = new_page("#release=town&area=10,10;20,20;30,30")
    expect(page.locator("#answer")).to_contain_text("covers nothing")
    expect(page.locator("#answer-value")).to_be_hidden()
    page.wait_for_load_state("networkidle")  # the curve's refusal may come later than the number's
    assert faults
    assert all("422" in fault for fault in faults)  # the server's refusals, which browsers always note
    faults.clear()
    mark_cells(page, (3, 5), (3, 5))
    expect_answer(page, town.query((3, 5), (3, 5)))


def test_own_borders_over_the_map(new_page: Open, london: Release, tmp_path: Path, screenshot: Shot) -> None:
    features = [
        {"type": "Feature", "properties": {"name": name}, "geometry": geometry}
        for name, geometry in (("District 9", DISTRICT), ("Feeder 3", FEEDER))
    ]
    file = tmp_path / "districts.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    page = new_page("#release=west-london")
    settle(page)
    before = page.locator("#map canvas").screenshot()
    page.locator("#own-file").set_input_files(file)
    expect(page.locator("#overlay")).to_contain_text("districts.geojson")
    expect(page.locator("#overlay")).to_contain_text("Click inside a border")
    page.wait_for_timeout(100)
    assert page.locator("#map canvas").screenshot() != before
    page.mouse.click(*Sheet.of(page).at(14, 15))
    expect_answer(page, polygon_answer(london, DISTRICT, (0, 168)))
    settle(page)
    screenshot(page)
    page.get_by_role("button", name="Remove districts.geojson").click()
    expect(page.locator("#overlay")).not_to_contain_text("districts.geojson")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("PK\x03\x04 a shapefile, zipped", "not GeoJSON"),
        ('{"type": "FeatureCollection", "features": []}', "no points, lines or polygons"),
        ('{"type": "Polygon", "coordinates": "everywhere"}', "no points, lines or polygons"),
        ('{"type": "Point", "coordinates": [10.5, 48.2]}', "Nothing in this file lies on the map"),
        ('{"type": "Point", "coordinates": [530000, 180000]}', "ogr2ogr -t_srs EPSG:4326"),
        (json.dumps(DISTRICT | {"crs": {"type": "name", "properties": {"name": "EPSG:27700"}}}), "EPSG:27700"),
        ("[" * 5000, "not GeoJSON"),
    ],
    ids=["zip", "empty", "shapeless", "elsewhere", "metres", "other-system", "nested"],
)
def test_a_wrong_file_is_said_in_a_sentence(new_page: Open, tmp_path: Path, content: str, said: str) -> None:
    page = new_page("#release=west-london")
    settle(page)
    file = tmp_path / "mine.geojson"
    file.write_text(content)
    page.locator("#own-file").set_input_files(file)
    expect(page.locator("#overlay [role=status]")).to_contain_text(said)
    mark_cells(page, (3, 5), (3, 5))
    expect_state(page, area="3:5,3:5")
