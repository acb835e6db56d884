"""The README's picture of the page: kept under build/screenshots, and with GRIDVEIL_SCREENSHOTS=1 made anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from tests.browser.conftest import Open
from tests.browser.hands import expect_answer, settle

from gridveil.release.query.open import Release

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "map.png"
VIEW = "#release=west-london&area=9:19,13:23&period=16:22"


def test_screenshot_for_the_readme(new_page: Open, london: Release, screenshot: Callable[..., Path]) -> None:
    page = new_page(VIEW, viewport={"width": 1400, "height": 900})
    expect_answer(page, london.query((9, 19), (13, 23), (16, 22)))
    settle(page)
    page.mouse.move(0, 0)
    made = screenshot(page)
    with Image.open(made) as picture:
        assert picture.size == (1400, 900)
    if os.environ.get("GRIDVEIL_SCREENSHOTS") == "1":
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, PICTURE)
    assert PICTURE.exists(), "make it with: make screenshots"
