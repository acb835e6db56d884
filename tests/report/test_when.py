"""Parts of the day against a loop over steps, and their maps against sums of the values."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.release.conftest import make_estimate, make_label

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.highest import values_at
from gridveil.release.query.open import open_release
from gridveil.report.when import parts_of

SPRING = datetime(2013, 3, 28, tzinfo=UTC)  # clocks in London go forward on Sunday the 31st


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "Asia/Kathmandu"])
@pytest.mark.parametrize("minutes", [15, 60, 360])
def test_quarters_go_by_the_local_clock(zone: str, minutes: int) -> None:
    window = Window(SPRING, timedelta(minutes=minutes), 7 * 24 * 60 // minutes)
    parts = parts_of(window, zone)
    assert [part.name for part in parts] == ["Night", "Morning", "Afternoon", "Evening"]
    belongs: dict[str, list[int]] = {part.name: [] for part in parts}
    for step in range(window.steps):
        middle = (SPRING + (step + 0.5) * window.step).astimezone(ZoneInfo(zone))
        belongs[["Night", "Morning", "Afternoon", "Evening"][middle.hour // 6]].append(step)
    for part in parts:
        expected = np.zeros(window.steps)
        expected[belongs[part.name]] = 1 / len(belongs[part.name])
        np.testing.assert_allclose(part.schedule, expected)


@pytest.mark.parametrize(
    ("step", "steps", "names"),
    [
        (timedelta(hours=1), 23, 0),
        (timedelta(hours=1), 24, 4),
        (timedelta(days=1), 5, 0),
        (timedelta(days=1), 7, 2),
        (timedelta(days=2), 70, 0),
    ],
)
def test_there_are_parts_only_where_steps_fall_into_all_of_them(step: timedelta, steps: int, names: int) -> None:
    assert len(parts_of(Window(datetime(2013, 2, 4, tzinfo=UTC), step, steps), "UTC")) == names


def test_maps_of_parts_are_weighted_sums_of_the_values(tmp_path: Path) -> None:
    grid, window = Grid(0, 0, 6, 4, nx=6, ny=4), Window(SPRING, timedelta(hours=1), 100)
    write_release(
        tmp_path / "r",
        grid=grid,
        window=window,
        estimate=make_estimate("parts", grid, window),
        label=make_label(grid, window),
    )
    release = open_release(tmp_path / "r")
    schedules = np.random.default_rng(0).choice([0.0, 0.25, 1.0], (3, 100))
    found = values_at(release, list(schedules))
    expected = np.einsum("tyx,mt->myx", release.values().astype(float), schedules)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert values_at(release, []).shape == (0, 4, 6)
