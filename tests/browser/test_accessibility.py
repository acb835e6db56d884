"""Axe finds nothing serious on any view of the page."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open
from tests.browser.hands import settle
from tests.browser.test_devices import PHONE

VIEWS = {
    "start": "",
    "region": "area=4:12,4:12&period=10:20",
    "profile": "area=4:12,4:12&tab=profile",
    "highest": "tab=highest&time=18:19",
    "compare": "area=4:12,4:12&other-area=20:24,4:9&tab=compare",
    "compare-nothing": "tab=compare",
}
SCREENS = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}


def check(page: Page) -> None:
    """Fail on what axe calls serious or critical."""
    findings = Axe().run(page).response["violations"]
    grave = [
        f"{finding['id']} ({finding['impact']}): {finding['help']}\n    "
        + "\n    ".join(f"{node['target']} {node['html'][:160]}" for node in finding["nodes"][:5])
        for finding in findings
        if finding["impact"] in {"serious", "critical"}
    ]
    assert not grave, "\n".join(grave)


@pytest.mark.parametrize("screen", SCREENS)
def test_views(new_page: Open, screen: str) -> None:
    page = new_page("#release=west-london", **SCREENS[screen])
    for view in VIEWS.values():
        page.evaluate("hash => { location.hash = hash; }", f"release=west-london&{view}")
        settle(page)
        check(page)


@pytest.mark.parametrize("screen", SCREENS)
def test_what_opens(new_page: Open, screen: str) -> None:
    page = new_page("#release=high-epsilon", **SCREENS[screen])
    settle(page)
    page.get_by_text("Type an area or a period").click()
    page.locator("#save summary").click()
    check(page)
    page.keyboard.press("Escape")
    page.locator("#how-private").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    for summary in page.locator("dialog summary").all():
        summary.click()
    check(page)


def test_a_banner_and_a_refusal(new_page: Open) -> None:
    page = new_page("#release=not-private")
    settle(page)
    page.get_by_text("Type an area or a period").click()
    page.locator("#limit-x-to").fill("99")
    page.locator("#limits").get_by_role("button", name="Apply").click()
    expect(page.locator("#limits").get_by_role("alert")).to_contain_text("whole numbers")
    check(page)
