from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label

from gridveil.geography.grid import Grid
from gridveil.model import arrays as prefix
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, NoisyParts, Replicates

Opened = tuple[Release, Estimate]
SHAPE = (GRID.nx, GRID.ny, WINDOW.steps)


def sides(size: int) -> st.SearchStrategy[tuple[int, int]]:
    return (
        st.tuples(st.integers(0, size), st.integers(0, size))
        .filter(lambda pair: pair[0] != pair[1])
        .map(lambda pair: (min(pair), max(pair)))
    )


BOXES = st.tuples(*(sides(size) for size in SHAPE))
MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def brute_error(estimate: Estimate, box: tuple[slice, ...]) -> float:
    """Return the standard error in kWh, from the definitions in `gridveil.uncertainty`."""
    errors = estimate.errors
    if isinstance(errors, Replicates):
        cubes = errors.space[:, :, :, None] * errors.time[:, None, None, :]
        return float(cubes[:, *box].sum(axis=(1, 2, 3)).std(ddof=1)) / 1000
    shares = np.broadcast_to(errors.shares, SHAPE)[box]
    if errors.labels is None:
        return float(np.sqrt(2 * ((np.broadcast_to(errors.scales, SHAPE)[box] * shares) ** 2).sum())) / 1000
    labels = np.broadcast_to(errors.labels, SHAPE)[box]
    noise = [shares[labels == part].sum() * scale for part, scale in enumerate(errors.scales)]
    return float(np.sqrt(2 * np.square(noise).sum())) / 1000


@given(BOXES)
@MANY
def test_answers_equal_brute_force(release: Opened, box: tuple[tuple[int, int], ...]) -> None:
    opened, estimate = release
    x, y, time = box
    cut = tuple(slice(*side) for side in box)
    answer = opened.query(x=x, y=y, time=time)
    assert answer.value == pytest.approx(opened.values()[cut[::-1]].sum(dtype=float), rel=1e-12, abs=1e-9)
    assert answer.standard_error == pytest.approx(brute_error(estimate, cut), rel=1e-9)
    assert answer.high - answer.value == pytest.approx(answer.value - answer.low)
    assert 1.9599 * answer.standard_error <= answer.high - answer.value <= 2.1184 * answer.standard_error


def test_values_are_rounded_once(release: Opened) -> None:
    opened, estimate = release
    np.testing.assert_array_equal(opened.values(), (estimate.values / 1000).astype(np.float32).transpose(2, 1, 0))  # type: ignore[operator]  # values are dense here
    assert opened.values().shape == SHAPE[::-1]


def test_cell_errors_are_those_of_one_cell_queries(release: Opened) -> None:
    opened, _ = release
    stored = opened._values.file["consumption_se"][()].transpose(2, 1, 0)
    cells = np.argwhere(np.ones(SHAPE, bool))
    ranges = np.stack([cells, cells + 1], axis=2).reshape(-1, 6)
    np.testing.assert_allclose(stored.ravel(), opened.answers_of(ranges).standard_error, rtol=1e-6)


def test_many_ranges_equal_single_queries(release: Opened) -> None:
    opened, _ = release
    ranges = np.array([[0, 8, 0, 5, 0, 30], [1, 2, 2, 3, 4, 5], [0, 8, 1, 4, 10, 11]])
    answers = opened.answers_of(ranges)
    for row, (x0, x1, y0, y1, t0, t1) in enumerate(ranges.tolist()):
        one = opened.query(x=(x0, x1), y=(y0, y1), time=(t0, t1))
        names = ("value", "standard_error", "low", "high")
        assert [getattr(one, name) for name in names] == pytest.approx([getattr(answers, name)[row] for name in names])
    assert opened.values_of(ranges) == pytest.approx(answers.value)


def test_large_releases_are_read_by_their_corners(
    publish: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = publish()
    rng = np.random.default_rng(3)
    ranges = np.stack(
        [np.sort(rng.permuted(np.tile(np.arange(n + 1), (500, 1)), axis=1)[:, :2]) for n in SHAPE], axis=1
    )
    held = open_release(path)
    expected = held.values_of(ranges.reshape(500, 6))
    monkeypatch.setattr(prefix, "HELD_BYTES", 0)
    monkeypatch.setattr("gridveil.release.format.read.HELD_BYTES", 0)
    stored = open_release(path)
    np.testing.assert_array_equal(stored.values_of(ranges.reshape(500, 6)), expected)
    assert held._prefix._held is not None
    assert stored._prefix._held is None
    one = stored.query(x=(1, 3), time=(2, 20))
    assert (one.low, one.high) == pytest.approx((held.query(x=(1, 3), time=(2, 20)).low, one.high))


@pytest.mark.parametrize("kind", ["parts", "identity", "replicates"])
def test_nothing_asked_nothing_answered(publish: Callable[..., Path], kind: str) -> None:
    assert open_release(publish(kind)).answers_of(np.empty((0, 6), int)).high.shape == (0,)


def test_times_can_be_said_in_many_ways(publish: Callable[..., Path]) -> None:
    opened = open_release(publish())
    expected = opened.query(time=(3, 6))
    start = datetime(2013, 2, 4, 3, tzinfo=UTC)
    east = timezone(timedelta(hours=2))
    assert opened.query(time=(np.int64(3), np.int64(6))) == expected
    assert opened.query(time=(start, start + timedelta(hours=3))) == expected
    assert opened.query(time=("2013-02-04T03", "2013-02-04T06:00")) == expected
    assert opened.query(time=("2013-02-04T05:00+02:00", start.astimezone(east) + timedelta(hours=3))) == expected
    assert opened.query(time=(WINDOW.start, WINDOW.end)) == opened.query()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"x": (3, 3)}, ("range-outside", "x range 3:3")),
        ({"x": 3}, ("range-syntax", "x 3")),
        ({"y": (1, 2, 3)}, ("range-syntax", "y")),
        ({"time": "2013-02-04"}, ("range-syntax", "time")),
        ({"y": (0, 6)}, ("range-outside", "0 to 5")),
        ({"x": (-1, 2)}, ("range-outside", "-1:2")),
        ({"time": (0, 31)}, ("range-outside", "0 to 30")),
        (
            {"time": ("2013-02-04T00:10", "2013-02-04T02")},
            ("time-inside-step", "2013-02-04T00:00:00Z", "2013-02-04T01:00:00Z"),
        ),
        ({"time": ("2013-02-04T02", "2013-02-04T02")}, ("time-empty",)),
        ({"time": ("2013-02-03T23", "2013-02-04T02")}, ("time-outside", "2013-02-04T00:00:00Z to 2013-02-05T06")),
        ({"time": ("yesterday", "today")}, ("time-syntax",)),
    ],
)
def test_a_bad_question_is_explained(
    publish: Callable[..., Path], asked: dict[str, object], told: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, check=has_code(*told)):
        open_release(publish()).query(**asked)


@pytest.mark.parametrize(
    ("ranges", "code"),
    [
        ([[0, 1, 0, 1, 0]], "ranges-shape"),
        ([[0, 1, 0, 1, 0, 31]], "range-outside"),
        ([[0.0, 1, 0, 1, 0, 1]], "ranges-shape"),
        ([[0, 1, 1, 1, 0, 1]], "range-outside"),
    ],
)
def test_bad_ranges_are_explained(publish: Callable[..., Path], ranges: list[list[float]], code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        open_release(publish()).values_of(ranges)


def test_intervals_cover_the_noise(publish: Callable[..., Path]) -> None:
    """20,000 draws of the noise of one query: the count inside is binomial; false alarms 1 in a million."""
    opened = open_release(publish("parts"))
    errors = make_estimate("parts").errors
    assert isinstance(errors, NoisyParts)
    assert errors.labels is not None
    box = (slice(1, 6), slice(0, 4), slice(5, 9))
    labels, shares = errors.labels[box], errors.shares[box]
    weights = np.array([shares[labels == part].sum() for part in range(12)]) * errors.scales / 1000
    noise = np.random.default_rng().laplace(size=(20_000, 12)) @ weights
    answer = opened.query(x=(1, 6), y=(0, 4), time=(5, 9))
    inside = int((np.abs(noise) <= answer.high - answer.value).sum())
    assert stats.binomtest(inside, 20_000, 0.95).pvalue > 1e-6


def test_the_worked_example_of_the_format_page(tmp_path: Path) -> None:
    grid, window = Grid(0, 0, 2, 2, nx=2, ny=2), Window(WINDOW.start, WINDOW.step, 1)
    estimate = Estimate(np.ones((2, 2, 1)), NoisyParts(np.zeros((1, 1, 1), int), np.array([8000.0]), np.array(0.25)))
    write_release(tmp_path / "r", grid=grid, window=window, estimate=estimate, label=make_label(grid, window))
    opened = open_release(tmp_path / "r")
    assert opened.query(x=(0, 1), y=(0, 1)).standard_error == pytest.approx(2.83, abs=0.01)
    whole = opened.query()
    assert whole.standard_error == pytest.approx(11.31, abs=0.01)
    assert whole.high - whole.value == pytest.approx(8 * np.log(20))


def test_asking_imports_nothing_slow(publish: Callable[..., Path]) -> None:
    code = """
import sys
from gridveil.release.query.open import open_release
open_release(sys.argv[1]).query()
slow = {"xarray", "pandas", "scipy", "h5netcdf", "pyproj", "shapely", "torch", "opendp", "ibis", "duckdb"}
print(*slow & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code, publish()], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
