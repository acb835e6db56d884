"""What the journeys do with the page: point at cells, drag, read numbers."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from gridveil.geography.area import Area
from gridveil.release.query.open import Answer, Release

BUSY = "[aria-busy=true], #map.waiting"
NUMBER = r"[\u2212-]?\d[\d,]*(?:\.\d+)?"  # with the minus sign of print


def settle(page: Page) -> None:
    """Wait until the page has opened and every question is answered."""
    expect(page.locator("#answer-value")).to_have_attribute("data-value", re.compile("."))
    expect(page.locator("#map")).to_have_attribute("data-time", re.compile("."))
    page.wait_for_function("busy => !document.querySelector(busy)", arg=BUSY)
    if page.locator("#panel-highest").is_visible():  # asks only after time has rested
        expect(page.locator("#panel-highest table, #panel-highest .trouble")).to_be_visible()


def state(page: Page) -> dict[str, str]:
    """Return the view as the URL's hash has it."""
    return {name: values[0] for name, values in parse_qs(page.evaluate("location.hash").removeprefix("#")).items()}


def expect_state(page: Page, **wanted: str | None) -> None:
    """Wait until the URL says so; `None`: it says nothing of that."""
    names = json.dumps({name.replace("_", "-"): value for name, value in wanted.items()})
    page.wait_for_function(
        "wanted => { const hash = new URLSearchParams(location.hash.slice(1));"
        " return Object.entries(JSON.parse(wanted)).every(([name, value]) => hash.get(name) === value); }",
        arg=names,
    )


def expect_answer(page: Page, wanted: Answer, number: str = "#answer-value") -> None:
    """Wait until a number shown is the Python API's answer, its interval too."""
    page.wait_for_function(
        "([at, wanted]) => Math.abs(document.querySelector(at)?.dataset.value - wanted) <= 1e-6 * Math.abs(wanted)",
        arg=[number, wanted.value],
    )
    shown = page.locator(number)
    for name in ("value", "low", "high"):
        assert float(shown.get_attribute(f"data-{name}") or "nan") == pytest.approx(getattr(wanted, name), rel=1e-9)


def polygon_answer(release: Release, geometry: dict[str, Any], time: tuple[int, int]) -> Answer:
    """Return the Python API's answer about a polygon."""
    answers = release.over(Area.polygon(release.grid, geometry), [time])
    return Answer(*(float(part[0]) for part in (answers.value, answers.standard_error, answers.low, answers.high)))


def numbers(text: str) -> list[float]:
    """Return the numbers in a text, as people read them."""
    return [float(found.replace(",", "").replace("\u2212", "-")) for found in re.findall(NUMBER, text)]


@dataclass(frozen=True)
class Sheet:
    """Where the map's cells are on the screen; the first is in the south-west."""

    left: float
    top: float
    width: float
    height: float
    nx: int
    ny: int

    @classmethod
    def of(cls, page: Page) -> Sheet:
        """Measure the map, brought into view."""
        canvas = page.locator("#map canvas")
        canvas.scroll_into_view_if_needed()
        at = canvas.bounding_box()
        assert at
        box = page.evaluate(
            "import('/page/map.js').then(({view: {frame}}) => ({...frame.box, nx: frame.nx, ny: frame.ny}))"
        )
        return cls(at["x"] + box["x"], at["y"] + box["y"], box["w"], box["h"], box["nx"], box["ny"])

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point given in cells."""
        return self.left + self.width * x / self.nx, self.top + self.height * (1 - y / self.ny)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag with the mouse."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def mark_cells(page: Page, x: tuple[int, int], y: tuple[int, int]) -> None:
    """Drag over the cells of two half-open ranges."""
    sheet = Sheet.of(page)
    drag(page, sheet.at(x[0] + 0.5, y[0] + 0.5), sheet.at(x[1] - 0.5, y[1] - 0.5))


def mark_steps(page: Page, first: int, last: int, steps: int) -> None:
    """Drag over the steps of a half-open range on the curve."""
    plot = page.locator("#curve-chart .u-over")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    width, middle = box["width"] / steps, box["y"] + box["height"] / 2
    drag(page, (box["x"] + (first + 0.5) * width, middle), (box["x"] + (last - 0.5) * width, middle))


def brightness(page: Page) -> np.ndarray:
    """Return how bright the map's cells are on the screen, (y, x) from the south: the middle one of each cell's pixels,
    so that hatching and lines do not count.
    """
    sheet = Sheet.of(page)
    everything = np.asarray(Image.open(BytesIO(page.screenshot())).convert("L"), dtype=float)

    def between(first: float, last: float) -> slice:
        return slice(round(first) + 1, round(last) - 1)

    def cell(x: int, y: int) -> float:
        (left, bottom), (right, top) = sheet.at(x, y), sheet.at(x + 1, y + 1)
        return float(np.median(everything[between(top, bottom), between(left, right)]))

    return np.array([[cell(x, y) for x in range(sheet.nx)] for y in range(sheet.ny)])


def saved(page: Page, press: Locator, folder: Path) -> Path:
    """Press what starts a download, and return the file."""
    with page.expect_download() as started:
        press.click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def table(path: Path) -> list[dict[str, str]]:
    """Read a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def curve(release: Release, x: tuple[int, int], y: tuple[int, int]) -> np.ndarray:
    """Return value, low and high of every step, asked one by one."""
    steps = range(release.window.steps)
    answers = [release.query(x, y, (step, step + 1)) for step in steps]
    return np.array([(answer.value, answer.low, answer.high) for answer in answers])


def near(told: list[float], true: Answer | np.ndarray) -> None:
    """Numbers in a text are those of an answer, up to rounding that its error allows."""
    value, low, high = (true.value, true.low, true.high) if isinstance(true, Answer) else true
    assert told == pytest.approx([value, low, high], abs=0.051 * (high - low))
