"""A household's readings inside one window decide on nothing outside it: the unit household-window rests on that."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest

EXAMPLES = settings.default.max_examples // 8 if settings.default else 12
GRID = Grid(0, 0, 2, 1, nx=2, ny=1)
START, HOUR = datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1)
WHOLE, FIRST, SECOND = (Window(START + first * HOUR, HOUR, steps) for first, steps in ((0, 6), (0, 3), (3, 3)))
BOUND, EDGES = Bound(step=2_000, window=3_000), np.array([0, 1, 2_500])
OTHERS = [f"home-{i},2013-02-04 {hour:02}:15,{1 + hour / 8}" for i in range(3) for hour in range(6)]
HOMES = ["home-0,0.5,0.5", "home-1,1.5,0.5", "home-2,0.5,0.5", "one,0.5,0.5"]

minutes = st.integers(0, 6 * 60 - 1)
readings = st.lists(st.tuples(minutes, st.sampled_from(["0", "0.4", "1.5", "1e300", "-1", "nan", ""])), max_size=12)
BORDERS = [(0, "1e300"), (179, "1.5"), (179, "1.4"), (180, "1e300"), (359, "0")]


@settings(max_examples=EXAMPLES)
@given(rows=readings)
@example(rows=BORDERS)
def test_without_its_readings_of_a_window_a_household_is_as_if_removed_there_and_as_before_elsewhere(
    tmp_path_factory: Any, rows: list[tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("windows")
    text = {minute: f"2013-02-04 {minute // 60:02}:{minute % 60:02}" for minute, _ in rows}
    of_one = [(minute, f"one,{text[minute]},{kwh}") for minute, kwh in rows]
    everything, of_the_second, nothing = (
        asked(folder, [line for minute, line in of_one if minute >= since]) for since in (0, 180, 360)
    )
    for answer in ("cube", "counts"):
        np.testing.assert_array_equal(of_the_second[FIRST, answer], nothing[FIRST, answer])
        np.testing.assert_array_equal(of_the_second[SECOND, answer], everything[SECOND, answer])


def asked(folder: Path, lines: list[str]) -> dict[tuple[Window, str], NDArray[np.int64]]:
    """Return what the kernel would be given of both windows."""
    (folder / "r.csv").write_text("\n".join(["household,timestamp,kwh", *OTHERS, *lines]) + "\n")
    (folder / "h.csv").write_text("\n".join(["household,x,y", *HOMES]) + "\n")
    source, _ = ingest(ReadingsTable(str(folder / "r.csv")), HouseholdsTable(str(folder / "h.csv")), GRID, WHOLE)
    cubes = {(window, "cube"): source.bounded_cube(window, BOUND) for window in (FIRST, SECOND)}
    counts = {(window, "counts"): source.count_totals(window, BOUND.step, EDGES) for window in (FIRST, SECOND)}
    source.close()
    return cubes | counts
