"""The panels beside the map: every number they show against the Python API or against brute force."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Open
from tests.browser.hands import (
    curve,
    expect_answer,
    expect_state,
    near,
    numbers,
    saved,
    settle,
    table,
)

from gridveil.geography.area import Area
from gridveil.release.query.open import Answer, Release

HOURS = 120


NINETY_FIVE = "95\N{NO-BREAK SPACE}%"


A, B = ((8, 16), (10, 18)), ((16, 24), (10, 18))


A_HASH, B_HASH = "8:16,10:18", "16:24,10:18"


@pytest.fixture(scope="module")
def bare(browser: Browser, server_url: str) -> Iterator[Page]:
    """A page of the server that runs nothing by itself: modules are asked, not looked at."""
    context = browser.new_context(base_url=server_url)
    page = context.new_page()
    page.goto("/page/vendor/uPlot.LICENSE")
    yield page
    context.close()


def ask(page: Page, module: str, call: str, *arguments: Any) -> Any:
    """Return what a function of one of the page's modules returns."""
    return page.evaluate(
        "([module, call, given]) => import(`/page/${module}.js`).then((found) => found[call](...given))",
        [module, call, list(arguments)],
    )


def test_a_difference_and_a_ratio_range_over_all_that_two_intervals_allow(bare: Page) -> None:
    a, b = {"value": 12.0, "low": 9.0, "high": 16.0}, {"value": 5.0, "low": 4.0, "high": 7.0}
    inside = list(itertools.product(np.linspace(a["low"], a["high"], 41), np.linspace(b["low"], b["high"], 41)))
    gap = ask(bare, "compare", "difference", a, b)
    assert gap["value"] == a["value"] - b["value"]
    assert (gap["low"], gap["high"]) == pytest.approx((min(p - q for p, q in inside), max(p - q for p, q in inside)))
    for part in (a, a | {"low": -3.0}, {"value": -1.0, "low": -3.0, "high": -0.5}):
        ratio = ask(bare, "panel", "shareOf", part, b)
        ratios = [p / q for p in (part["low"], part["high"]) for q in (b["low"], b["high"])]
        assert ratio["value"] == part["value"] / b["value"]
        assert (ratio["low"], ratio["high"]) == pytest.approx((min(ratios), max(ratios)))
    assert ask(bare, "panel", "shareOf", a, b | {"low": 0.0}) is None
    assert "cannot be said" in ask(bare, "compare", "ratioInWords", a, b | {"low": -1.0})


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((9, 16), (4, 7), ("A is higher, if both intervals hold.", "A\u2019s published value is higher.")),
        ((1, 3), (4, 7), ("B is higher, if both intervals hold.", "B\u2019s published value is higher.")),
        ((6, 9), (4, 7), ("They may be equal: the intervals overlap.",) * 2),
    ],
)
def test_one_is_higher_only_where_intervals_do_not_overlap(
    bare: Page, a: tuple[float, float], b: tuple[float, float], words: tuple[str, str]
) -> None:
    sides = [{"value": sum(each) / 2, "low": each[0], "high": each[1]} for each in (a, b)]
    assert tuple(ask(bare, "compare", "verdict", *sides, about_the_truth) for about_the_truth in (True, False)) == words


def test_places_in_words(bare: Page) -> None:
    said = {
        place: ask(bare, "highest", "placeInWords", place) for place in ((1, 1), (3, 3), (2, 7), (1, 1024), (11, 22))
    }
    assert said == {
        (1, 1): "first, if all intervals hold",
        (3, 3): "3rd, if all intervals hold",
        (2, 7): "somewhere between 2nd and 7th",
        (1, 1024): "somewhere between 1st and 1,024th",
        (11, 22): "somewhere between 11th and 22nd",
    }


@pytest.mark.parametrize(
    ("steps", "seconds", "hours"),
    [(120, 3600, 1), (8760, 3600, 24), (2000, 3600, 3), (17520, 1800, 24), (500, 86400, 24)],
)
def test_a_long_curve_has_points_of_a_natural_length(bare: Page, steps: int, seconds: int, hours: int) -> None:
    every = ask(bare, "points", "stepsPerPoint", steps, seconds)
    assert every * seconds == hours * 3600
    assert steps / every <= 1000


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "America/New_York", "Asia/Kathmandu"])
def test_typed_times_are_those_of_clocks_on_the_wall(bare: Page, zone: str) -> None:
    first = datetime(2013, 3, 8, tzinfo=UTC)  # clocks change in both places within the month
    for hours in range(0, 30 * 24, 5):
        instant = first + timedelta(hours=hours)
        text = f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M}"
        got = bare.evaluate(
            "([text, zone, at]) => import('/page/limits.js').then(({fromLocal, localText}) =>"
            " [fromLocal(text, zone).toISOString(), localText(new Date(at), zone)])",
            [text, zone, instant.isoformat()],
        )
        assert got == [f"{instant:%Y-%m-%dT%H:%M:%S}.000Z", text]


def test_limits_by_cells_and_times(page: Page, town: Release) -> None:
    settle(page)
    page.get_by_text("Type an area or a period").click()
    for name, text in (("x from", "10"), ("x to", "19"), ("y from", "8"), ("y to", "13")):
        page.get_by_label(name, exact=True).fill(text)
    page.get_by_label("from", exact=True).fill("2013-02-04T17:00")
    page.get_by_label("to", exact=True).fill("2013-02-04T22:00")
    page.get_by_role("button", name="Apply").click()
    expect_state(page, area="10:20,8:14", period="17:22")
    expect_answer(page, town.query((10, 20), (8, 14), (17, 22)))
    page.locator("#limits").get_by_role("button", name="Clear").click()
    expect_state(page, area=None, period=None)
    expect(page.get_by_label("x from", exact=True)).to_have_value("")


def test_limits_by_coordinates(new_page: Open, london: Release) -> None:
    page = new_page("#release=west-london")
    settle(page)
    page.get_by_text("Type an area or a period").click()
    page.get_by_label("How to give the area").select_option("by coordinates")
    for name, text in (("longitude from", "-0.45"), ("longitude to", "-0.38"), ("latitude from", "51.42")):
        page.get_by_label(name, exact=True).fill(text)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_function("() => location.hash.includes('area=')")
    wanted = london.over(Area.rectangle(london.grid, -0.45, 51.42, -0.38, 51.5), [[0, 168]])
    expect_answer(
        page, Answer(*(float(part[0]) for part in (wanted.value, wanted.standard_error, wanted.low, wanted.high)))
    )


def test_limits_by_the_clock_of_a_zone(new_page: Open) -> None:
    page = new_page("#release=town&zone=America/New_York")
    settle(page)
    page.get_by_text("Type an area or a period").click()
    page.get_by_label("from", exact=True).fill("2013-02-04T00:00")
    page.get_by_role("button", name="Apply").click()
    expect_state(page, period="5:120")
    expect(page.get_by_label("to", exact=True)).to_have_value("2013-02-08T19:00")


def test_limits_that_make_no_sense_are_refused_in_words(page: Page, faults: list[str]) -> None:
    settle(page)
    page.get_by_text("Type an area or a period").click()
    said = page.locator("#limits [role=alert]")
    page.get_by_label("x to", exact=True).fill("32")
    page.get_by_role("button", name="Apply").click()
    expect(said).to_have_text("x: give whole numbers from 0 to 31, the first not above the last.")
    page.get_by_label("x to", exact=True).fill("five")
    page.get_by_role("button", name="Apply").click()
    expect(said).to_have_text("“five” is not a number.")
    page.get_by_label("x to", exact=True).fill("")
    page.get_by_label("from", exact=True).fill("2013-02-04T17:30")
    page.get_by_role("button", name="Apply").click()
    expect(said).to_contain_text("time 2013-02-04T17:30:00Z is inside a step; the nearest boundaries are")
    expect_state(page, area=None, period=None)
    assert all("422" in fault for fault in faults)
    faults.clear()


def test_compare_two_areas_swap_and_end(new_page: Open, town: Release) -> None:
    page = new_page(f"#release=town&area={B_HASH}&tab=compare")
    settle(page)
    page.locator("#panel-compare").get_by_role("button", name="Compare with this").click()
    expect_state(page, other_area=B_HASH)
    expect(page.locator(".findings")).to_contain_text("A and B are the same so far")
    page.evaluate("import('/page/state.js').then(({store}) => store.set({area: {x: [8, 16], y: [10, 18]}}))")
    a, b = town.query(*A), town.query(*B)
    expect_answer(page, a, "#compare-a")
    expect_answer(page, b, "#compare-b")
    expect(page.locator("#compare-verdict")).to_have_text(
        re.compile("A is higher" if a.low > b.high else "B is higher" if b.low > a.high else "They may be equal")
    )
    gap, ratio = (page.locator(".findings p").nth(i).inner_text() for i in (1, 2))
    near(numbers(gap.replace("+", "")), np.array([a.value - b.value, a.low - b.high, a.high - b.low]))
    assert numbers(ratio) == pytest.approx([a.value / b.value, a.low / b.high, a.high / b.low], abs=0.006)
    bars = [page.locator(f".bar-track.{kind} .bar-whisker").bounding_box() for kind in "ab"]
    widths = [bar["width"] for bar in bars if bar]
    assert widths[0] / widths[1] == pytest.approx((a.high - a.low) / (b.high - b.low), rel=0.05)
    page.get_by_role("button", name="Swap A and B").click()
    expect_state(page, area=B_HASH, other_area=A_HASH)
    expect_answer(page, b, "#compare-a")
    page.get_by_role("button", name="End", exact=True).click()
    expect_state(page, area=B_HASH, other_area=None)
    expect(page.locator("#panel-compare")).to_contain_text("Marked now: cells x 16 to 23")


def test_periods_of_different_length_are_compared_by_their_averages(new_page: Open, town: Release) -> None:
    page = new_page(f"#release=town&area={A_HASH}&period=0:24&other-area={A_HASH}&other-period=48:96&tab=compare")
    settle(page)
    a, b = town.query(*A, (0, 24)), town.query(*A, (48, 96))
    expect_answer(page, b, "#compare-b")
    expect(page.locator(".findings")).to_contain_text("averages per day are compared")
    told = numbers(page.locator("#compare-b").locator("..").inner_text().replace(NINETY_FIVE, ""))
    near(told, np.array([b.value, b.low, b.high]) / 2)
    ratio = numbers(page.locator(".findings p").nth(2).inner_text())
    assert ratio == pytest.approx([2 * a.value / b.value, 2 * a.low / b.high, 2 * a.high / b.low], abs=0.006)


def test_a_typical_day_is_the_average_of_its_hours(new_page: Open, london: Release) -> None:
    page = new_page(f"#release=west-london&area={A_HASH}&tab=profile&zone=Asia/Kolkata")
    settle(page)
    values = curve(london, *A)[:, 0]
    begins = [london.window.start + timedelta(hours=i, minutes=330) for i in range(168)]
    chart = page.get_by_role("slider", name="Typical day")
    chart.focus()
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    said = chart.get_attribute("aria-valuetext") or ""
    assert said.startswith("07:30 to 08:30: ")
    for name, kind in (("All days", range(7)), ("Monday to Friday", range(5)), ("Saturday and Sunday", (5, 6))):
        hours = [values[i] for i, when in enumerate(begins) if when.hour == 7 and when.weekday() in kind]
        value, low, high = numbers(said.split(name)[1].split(";")[0].replace(NINETY_FIVE, ""))
        assert low < value < high
        assert value == pytest.approx(float(np.mean(hours)), abs=0.06 * (high - low))
    week = page.get_by_role("slider", name="Typical week")
    week.focus()
    page.keyboard.press("End")
    assert (week.get_attribute("aria-valuetext") or "").startswith("Sunday, 23:30 to 00:30: ")


def test_why_there_is_no_typical_week(new_page: Open) -> None:
    page = new_page("#release=town&tab=profile")
    settle(page)
    panel = page.locator("#panel-profile")
    expect(panel).to_contain_text("No typical week: the release is shorter than a whole week.")
    expect(panel).to_contain_text("There is no whole Saturday or Sunday in this release")
    expect(page.get_by_role("slider", name="Typical week")).to_have_count(0)


def test_the_highest_cells_their_places_and_choosing_one(new_page: Open, town: Release) -> None:
    page = new_page("#release=town&tab=highest&period=40:44")
    settle(page)
    rows = page.locator(".highest tbody tr")
    expect(rows).to_have_count(10)
    cells = town.cells(40, 44)
    low, high, value = (np.ravel(part) for part in (cells.low, cells.high, cells.value))
    # Wide enough to hold together: noise of Laplace's kind leaves r times the interval with the r-th power of 5 %.
    times = np.log(0.05 / value.size) / np.log(0.05)
    low, high = np.minimum(value - times * (value - low), low), np.maximum(value + times * (high - value), high)
    for rank, i in enumerate(np.argsort(-value, kind="stable")[:10]):
        y, x = divmod(int(i), town.grid.nx)
        best, worst = 1 + int(sum(low > high[i])), town.grid.cells - int(sum(high < low[i]))
        row = rows.nth(rank)
        expect(row.locator("th")).to_have_text(f"x {x}, y {y}")
        expect_answer(page, town.query((x, x + 1), (y, y + 1), (40, 44)), f".highest tr:nth-child({rank + 1}) td b")
        expect(row.locator(".order")).to_have_text(ask(page, "highest", "placeInWords", [best, worst]))
    expect(page.locator(".highest caption")).to_contain_text("Tue 5 Feb 2013, 16:00 to 20:00")
    chosen = rows.nth(2).get_by_role("button")
    x, y = (int(number) for number in numbers(chosen.inner_text()))
    chosen.click()
    expect_state(page, area=f"{x}:{x + 1},{y}:{y + 1}")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect_answer(page, town.query((x, x + 1), (y, y + 1), (40, 44)))


def test_every_panel_has_its_table(new_page: Open, town: Release, tmp_path: Path) -> None:
    page = new_page(f"#release=town&area={A_HASH}&period=30:54&other-area={B_HASH}")
    settle(page)

    def rows(panel: str) -> list[dict[str, str]]:
        return table(saved(page, page.locator(panel).get_by_role("button", name="CSV"), tmp_path))

    [answer] = rows("#answer")
    assert float(answer["kwh"]) == pytest.approx(town.query(*A, (30, 54)).value)
    assert (answer["start"], answer["end"]) == ("2013-02-05T06:00:00Z", "2013-02-06T06:00:00Z")
    points = rows("#panel-curve")
    assert len(points) == 2 * HOURS
    assert [float(row["kwh_high"]) for row in points[:HOURS]] == pytest.approx(curve(town, *A)[:, 2])
    columns: dict[str, Callable[[dict[str, str]], float]] = {
        "compare": lambda row: float(row["kwh"]),
        "highest": lambda row: float(row["kwh"]),
        "profile": lambda row: float(row["average_kwh"]),
    }
    found = {}
    for tab, number in columns.items():
        page.locator(f"#tab-{tab}").click()
        settle(page)
        found[tab] = [number(row) for row in rows(f"#panel-{tab}")]
    assert found["compare"] == pytest.approx([town.query(*A, (30, 54)).value, town.query(*B).value])
    assert found["highest"] == pytest.approx(np.sort(town.cells(30, 54).value, axis=None)[:-11:-1].tolist(), rel=1e-5)
    assert found["profile"][:24] == pytest.approx(curve(town, *A)[:, 0].reshape(5, 24).mean(axis=0))


@pytest.mark.parametrize("tab", ["curve", "profile", "highest", "compare"])
def test_panels_fit_a_phone(new_page: Open, tab: str, screenshot: Callable[..., Path]) -> None:
    hash_ = f"#release=west-london&area={A_HASH}&other-area={B_HASH}&tab={tab}"
    page = new_page(hash_, viewport={"width": 390, "height": 844}, color_scheme="dark")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    screenshot(page, full_page=True)
