"""The ingested source against rules written again in plain Python, and bounds applied by an independent source."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.rules import READING_FAULTS

EXAMPLES = settings.default.max_examples // 4 if settings.default else 25
GRID = Grid(-1, 10, 2, 14, nx=3, ny=2)
START = datetime(1969, 12, 31, 22, tzinfo=UTC)
IDS = ("a", "b", "c", "d", "e")
BAD_ENERGIES = (None, math.nan, math.inf, -math.inf, -1e-300, -1.0)
ENERGIES = (-0.0, 5e-324, 0.0005, 0.0015, 1e6, 1e300)
SPOTS = (-1.0, -0.5, 0.0, 1.0, math.nextafter(2, 0), 2.0, 10.0, 12.0, 13.9, math.nan, math.inf, None)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Window, list[Any], list[Any]]:
    length = draw(st.sampled_from((1, 7, 50, 900, 3600, 86400)))
    window = Window(START, timedelta(seconds=length), draw(st.integers(1, 5)))
    last = length * window.steps
    random = draw(st.randoms(use_true_random=False))
    few = [random.randrange(last) for _ in range(8)]  # so that seconds meet

    def moment() -> tuple[int, int]:
        if random.random() < 0.1:
            return random.choice((-1, 0, length - 1, length, last - 1, last)), 999_999
        return random.choice(few) if random.random() < 0.4 else random.randrange(last), random.choice((0, 1, 999_999))

    def energy() -> float | None:
        odd = random.random()
        return (
            random.choice(BAD_ENERGIES) if odd < 0.1 else random.choice(ENERGIES) if odd < 0.2 else random.uniform(0, 9)
        )

    rows = [
        (
            random.choice(IDS) if random.random() < 0.95 else random.choice(("unknown", "", None)),
            moment() if random.random() < 0.97 else None,
            energy(),
        )
        for _ in range(draw(st.sampled_from((0, 3, 120))))
    ]
    homes = [
        (household, random.choice((-0.5, 0.5, 1.5, math.nextafter(2, 0))), 11.0 + 2 * i % 4)
        for i, household in enumerate(IDS)
    ]
    homes += [
        (random.choice((*IDS, "", None)), random.choice(SPOTS), random.choice((11.0, *SPOTS)))  # type: ignore[misc]  # texts, numbers and none
        for _ in range(random.randrange(4))
    ]
    return window, rows, random.sample(homes, random.randint(4, len(homes)))


def located(homes: list[Any]) -> dict[str, tuple[int, int]]:
    found: dict[str, set[tuple[float, float]]] = {}
    for household, x, y in homes:
        if household and x is not None and y is not None and math.isfinite(x) and math.isfinite(y):
            found.setdefault(household, set()).add((x, y))
    kept = {household: next(iter(at)) for household, at in found.items() if len(at) == 1}
    inside = {household: (x, y) for household, (x, y) in kept.items() if -1 <= x < 2 and 10 <= y < 14}
    return {household: (int(x >= 0) + int(x >= 1), int(y >= 12)) for household, (x, y) in inside.items()}


def judge(row: Any, window: Window, named: set[str], cells: dict[str, Any]) -> int | None:
    household, moment, kwh = row
    rules = (
        not household,
        moment is None,
        moment is not None and not 0 <= moment[0] < window.step.total_seconds() * window.steps,
        kwh is None or not math.isfinite(kwh),
        kwh is not None and kwh < 0,
        household not in named,
        household not in cells,
    )
    return next((index for index, broken in enumerate(rules) if broken), None)


@settings(max_examples=EXAMPLES)
@given(case=tables(), data=st.data())
def test_source_and_report_are_those_of_plain_rules(
    tmp_path_factory: Any, case: tuple[Window, list[Any], list[Any]], data: st.DataObject
) -> None:
    window, rows, homes = case
    folder = tmp_path_factory.mktemp("tables")
    source, report = ingest(*write(folder, rows, homes), GRID, window)

    cells, named = located(homes), {household for household, _, _ in homes if household}
    faults = Counter(judge(row, window, named, cells) for row in rows)
    good = [row for row in rows if judge(row, window, named, cells) is None]
    smallest: dict[tuple[str, int], int] = {}
    for household, (second, _), kwh in good:
        wh = math.floor(min(1000.0 * kwh, 1e9) + 0.5)
        smallest[household, second] = min(wh, smallest.get((household, second), wh))
    order = sorted(cells)
    readings = np.zeros((len(order), window.steps), dtype=np.int64)
    heard = np.zeros(readings.shape, dtype=bool)
    for (household, second), wh in smallest.items():
        place = order.index(household), second // int(window.step.total_seconds())
        readings[place] += wh
        heard[place] = True
    where = np.array([cells[household] for household in order], dtype=np.int64).reshape(-1, 2)
    oracle = ArraySource(GRID, window, where, readings)

    told = {fault.code: fault.count for fault in report.faults if fault.table == "readings"}
    expected = {READING_FAULTS[index]: count for index, count in faults.items() if index is not None}
    over, again = sum(1000.0 * kwh > 1e9 for _, _, kwh in good), len(good) - len(smallest)
    expected |= {"energy-too-large": over} if over else {}
    expected |= {"reading-duplicate": again} if again else {}
    assert (told, report.readings, report.households) == (expected, len(rows), len(cells))

    tight = Bound(data.draw(st.integers(1, 30_000)), data.draw(st.integers(1, 60_000)))
    for bound in (Bound(step=10**7, window=10**8), tight):
        first = data.draw(st.integers(0, window.steps - 1))
        part = Window(window.start + first * window.step, window.step, data.draw(st.integers(1, window.steps - first)))
        np.testing.assert_array_equal(source.bounded_cube(part, bound), oracle.bounded_cube(part, bound))
        edges = np.array(sorted(data.draw(st.sets(st.integers(-1, 100_000), min_size=1, max_size=4))))
        present = heard[:, first : first + part.steps].any(axis=1)
        counted = ArraySource(GRID, window, where[present], readings[present]).count_totals(part, bound.step, edges)
        np.testing.assert_array_equal(source.count_totals(part, bound.step, edges), counted)


def write(folder: Path, rows: list[Any], homes: list[Any]) -> tuple[ReadingsTable, HouseholdsTable]:
    origin = START.replace(tzinfo=None)
    moments = [moment and origin + timedelta(seconds=moment[0], microseconds=moment[1]) for _, moment, _ in rows]
    columns = {
        "household": pa.array([row[0] for row in rows], pa.string()),
        "timestamp": pa.array(moments, pa.timestamp("us")),
        "kwh": pa.array([row[2] for row in rows], pa.float64()),
    }
    pq.write_table(pa.table(columns), folder / "readings.parquet")
    names = ("household", pa.string()), ("x", pa.float64()), ("y", pa.float64())
    places = {name: pa.array([home[i] for home in homes], kind) for i, (name, kind) in enumerate(names)}
    pq.write_table(pa.table(places), folder / "households.parquet")
    return ReadingsTable(str(folder / "readings.parquet")), HouseholdsTable(str(folder / "households.parquet"))
