import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import KINDS, make_estimate, make_label
from tests.report.reading import Reader

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.format.label import Privacy
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.report.page import make_page, write_report
from gridveil.report.when import curve_of
from gridveil.uncertainty import Estimate, NoisyParts

START = datetime(2013, 2, 4, tzinfo=UTC)  # a Monday
LONDON = Grid(-0.5, 51.25, -0.1, 51.5, nx=8, ny=5, crs="EPSG:4326")
Made = Callable[..., Release]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Write and open a release."""

    def run(
        kind: str = "scaled",
        grid: Grid = LONDON,
        window: Window | None = None,
        estimate: Estimate | None = None,
        **changes: Any,
    ) -> Release:
        window = window or Window(START, timedelta(hours=1), 72)
        path = tmp_path / f"release-{len(list(tmp_path.iterdir()))}"
        estimate = estimate or make_estimate(kind, grid, window)
        write_release(path, grid=grid, window=window, estimate=estimate, label=make_label(grid, window, **changes))
        return open_release(path)

    return run


def number(kwh: float) -> str:
    """A number as the page should have it."""
    return f"{kwh:,.0f}" if abs(kwh) >= 100 else f"{kwh:,.1f}" if abs(kwh) >= 10 else f"{kwh:,.2f}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_headline_and_the_table_are_what_queries_say(made: Made, kind: str) -> None:
    release = made(kind)
    text = Reader(make_page(release, name="r")).text
    total = release.query()
    assert f"{number(total.value)} kWh 95 % interval: {number(total.low)} to {number(total.high)} kWh" in text
    steps = [release.query(time=(step, step + 1)) for step in range(72)]
    peak = max(steps, key=lambda answer: answer.value)
    hour = steps.index(peak)
    assert (
        f"Highest hour: {['Monday 4', 'Tuesday 5', 'Wednesday 6'][hour // 24]} February 2013, {hour % 24:02}:00" in text
    )
    assert f"{number(peak.value)} kWh per hour 95 % interval: {number(peak.low)} to {number(peak.high)} kWh" in text
    cells = {
        (x, y): release.query(x=(x, x + 1), y=(y, y + 1))
        for x in range(release.grid.nx)
        for y in range(release.grid.ny)
    }
    for x, y in sorted(cells, key=lambda cell: -cells[cell].value)[:10]:
        lon, lat = -0.5 + (x + 0.5) * 0.05, 51.25 + (y + 0.5) * 0.05
        cell = cells[x, y]
        row = rf"x {x}, y {y}{lat:.4f}° N, {-lon:.4f}° W{number(cell.value)}{number(cell.low)} to {number(cell.high)}"
        assert row in text


@pytest.mark.parametrize(("steps", "every"), [(1000, 1), (1001, 2), (8760, 24), (20000, 24)])
def test_a_long_curve_is_averages_over_round_lengths(made: Made, steps: int, every: int) -> None:
    release = made(grid=Grid(0, 0, 2, 1, nx=2, ny=1), window=Window(START, timedelta(hours=1), steps))
    curve = curve_of(release)
    assert curve.every == every
    assert len(curve.firsts) == -(-steps // every) <= 1000
    for point in (0, 7, len(curve.firsts) - 1):
        first, last = point * every, min((point + 1) * every, steps)
        answer = release.query(time=(first, last))
        found = [part[point] for part in (curve.answers.value, curve.answers.low, curve.answers.high)]
        assert found == pytest.approx([part / (last - first) for part in (answer.value, answer.low, answer.high)])
    assert curve.middles[-1] < 1


def test_the_curve_is_drawn_where_its_numbers_are(made: Made) -> None:
    release = made()
    page = make_page(release, name="r")
    chart = re.search(r'<div class="wide">(.*?</svg>\n</svg>)', page, re.DOTALL)
    assert chart is not None
    drawn = ET.fromstring(chart[1])  # noqa: S314 -- our own text
    line = next(path for path in drawn.iter("path") if path.get("class") == "released")
    y = np.array([float(point.split(",")[1]) for point in (line.get("d") or "")[1:].split()])
    kwh = np.array([release.query(time=(step, step + 1)).value for step in range(72)])
    assert len(y) == 72
    # Pixels fall as kWh rise, in proportion.
    slope, offset = np.polyfit(kwh, y, 1)
    assert slope < 0
    np.testing.assert_allclose(y, slope * kwh + offset, atol=0.11)
    levels = [
        (float((text.text or "").replace(",", "")), float(text.get("y") or 0))
        for text in drawn.iter("text")
        if text.get("class") == "kwh"
    ]
    for level, height in levels:
        assert height - 4 - 22 == pytest.approx(slope * level + offset, abs=0.2)


ANY_SHAPE = {
    "one of all": (Grid(0, 0, 1, 1, nx=1, ny=1), Window(START, timedelta(hours=1), 1)),
    "quarters of an hour": (Grid(0, 0, 5, 7, nx=5, ny=7), Window(START, timedelta(minutes=15), 24)),
    "days": (Grid(0, 0, 3, 2, nx=3, ny=2), Window(START, timedelta(days=1), 16)),
    "weeks": (Grid(0, 0, 3, 2, nx=3, ny=2), Window(START, timedelta(days=7), 60)),
    "odd steps": (Grid(0, 0, 3, 2, nx=3, ny=2), Window(START + timedelta(seconds=7), timedelta(seconds=5003), 50)),
    "half hours": (Grid(0, 0, 3, 2, nx=3, ny=2), Window(START, timedelta(minutes=30), 48 * 20)),
    "metres": (
        Grid(500_000, 180_000, 510_000, 184_000, nx=20, ny=4, crs="EPSG:27700"),
        Window(START, timedelta(hours=1), 48),
    ),
    "a far south-east": (
        Grid(151.0, -34.0, 151.5, -33.5, nx=4, ny=4, crs="EPSG:4326"),
        Window(START, timedelta(hours=6), 30),
    ),
    "a strip": (Grid(0, 0, 1000, 1, nx=1000, ny=1), Window(START, timedelta(hours=1), 3)),
}


@pytest.mark.parametrize("shape", ANY_SHAPE)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_a_page_of_any_shape_is_whole_and_loads_nothing(made: Made, shape: str, zone: str) -> None:
    grid, window = ANY_SHAPE[shape]
    page = make_page(made(grid=grid, window=window), name="r", zone=zone)
    reader = Reader(page)
    assert reader.open == []
    assert "$" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert "nan" not in reader.words
    assert not reader.tags & {"script", "link", "iframe", "object", "a"}
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert all(resource.startswith("data:image/png;base64,") for resource in reader.loaded)
    assert reader.pictures
    assert all(words and len(words) > 10 for words in reader.pictures)
    for chart in re.findall(r'<svg viewBox="0 0 \d+ \d+" role="img".*?</svg>\n</svg>', page, re.DOTALL):
        ET.fromstring(chart)  # noqa: S314 -- our own text


@pytest.mark.parametrize(
    ("shape", "present", "absent"),
    [
        ("one of all", ["The only cell."], ["Typical day", "Night", " km", "Typical week"]),
        ("half hours", ["Typical day", "Monday to Friday", "Typical week", "Night", "Evening"], ["each point"]),
        ("days", ["Weekdays", "Weekends", "Typical week"], ["Typical day", "Night"]),
        ("weeks", [], ["Weekdays", "Typical week", "Night"]),
        ("metres", ["2 km", "a cell is 500 by 1,000 m"], []),
        ("a far south-east", ["33.5000° S, 151.5000° E"], []),
        ("quarters of an hour", ["24 times 15 minutes", "kWh per 15 minutes"], ["Typical day"]),
    ],
)
def test_a_page_has_what_its_release_can_say(made: Made, shape: str, present: list[str], absent: list[str]) -> None:
    grid, window = ANY_SHAPE[shape]
    text = Reader(make_page(made(grid=grid, window=window), name="r")).text
    assert [words for words in present if words not in text] == []
    assert [words for words in absent if words in text] == []


HOSTILE = '<script>alert(1)</script> & "q" \'$total ${map}</title>'


def test_what_a_label_says_is_text_and_nothing_else(made: Made) -> None:
    page = make_page(made(title=HOSTILE, publisher=HOSTILE), name=HOSTILE)
    reader = Reader(page)
    assert reader.open == []
    assert "script" not in reader.tags
    assert reader.words.count(HOSTILE) >= 5
    assert "gridveil query '<script>" in reader.text  # quoted, so that no shell runs it


def test_test_noise_is_said_first_and_promises_nothing(made: Made) -> None:
    text = Reader(make_page(made(private=False), name="r")).text
    assert text.index("NOT PRIVATE: made with test noise") < text.index("Household electricity consumption")
    assert "times as likely" not in text
    assert "mathematical promise" not in text
    assert "to protect single households" not in text


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 4.996, 4.99999999, 5.0])
def test_the_strength_is_said_without_judging(made: Made, epsilon: float) -> None:
    text = Reader(make_page(made(privacy=Privacy(epsilon=epsilon, epsilon_accounted=epsilon)), name="r")).text
    digits = str(epsilon).removesuffix(".0")
    assert f"Epsilon is {digits}. It says how much" in text
    assert f"at most e^{digits} " in text
    assert "common" not in text
    assert ("is high. From 5 on the guarantee by itself is weak" in text) == (epsilon >= 5)


def test_equal_values_are_not_ranked(made: Made) -> None:
    window = Window(START, timedelta(hours=1), 48)
    alike = Estimate(np.full((8, 5, 48), 2000.0), NoisyParts(None, np.array(2000.0), np.array(1.0)))
    page = make_page(made(window=window, estimate=alike), name="r")
    text = Reader(page).text
    assert "This release does not rank cells" in text
    assert "This release has no highest time" in text
    assert "Highest hour" not in text
    assert 'class="cell" style' not in page


def test_cells_are_hatched_where_the_interval_is_wider_than_the_value(made: Made) -> None:
    window = Window(START, timedelta(hours=1), 24)
    noise = NoisyParts(None, np.array(100.0), np.array(1.0))
    values = np.full((8, 5, 24), 10.0)  # Wh, below its noise
    values[2:4, 1:4] = 10_000.0
    values[5, 2] = 170.0  # about 4 kWh in all, give or take 1.4
    values[6, 2] = 85.0  # half of that
    values[7, 2] = -170.0  # noise, and surely not a little
    release = made(window=window, estimate=Estimate(values, noise))
    cells = [release.query(x=(x, x + 1), y=(y, y + 1)) for x in range(8) for y in range(5)]
    wide = sum(cell.high - cell.low > abs(cell.value) for cell in cells)
    assert wide == 32
    assert "Hatched are 32 of 40 cells" in Reader(make_page(release, name="r")).text


def test_a_page_is_never_overwritten_and_never_in_part(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, path = made(), tmp_path / "out" / "page.html"
    write_report(release, path, name="r")
    written = path.read_text("utf-8")
    with pytest.raises(UsageError, check=has_code("out-exists")):
        write_report(release, path, name="r")
    assert path.read_text("utf-8") == written
    path.unlink()
    monkeypatch.setattr(Path, "write_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(release, path, name="r")
    assert list(path.parent.iterdir()) == []


def test_an_unknown_clock_is_refused(made: Made) -> None:
    with pytest.raises(UsageError, check=has_code("timezone-unknown", "Mars/Olympus")):
        make_page(made(), name="r", zone="Mars/Olympus")
