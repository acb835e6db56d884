"""What a planner does with the page, in real Chromium: look, play, mark, read; numbers against the Python API."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.hands import (
    Sheet,
    brightness,
    expect_answer,
    expect_state,
    mark_cells,
    mark_steps,
    numbers,
    polygon_answer,
    settle,
    state,
)

from gridveil.release.query.open import Release

Shot = Callable[..., Path]
STEPS = 120


def test_the_page_opens(page: Page, town: Release, screenshot: Shot) -> None:
    expect(page.locator("h1")).to_have_text("Invented town")
    expect(page).to_have_title("Invented town · gridveil")
    expect_answer(page, town.query())
    expect(page.locator("#answer-interval")).to_contain_text("95 % interval")
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("#banner")).to_be_hidden()
    settle(page)
    screenshot(page)


def test_what_the_browser_complains_about_is_noticed(page: Page, faults: list[str]) -> None:
    settle(page)
    page.evaluate("console.error('a fault'); setTimeout(() => { throw new Error('another') });")
    page.evaluate("fetch('/api/releases/nowhere').catch(() => null)")
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_timeout(100)
    assert [fault.split(":")[0] for fault in faults if "Failed to load" not in fault] == [
        "console error",
        "uncaught",
        "404",
    ]
    faults.clear()


def test_colours_follow_consumption_on_one_scale_for_all_times(new_page: Open, town: Release) -> None:
    bright, consumption = [], []
    for first, last in ((0, STEPS), (3, 4), (18, 19)):
        page = new_page(f"#release=town&time={first}:{last}")
        settle(page)
        bright.append(brightness(page).ravel())
        consumption.append(town.cells(first, last).value.ravel() / (last - first))
        page.close()
    order = np.argsort(np.concatenate(consumption))
    seen = np.concatenate(bright)[order]
    assert seen[-50:].mean() < seen[:50].mean() - 50
    # More is never brighter, at whatever time; a little, where colours are rounded or a border is near.
    assert (np.diff(seen) > 3).mean() < 0.01


def test_pointing_at_a_cell_says_its_value_and_interval(new_page: Open, town: Release) -> None:
    page = new_page("#release=town&time=18:19")
    settle(page)
    page.mouse.move(*Sheet.of(page).at(12.5, 20.5))
    tip = page.locator("#map .tip")
    expect(tip).to_contain_text("Cell x 12, y 20")
    cell = town.query((12, 13), (20, 21), (18, 19))
    shown = tip.locator("b").inner_text()
    low, high = numbers(tip.inner_text().split("interval:")[1])[:2]
    for told, true in zip((*numbers(shown), low, high), (cell.value, cell.low, cell.high), strict=True):
        assert abs(told - true) < 0.051 * (cell.high - cell.low)  # half a step is a twentieth of the interval at most


def test_play_pause_and_scrub(page: Page) -> None:
    settle(page)
    legend = page.locator("#legend").inner_text()
    page.get_by_role("button", name="Play").click()
    shown = page.locator("#map")
    page.wait_for_function("() => Number(document.querySelector('#map').dataset.time.split(':')[0]) >= 3")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    page.wait_for_timeout(400)
    paused = shown.get_attribute("data-time")
    page.wait_for_timeout(600)
    assert shown.get_attribute("data-time") == paused
    assert state(page)["time"] == paused
    scrub = page.get_by_role("slider", name="Time shown on the map")
    scrub.fill("77")
    expect(shown).to_have_attribute("data-time", "77:78")
    expect(page.locator("#clock")).to_contain_text("Thu 7 Feb 2013, 05:00 to 06:00")
    page.get_by_role("button", name="One forward").click()
    expect(shown).to_have_attribute("data-time", "78:79")
    page.get_by_label("How much time the map shows").select_option("one day")
    expect(shown).to_have_attribute("data-time", "72:96")
    assert page.locator("#legend").inner_text() == legend
    expect_state(page, time="72:96")


def test_a_region_and_a_period_by_dragging(page: Page, town: Release, screenshot: Shot) -> None:
    settle(page)
    mark_cells(page, (10, 20), (8, 14))
    expect_state(page, area="10:20,8:14")
    expect_answer(page, town.query((10, 20), (8, 14)))
    settle(page)
    mark_steps(page, 17, 22, STEPS)
    expect_state(page, period="17:22")
    part, whole = town.query((10, 20), (8, 14), (17, 22)), town.query(time=(17, 22))
    expect_answer(page, part)
    share = numbers(re.split("%", page.locator("#answer .answer-more").inner_text())[0])[-1]
    assert abs(share - 100 * part.value / whole.value) < 0.06
    expect(page.locator("#answer")).to_contain_text("Mon 4 Feb 2013, 17:00 to 22:00")
    settle(page)
    screenshot(page)
    page.get_by_role("button", name="Whole map, all times").click()
    expect_answer(page, town.query())


def test_the_large_number_is_rounded_no_finer_than_it_is_known(page: Page, town: Release) -> None:
    settle(page)
    mark_cells(page, (10, 20), (8, 14))
    wanted = town.query((10, 20), (8, 14))
    expect_answer(page, wanted)
    [value] = numbers(page.locator("#answer-value").inner_text())
    _, low, high = numbers(page.locator("#answer-interval").inner_text())
    scale = round(wanted.value / value, 0)
    assert scale in {1, 1000}
    for told, true in ((value, wanted.value), (low, wanted.low), (high, wanted.high)):
        assert abs(told * scale - true) < 0.051 * (wanted.high - wanted.low)


def test_a_drawn_polygon(new_page: Open, london: Release, screenshot: Shot) -> None:
    page = new_page("#release=west-london")
    settle(page)
    page.get_by_role("button", name="Polygon").click()
    sheet = Sheet.of(page)
    for corner in ((6, 5), (24, 8), (21, 25), (9, 20)):
        page.mouse.click(*sheet.at(*corner))
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('area=')")
    corners = [[float(number) for number in corner.split(",")] for corner in state(page)["area"].split(";")]
    grid = london.grid
    for (lon, lat), (x, y) in zip(corners, ((6, 5), (24, 8), (21, 25), (9, 20)), strict=True):
        assert abs((lon - grid.x0) / grid.cell_width - x) < 0.2
        assert abs((lat - grid.y0) / grid.cell_height - y) < 0.2
    geometry = {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}
    expect_answer(page, polygon_answer(london, geometry, (0, 168)))
    settle(page)
    mark_steps(page, 24, 48, 168)
    expect_answer(page, polygon_answer(london, geometry, (24, 48)))
    settle(page)
    screenshot(page)


def test_typed_limits(page: Page, town: Release) -> None:
    settle(page)
    page.get_by_text("Type an area or a period").click()
    for name, value in zip(("x-from", "x-to", "y-from", "y-to"), ("4", "11", "0", "31"), strict=True):
        page.locator(f"#limit-{name}").fill(value)
    page.locator("#limit-from").fill("2013-02-05T06:00")
    page.locator("#limit-to").fill("2013-02-05T18:00")
    apply = page.locator("#limits").get_by_role("button", name="Apply")
    apply.click()
    expect_state(page, area="4:12,0:32", period="30:42")
    expect_answer(page, town.query((4, 12), (0, 32), (30, 42)))
    page.locator("#limit-x-to").fill("99")
    apply.click()
    expect(page.locator("#limits").get_by_role("alert")).to_contain_text("whole numbers from 0 to 31")
    expect_state(page, area="4:12,0:32")
    page.locator("#limit-way").select_option("by coordinates")
    for name, value in zip(("x-from", "x-to", "y-from", "y-to"), ("1000", "3100", "500", "2500"), strict=True):
        page.locator(f"#limit-{name}").fill(value)
    apply.click()
    ring = [[1000, 500], [3100, 500], [3100, 2500], [1000, 2500], [1000, 500]]
    expect_answer(page, polygon_answer(town, {"type": "Polygon", "coordinates": [ring]}, (30, 42)))


def test_a_typed_period_that_is_no_step_is_said(page: Page, faults: list[str]) -> None:
    settle(page)
    page.get_by_text("Type an area or a period").click()
    page.locator("#limit-from").fill("2013-02-05T06:17")
    page.locator("#limits").get_by_role("button", name="Apply").click()
    expect(page.locator("#limits").get_by_role("alert")).to_contain_text(re.compile(r"\w+ \w+"))
    assert any("422" in fault for fault in faults)  # the server's refusal, which browsers always note
    faults[:] = [fault for fault in faults if "422" not in fault]


def test_two_regions_and_two_periods_compared(page: Page, town: Release, screenshot: Shot) -> None:
    settle(page)
    mark_cells(page, (2, 8), (2, 8))
    expect_answer(page, town.query((2, 8), (2, 8)))
    page.locator("#answer").get_by_role("button", name="Compare with this").click()
    expect_state(page, tab="compare", other_area="2:8,2:8")
    mark_cells(page, (14, 24), (12, 22))
    one, other = town.query((14, 24), (12, 22)), town.query((2, 8), (2, 8))
    expect_answer(page, one, "#compare-a")
    expect_answer(page, other, "#compare-b")
    verdict = "A is higher" if one.low > other.high else "B is higher" if other.low > one.high else "may be equal"
    expect(page.locator("#compare-verdict")).to_contain_text(verdict)
    settle(page)
    screenshot(page, "regions")
    page.get_by_role("button", name="Swap A and B").click()
    expect_answer(page, other, "#compare-a")
    page.locator("#panel-compare").get_by_role("button", name="See both curves").click()
    settle(page)
    screenshot(page, "curves")
    mark_steps(page, 0, 24, STEPS)
    expect_state(page, period="0:24")
    page.locator("#answer").get_by_role("button", name="Compare with this").click()
    page.get_by_role("tab", name="Curve").click()
    settle(page)
    mark_steps(page, 48, 96, STEPS)
    page.get_by_role("tab", name="Compare").click()
    expect_answer(page, town.query((2, 8), (2, 8), (48, 96)), "#compare-a")
    expect_answer(page, town.query((2, 8), (2, 8), (0, 24)), "#compare-b")
    expect(page.locator("#panel-compare")).to_contain_text("averages per day are compared")
    screenshot(page, "periods")


def test_the_highest_cells(new_page: Open, town: Release, screenshot: Shot) -> None:
    page = new_page("#release=town&time=18:19&tab=highest")
    settle(page)
    value = town.values()[18].T  # (x, y)
    best = np.argsort(-value, axis=None)[:10]
    cells = [(int(place // 32), int(place % 32)) for place in best]
    rows = page.locator("#panel-highest tbody tr")
    expect(rows).to_have_count(10)
    shown = rows.locator("button").evaluate_all("all => all.map(b => [+b.dataset.x, +b.dataset.y])")
    assert [tuple(cell) for cell in shown] == cells
    expect(rows.nth(0).locator(".order")).to_contain_text(re.compile("if all intervals hold|between"))
    screenshot(page)
    x, y = cells[2]
    rows.nth(2).get_by_role("button").click()
    expect_state(page, area=f"{x}:{x + 1},{y}:{y + 1}")
    expect_answer(page, town.query((x, x + 1), (y, y + 1)))


def test_a_typical_day_and_week(new_page: Open, london: Release, screenshot: Shot) -> None:
    page = new_page("#release=west-london&area=8:16,8:16&tab=profile")
    settle(page)
    steps = np.array([london.query((8, 16), (8, 16), (step, step + 1)).value for step in range(168)])
    day = page.locator("#profile-day")
    day.focus()
    for _ in range(18):
        page.keyboard.press("ArrowRight")
    expect(day).to_have_attribute("aria-valuetext", re.compile("^18:00 to 19:00: All days "))
    text = day.get_attribute("aria-valuetext") or ""
    hours = steps.reshape(7, 24)[:, 18]
    for kind, mean in (("All days", hours.mean()), ("Friday", hours[:5].mean()), ("Sunday", hours[5:].mean())):
        value, _, low, high = numbers(text.split(kind)[1])[:4]  # the second is 95 %
        assert abs(value - mean) < 0.06 * (high - low)
    week = page.locator("#profile-week")
    week.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(week).to_have_attribute("aria-valuetext", re.compile("^Tuesday, 06:00 to 07:00: "))
    value, _, low, high = numbers((week.get_attribute("aria-valuetext") or "").split("Week")[1])
    assert abs(value - steps[30]) < 0.06 * (high - low)
    screenshot(page, full_page=True)


def test_without_a_week_it_says_why(new_page: Open) -> None:
    page = new_page("#release=town&tab=profile")
    settle(page)
    expect(page.locator("#panel-profile")).to_contain_text("No typical week")


def test_releases_to_choose_from(page: Page, london: Release) -> None:
    settle(page)
    options = page.locator("#release option").all_inner_texts()
    assert options[:3] == ["Invented town", "An invented town over London, February 2013", "A street at epsilon 10"]
    assert "NOT PRIVATE" in options[3]
    page.locator("#release").select_option("An invented town over London, February 2013")
    expect(page.locator("h1")).to_have_text("An invented town over London, February 2013")
    expect_state(page, release="west-london")
    expect_answer(page, london.query())
