"""What a planner does with the page, in real Chromium."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def test_the_page_opens(page: Page) -> None:
    expect(page).to_have_title("gridveil")
