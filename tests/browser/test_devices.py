"""The page by keyboard alone, on a phone, in the dark; and what it says of weak promises and a server that is gone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, serving
from tests.browser.hands import Sheet, brightness, expect_answer, expect_state, mark_cells, settle, state

from gridveil.release.query.open import Release

Shot = Callable[..., Path]
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}
FOCUSED = """() => {
  const {activeElement: at} = document;
  return at.id || at.getAttribute('aria-label') || at.textContent.trim();
}"""
OVERFLOW = "() => document.scrollingElement.scrollWidth - innerWidth"


def focus_order(page: Page, most: int = 80) -> list[str]:
    """Press Tab from the top of the page until it starts again; return what had the focus."""
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    met: list[str] = []
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            return met
        met.append(page.evaluate(FOCUSED))
    pytest.fail(f"Tab never leaves the page: {met}")


def test_tab_reaches_everything_and_leaves_again(page: Page) -> None:
    settle(page)
    met = focus_order(page)
    needed = [
        "release",
        "how-private",
        "Map of electricity use",
        "Play",
        "Time shown on the map",
        "show",
        "curve-chart",
    ]
    assert [name for name in needed if name not in met] == []
    for text in (
        "Skip to the answer",
        "Save or share",
        "Rectangle",
        "Polygon",
        "Type an area or a period",
        "tab-curve",
    ):
        assert any(text in name for name in met), (text, met)
    assert len(met) == len(set(met)) or max(map(met.count, met)) <= 3  # some buttons share a name, none holds the focus
    assert "own-file" in met


def test_everything_by_keyboard(page: Page, town: Release) -> None:
    settle(page)
    page.locator("#map canvas").focus()
    page.keyboard.press("ArrowRight")  # where the cursor starts, in the middle
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(f"Shift+{key}")
    page.keyboard.press("Enter")
    expect_state(page, area="16:19,16:18")
    expect_answer(page, town.query((16, 19), (16, 18)))
    settle(page)
    page.locator("#curve-chart").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.keyboard.down("Shift")
    for _ in range(11):
        page.keyboard.press("ArrowRight")
    page.keyboard.up("Shift")
    expect_state(page, period="6:18")
    expect_answer(page, town.query((16, 19), (16, 18), (6, 18)))
    page.keyboard.press("Escape")
    expect_state(page, period=None)
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    page.wait_for_function("() => Number(document.querySelector('#map').dataset.time.split(':')[0]) >= 2")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_focused()
    page.locator("#tab-curve").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-profile")).to_be_focused()
    expect(page.locator("#panel-profile")).to_be_visible()
    page.locator("#map canvas").focus()
    page.keyboard.press("Escape")
    expect_answer(page, town.query())


def test_the_label_opens_and_closes_by_keyboard(page: Page, screenshot: Shot) -> None:
    settle(page)
    page.locator("#how-private").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for text in ("What is protected", "How strongly", "What that does not mean", "What the error bars say", "20.1"):
        expect(dialog).to_contain_text(text)
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "() => document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    screenshot(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#how-private")).to_be_focused()


def test_on_a_phone(new_page: Open, town: Release, screenshot: Shot) -> None:
    page = new_page("#release=town", **PHONE)
    settle(page)
    assert page.evaluate(OVERFLOW) <= 0
    screenshot(page, "start")
    page.get_by_role("button", name="Rectangle").tap()
    sheet = Sheet.of(page)
    touch_drag(page, sheet.at(8.5, 8.5), sheet.at(15.5, 19.5))
    expect_state(page, area="8:16,8:20")
    expect_answer(page, town.query((8, 16), (8, 20)))
    settle(page)
    for tab in ("Typical day", "Highest cells", "Compare", "Curve"):
        page.get_by_role("tab", name=tab).tap()
        settle(page)
        assert page.evaluate(OVERFLOW) <= 0, tab
        screenshot(page, tab.split()[0].lower(), full_page=True)
    page.get_by_text("Type an area or a period").tap()
    page.locator("#save summary").tap()
    assert page.evaluate(OVERFLOW) <= 0
    screenshot(page, "menu")
    page.keyboard.press("Escape")
    page.locator("#how-private").tap()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0
    screenshot(page, "label")


def test_a_finger_that_scrolls_marks_nothing(new_page: Open) -> None:
    page = new_page("#release=town", **PHONE)
    settle(page)
    sheet = Sheet.of(page)
    touch_drag(page, sheet.at(10.5, 20.5), sheet.at(10.5, 26.5))
    page.wait_for_timeout(200)
    assert "area" not in state(page)


def touch_drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag with a finger."""
    hand = page.context.new_cdp_session(page)
    between = [(start[0] + (end[0] - start[0]) * k / 8, start[1] + (end[1] - start[1]) * k / 8) for k in range(9)]
    for number, (x, y) in enumerate(between):
        kind = "touchMove" if number else "touchStart"
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("width", [320, 768, 1024, 1280, 1920])
def test_every_width_is_readable(new_page: Open, width: int, screenshot: Shot) -> None:
    page = new_page("#release=west-london&area=4:20,4:20&tab=highest", viewport={"width": width, "height": 900})
    settle(page)
    assert page.evaluate(OVERFLOW) <= 0
    marks = [mark.bounding_box() or {} for mark in page.locator("#legend .marks > *").all()]  # type: ignore[var-annotated]  # of any type
    assert len(marks) > 2
    assert all(one["x"] + one["width"] + 4 <= next_["x"] for one, next_ in pairwise(marks))
    screenshot(page)


def test_in_the_dark(new_page: Open, screenshot: Shot) -> None:
    page = new_page("#release=west-london&area=4:20,4:20&time=18:19", color_scheme="dark")
    settle(page)
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert sum(int(part) for part in paper.strip("rgba()").split(",")[:3]) < 150
    dark = brightness(page).mean()
    screenshot(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(300)
    assert brightness(page).mean() > dark + 40  # the map follows, without a reload


def test_a_release_that_is_not_private_says_so(new_page: Open, screenshot: Shot) -> None:
    page = new_page("#release=not-private")
    settle(page)
    expect(page.locator("#banner")).to_contain_text("NOT PRIVATE")
    expect(page.locator("#epsilon")).to_have_text("not private")
    screenshot(page)
    page.locator("#how-private").click()
    expect(page.get_by_role("dialog")).to_contain_text("NOT PRIVATE")
    for promise in ("What is protected", "How strongly", "at most"):
        expect(page.get_by_role("dialog").locator("h3, p", has_text=promise)).to_have_count(0)
    screenshot(page, "label")


def test_a_high_epsilon_is_said_plainly(new_page: Open, screenshot: Shot) -> None:
    page = new_page("#release=high-epsilon")
    settle(page)
    expect(page.locator("#epsilon")).to_have_text("ε = 10, high")
    expect(page.locator("#banner")).to_be_visible()
    expect(page.locator("#banner")).to_contain_text("epsilon 10")
    screenshot(page)


def test_a_server_that_is_gone_is_said_in_a_sentence(
    new_page: Open, release_folder: Path, faults: list[str], screenshot: Shot
) -> None:
    with serving(release_folder / "town") as (url, _):
        page = new_page(base_url=url)
        settle(page)
        expect(page.locator("#chooser")).to_be_hidden()  # there is nothing to choose
    mark_cells(page, (3, 5), (3, 5))
    expect(page.locator("#trouble")).to_contain_text("The server does not answer")
    expect(page.locator("#answer")).not_to_contain_text("The server does not answer")  # once is enough
    expect(page.locator("#answer-value")).to_be_hidden()  # not the number of another question
    screenshot(page)
    assert all("ERR_CONNECTION_REFUSED" in fault for fault in faults), faults
    faults.clear()


def test_a_server_that_is_busy_says_so_in_its_own_words(page: Page, faults: list[str]) -> None:
    settle(page)
    busy = {"detail": "The server is busy with other large questions; ask again in a few seconds."}
    page.route("**/query?*", lambda route: route.fulfill(status=503, json=busy))
    mark_cells(page, (3, 5), (3, 5))
    expect(page.locator("#answer")).to_contain_text("busy with other large questions")
    page.unroute("**/query?*")
    mark_cells(page, (2, 6), (2, 6))
    expect(page.locator("#answer-value")).to_be_visible()
    expect(page.locator("#answer")).not_to_contain_text("busy with other large questions")
    page.wait_for_load_state("networkidle")  # what is refused late is told late
    assert all("503" in fault for fault in faults), faults
    faults.clear()
