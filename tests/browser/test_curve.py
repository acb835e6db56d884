"""The large number and the curve: against the Python API, by pointer, keyboard and finger."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import Open
from tests.browser.hands import (
    curve,
    expect_answer,
    expect_state,
    mark_steps,
    near,
    numbers,
    settle,
)

from gridveil.release.query.open import Release

HOURS = 120


NINETY_FIVE = "95\N{NO-BREAK SPACE}%"


A, B = ((8, 16), (10, 18)), ((16, 24), (10, 18))


A_HASH, B_HASH = "8:16,10:18", "16:24,10:18"


def test_the_share_has_the_range_that_both_intervals_allow(new_page: Open, town: Release) -> None:
    page = new_page(f"#release=town&area={A_HASH}&period=30:54")
    settle(page)
    part, whole = town.query(*A, (30, 54)), town.query(time=(30, 54))
    expect_answer(page, part)
    share, low, high = numbers(page.locator(".answer-more").inner_text())[:3]
    assert share == pytest.approx(100 * part.value / whole.value, abs=0.06)
    assert low == pytest.approx(100 * part.low / whole.high, abs=0.06)
    assert high == pytest.approx(100 * part.high / whole.low, abs=0.06)
    average = page.locator(".answer-more").inner_text().split("On average")[1]
    told = numbers(average.replace(NINETY_FIVE, ""))
    near(told, np.array([part.value, part.low, part.high]) / 24)
    assert "per hour" in average
    expect(page.locator("#answer")).to_contain_text("64 cells · x 2,000 to 4,000, y 2,500 to 4,500")


def test_an_interval_wider_than_its_value_is_said_to_be_so(new_page: Open, town: Release) -> None:
    cells = town.cells(3, 4)
    width, value = cells.high - cells.low, cells.value
    y, x = np.unravel_index(np.argmax(width / np.abs(value)), value.shape)
    page = new_page(f"#release=town&area={x}:{x + 1},{y}:{y + 1}&period=3:4")
    settle(page)
    expect(page.locator("#answer .doubt")).to_contain_text("the interval is wider than the value")
    page.get_by_role("button", name="Whole map, all times").click()
    expect(page.locator("#answer .doubt")).to_be_hidden()


def test_the_sentence_on_error_bars_is_one_click_away(page: Page) -> None:
    settle(page)
    covers = page.locator("#answer .covers p")
    expect(covers).to_be_hidden()
    page.get_by_text("What the interval covers").click()
    expect(covers).to_contain_text("A 95 % interval covers the added noise")


def test_the_curve_by_keyboard(new_page: Open, town: Release) -> None:
    page = new_page(f"#release=town&area={A_HASH}")
    settle(page)
    true = curve(town, *A)
    chart = page.get_by_role("slider", name="Consumption over time")
    label = chart.get_attribute("aria-label") or ""
    top = int(true[:, 0].argmax())
    near(numbers(label.split("Highest")[1].split(",")[0]), true[top])
    assert f"{top % 24:02}:00 to" in label.split("Highest")[1].split("Lowest")[0]
    chart.focus()
    for key in ("Home", "PageUp", "ArrowRight"):
        page.keyboard.press(key)
    said = chart.get_attribute("aria-valuetext") or ""
    assert said.startswith("Tue 5 Feb 2013, 01:00 to 02:00: ")
    near(numbers(said.split("02:00: ")[1].replace(NINETY_FIVE, "")), true[25])
    expect(page.locator("#panel-curve .readout")).to_contain_text("Tue 5 Feb 2013, 01:00 to 02:00")
    page.keyboard.down("Shift")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.up("Shift")
    expect_state(page, period="25:29")
    expect_answer(page, town.query(*A, (25, 29)))
    page.keyboard.press("Enter")
    expect_state(page, time="28:29")
    page.keyboard.press("Escape")
    expect_state(page, period=None)
    expect_answer(page, town.query(*A))


def test_a_period_stays_marked_and_is_cleared_by_its_button(page: Page, town: Release) -> None:
    settle(page)
    mark_steps(page, 40, 52, HOURS)
    expect_state(page, period="40:52")
    mark, plot = (page.locator(f"#curve-chart .{name}").bounding_box() for name in ("mark.period", "u-over"))
    assert mark is not None
    assert plot is not None
    assert (mark["x"] - plot["x"]) / plot["width"] == pytest.approx(40 / HOURS, abs=0.01)
    assert mark["width"] / plot["width"] == pytest.approx(12 / HOURS, abs=0.01)
    page.get_by_role("button", name="Clear the period").click()
    expect_state(page, period=None)
    expect(page.locator("#curve-chart .mark.period")).to_be_hidden()
    expect_answer(page, town.query())


@pytest.mark.parametrize(
    ("shown", "hour", "then"), [("0:120", 61, "61:62"), ("5:6", 61, "61:62"), ("48:72", 100, "96:120")]
)
def test_a_click_on_the_curve_shows_that_time_on_the_map(new_page: Open, shown: str, hour: int, then: str) -> None:
    page = new_page(f"#release=town&time={shown}")
    settle(page)
    box = page.locator("#curve-chart .u-over").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * (hour + 0.5) / HOURS, box["y"] + 50)
    expect_state(page, time=then, period=None)


def test_two_areas_are_two_curves(new_page: Open, town: Release) -> None:
    page = new_page(f"#release=town&area={A_HASH}&other-area={B_HASH}")
    settle(page)
    expect(page.locator("#panel-curve .key li")).to_have_text(
        ["A: cells x 8 to 15, y 10 to 17", "B: cells x 16 to 23, y 10 to 17"]
    )
    box = page.locator("#curve-chart .u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 30.5 / HOURS, box["y"] + 40)
    when, first, second = page.locator("#panel-curve .readout > span").all_inner_texts()
    assert when == "Tue 5 Feb 2013, 06:00 to 07:00"
    near(numbers(first.replace(NINETY_FIVE, "")), town.query(*A, (30, 31)))
    near(numbers(second.replace(NINETY_FIVE, "")), town.query(*B, (30, 31)))


@pytest.mark.parametrize(("steps", "unit"), [(8760, "kWh per day"), (1, "kWh per hour")])
def test_long_and_short_windows(new_page: Open, faults: list[str], steps: int, unit: str) -> None:
    """The server's answers are changed on their way: no release of a year is made for this."""
    page = new_page("page/vendor/uPlot.LICENSE")

    def facts(route: Route) -> None:
        found = route.fetch().json()
        found["axes"]["time"]["steps"] = steps
        route.fulfill(json=found)

    def series(route: Route) -> None:
        every = int(parse_qs(urlparse(route.request.url).query)["every"][0])
        first = list(range(0, steps, every))
        answers = {"value": 5.0, "standard_error": 1.0, "low": 3.0, "high": 7.0}
        many = {name: [every * number] * len(first) for name, number in answers.items()}
        route.fulfill(json=many | {"first": first, "every": every, "time": {"first": 0, "last": steps}})

    page.route("**/api/releases/town", facts)
    page.route("**/series?*", series)
    page.goto("/#release=town")
    expect(page.locator("#panel-curve .unit")).to_have_text(re.compile(f"^{unit};"))
    expect(page.locator("#curve-chart canvas")).to_be_visible()
    expect(page.locator("#panel-curve .readout")).to_contain_text(
        "The same value" if steps > 1 else "5.0 kWh (3.0 to 7.0)"
    )
    page.wait_for_function("() => !document.querySelector('[aria-busy=true], #map.waiting')")
    # The release itself has neither so many steps, nor does a bare page have an icon.
    faults[:] = [fault for fault in faults if "422" not in fault and "favicon" not in fault]


def test_colours_of_a_curve_follow_light_and_dark(page: Page) -> None:
    settle(page)
    seen = "() => document.querySelector('#curve-chart canvas').toDataURL()"
    light = page.evaluate(seen)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => ({seen})() !== before", arg=light)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"before => ({seen})() === before", arg=light)


def test_a_late_answer_is_dropped(new_page: Open, town: Release) -> None:
    page = new_page()
    settle(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/query?*x=1%3A2*", hold)
    page.evaluate("import('/page/state.js').then(({store}) => store.set({area: {x: [1, 2], y: [0, 4]}}))")
    expect(page.locator("#answer")).to_have_attribute("aria-busy", "true")
    page.evaluate("import('/page/state.js').then(({store}) => store.set({area: {x: [5, 9], y: [0, 4]}}))")
    expect_answer(page, town.query((5, 9), (0, 4)))
    assert held
    for route in held:
        route.continue_()
    page.wait_for_timeout(300)
    expect_answer(page, town.query((5, 9), (0, 4)))
    settle(page)


def test_what_the_server_refuses_is_said_in_its_words(new_page: Open, faults: list[str]) -> None:
    page = new_page("#release=town&area=9000,9000;9900,9000;9900,9900")
    expect(page.locator("#answer .trouble")).to_contain_text("the area covers nothing of the map")
    expect(page.locator("#panel-curve .trouble")).to_contain_text("the area covers nothing of the map")
    expect(page.locator("#answer-value")).to_be_hidden()
    assert all("422" in fault for fault in faults)
    faults.clear()


def test_a_finger_marks_a_period(new_page: Open) -> None:
    page = new_page("", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    settle(page)
    plot = page.locator("#curve-chart .u-over")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    touch = page.context.new_cdp_session(page)
    y = box["y"] + box["height"] / 2
    for kind, step in (
        ("touchStart", 24.5),
        ("touchMove", 30),
        ("touchMove", 40),
        ("touchMove", 47.5),
        ("touchEnd", None),
    ):
        at = [] if step is None else [{"x": box["x"] + box["width"] * step / HOURS, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    expect_state(page, period="24:48")
