import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.report.reading import Reader

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.label import BoundFacts, Label, MechanismFacts, Privacy
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.simulate.demo import Comparison
from gridveil.simulate.demo_report import write_demo_report
from gridveil.simulate.town import make_town
from gridveil.uncertainty import Estimate, NoisyParts

GRID = Grid(0, 0, 12, 8, nx=12, ny=8)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 48)


def released(folder: Path, truth: np.ndarray, noise: float, grid: Grid = GRID, window: Window = WINDOW) -> Release:
    """Publish the truth with Laplace noise of one scale (kWh) on every cell and step."""
    label = Label(  # type: ignore[call-arg]  # only what the report shows
        title="a test",
        publisher="nobody",
        published=date(2026, 1, 1),
        gridveil_version="0",
        private=False,
        privacy=Privacy(epsilon=3, epsilon_accounted=3),
        noise=[],
        not_covered=[],
        bounds=[BoundFacts(step_kwh=20, window_kwh=136, steps=window.steps)],
        mechanism=MechanismFacts(name="identity"),
        measurements=[],
        grid=GridFacts.of(grid),
        window=WindowFacts.of(window),
    )
    noisy = truth + np.random.default_rng(0).laplace(0, noise, truth.shape)
    parts = NoisyParts(None, np.full((1, 1, 1), 1000 * noise), np.ones((1, 1, 1)))
    path = folder / f"noise-{noise}"
    write_release(path, grid=grid, window=window, estimate=Estimate(1000 * noisy, parts), label=label)
    return open_release(path)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return make_town(400, grid=GRID, window=WINDOW).cube(WINDOW)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def releases(truth: np.ndarray, folder: Path) -> dict[str, Release]:
    return {"good <one>": released(folder, truth, 0.1), "bad": released(folder, truth, 50)}


@pytest.fixture(scope="module")
def page(truth: np.ndarray, releases: dict[str, Release], folder: Path) -> str:
    write_demo_report(folder, Comparison(truth, releases), name="noise-0.1")
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def reader(page: str) -> Reader:
    return Reader(page)


def test_the_page_is_well_formed(page: str, reader: Reader) -> None:
    assert reader.open == []
    charts = re.findall(r'<svg viewBox="0 0 \d+ \d+" role="img".*?</svg>\n</svg>', page, re.DOTALL)
    assert len(charts) == 6 + 3  # of the section, and of the page: wide, narrow and the typical day
    for chart in charts:
        ET.fromstring(chart)  # noqa: S314 -- our own text


def test_the_page_loads_nothing(page: str, reader: Reader) -> None:
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert "<script" not in page
    assert all(resource.startswith(("data:image/png;base64,", "#")) for resource in reader.loaded)


def test_the_warning_comes_first(page: str) -> None:
    warning = "This comparison is possible only because the town is invented: a real publication never shows the truth."
    body = page[page.index("<body>") :]
    assert 0 < body.index(warning) < body.index("<h1>")


def test_every_picture_is_told_in_words(reader: Reader) -> None:
    # Of the section maps, scales and charts; of the page maps, their scale and hatching, and charts.
    assert len(reader.pictures) == 2 * (3 + 1) + 6 + (1 + 4) + 2 + 3
    assert all(words and len(words) > 10 for words in reader.pictures)


def test_the_page_says_what_was_promised_and_how_to_go_on(reader: Reader) -> None:
    words = reader.text
    assert "ε = 3" in words
    assert "imitates a release with epsilon 3" in words
    assert "at most 20 kWh a step and 136 kWh in the published window" in words
    assert "NOT PRIVATE" in words
    assert "All 2 releases of one town together would be ε = 6." in words
    assert "What that does not mean" in words
    assert "gridveil query noise-0.1 --x 0:1 --y 0:1" in words
    assert "gridveil serve noise-0.1 --open" in words
    assert "nothing in it that the release does not have" not in words
    assert "good <one>" in words


@pytest.mark.usefixtures("page")
def test_the_picture_is_a_large_png(folder: Path) -> None:
    png = (folder / "demo.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == 1800


def test_scores_tell_good_from_bad(truth: np.ndarray, releases: dict[str, Release]) -> None:
    comparison = Comparison(truth, releases)
    for workload, good in comparison.scores("good <one>").items():
        bad = comparison.scores("bad")[workload]
        assert good.mre.percent < bad.mre.percent / 10
        assert good.wape < bad.wape / 10
        assert good.mre.left_out == bad.mre.left_out
        assert bad.covered > 85


def test_a_curve_is_the_release_asked_step_by_step(truth: np.ndarray, releases: dict[str, Release]) -> None:
    comparison = Comparison(truth, releases)
    busy = comparison.places()[1]
    curve = comparison.curve(busy, "bad")
    np.testing.assert_allclose(curve.truth, truth[slice(*busy.x), slice(*busy.y)].sum((0, 1)))
    kwh = releases["bad"].values()[:, slice(*busy.y), slice(*busy.x)].sum((1, 2))
    np.testing.assert_allclose(curve.answer, kwh, atol=0.01)
    assert (curve.low < curve.answer).all()
    assert (curve.answer < curve.high).all()


@pytest.mark.parametrize("kwh", [0.0, 2.0])
def test_a_single_cell_and_step_can_be_reported(tmp_path: Path, kwh: float) -> None:
    grid, window = (
        Grid(0, 0, 1, 1, nx=1, ny=1),
        Window(datetime(2013, 2, 4, 9, 15, tzinfo=UTC), timedelta(minutes=30), 1),
    )
    truth = np.full((1, 1, 1), kwh)
    releases = {"only": released(tmp_path, truth, 1.0, grid, window)}
    write_demo_report(tmp_path, Comparison(truth, releases), name="noise-1.0")
    assert Reader((tmp_path / "report.html").read_text("utf-8")).open == []
    assert (tmp_path / "demo.png").exists()


def test_imports_stay_light() -> None:
    program = (
        "import sys, gridveil.simulate.town, gridveil.simulate.rehearse; assert 'matplotlib' not in sys.modules; "
        "import gridveil.simulate.demo_report; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
