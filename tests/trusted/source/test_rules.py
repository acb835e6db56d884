"""Rows that count and rows that do not, time by time and place by place."""

import math
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window

HOUR = timedelta(hours=1)


def at(*times: str) -> dict[str, Any]:
    return {"household": ["a"] * len(times), "timestamp": list(times), "kwh": [1.0] * len(times)}


@pytest.mark.parametrize(
    "text",
    [
        *("epoch", "infinity", "-infinity", "now", "today", "", "x", "Z", "20130204", "1359936000", "2013-02-30"),
        *("2013/02/04 00:00", "2013-2-4 0:00", "2013-02-04T00", "2013-02-04 00:00:61", "2013-02-04Z"),
        *("2013-02-04 00:00 UTC", "2013-02-04 00:00:00 Europe/London", "2013-02-04 00:00:00+99:99"),
    ],
)
def test_text_that_is_no_timestamp(ask: Any, text: str) -> None:
    cube, report = ask(at(text))
    assert not cube
    assert [(f.code, f.count, f.example) for f in report.faults] == [("timestamp-unreadable", 1, "a")]


def test_what_is_unreadable_is_shown_beside_what_is_readable(ask: Any) -> None:
    _, report = ask(b"household,timestamp,kwh\na,04/02/2013 01:00,1\nb,2013-02-04 01:00,\nb,2013-02-04 02:00,\x1b0.5\n")
    when, energy = report.hints
    assert "unreadable: there is '04/02/2013 01:00'; write 2013-02-04 00:30:00, year first" in when
    assert "not finite: there is '\\x1b0.5'; write 0.5, with a point" in energy
    long = ask(at("4" * 1000))[1].hints[0]
    assert f"there is '{'4' * 40}...'" in long


def test_of_what_is_no_text_it_is_told_what_is_wrong_not_how_to_write_text(ask: Any) -> None:
    (hint,) = ask({**at("2013-02-04", "2013-02-04 01:00"), "kwh": [float("nan"), 1.0]})[1].hints
    assert hint == ("Energy missing, unreadable or not finite: there is none (empty or null), or it is NaN or infinite")
    (hint,) = ask({**at(""), "timestamp": pa.array([None], pa.timestamp("us"))})[1].hints
    assert hint.startswith("Timestamp missing or unreadable: there is none (empty or null)")


def test_a_place_outside_is_shown_beside_the_extent(ask: Any) -> None:
    grid = Grid(-0.5, 51.0, -0.25, 52.0, 2, 2)
    for x, y, swapped in ((51.5, -0.4, True), (7.0, 51.5, False)):
        homes = {"household": ["a", "b"], "x": [-0.3, x], "y": [51.5, y]}
        (hint,) = ask(at("2013-02-04"), homes, grid=grid)[1].hints
        assert f"one is at x {x:g}, y {y:g}; the extent is x -0.5 to -0.25, y 51 to 52" in hint
        assert ("with x and y swapped it would be inside" in hint) == swapped


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("2013-02-04 01:59:59.999999999", 1),
        ("2013-02-04T02:00", 2),
        ("2013-02-03 24:00:00", 0),
        ("2013-02-04 01:00:00Z", 1),
        ("2013-02-04 03:00:00+02:00", 1),
        ("2013-02-04 03:00:00.5+0200", 1),
        ("2013-02-03T23:00:00-02", 1),
    ],
)
def test_text_that_is_a_timestamp(ask: Any, text: str, step: int) -> None:
    assert ask(at(text))[0] == {(0, 0, step): 1000}


def test_offsets_of_their_own_go_before_the_timezone(ask: Any) -> None:
    cube, _ = ask(at("2013-02-04 01:00:00", "2013-02-04 01:00:00Z"), timezone="Europe/Berlin")
    assert cube == {(0, 0, 0): 1000, (0, 0, 1): 1000}


def test_days_and_extreme_days(ask: Any) -> None:
    table = at("") | {"timestamp": [date(2013, 2, 4)]}
    assert ask(table)[0] == {(0, 0, 0): 1000}
    assert ask(table, timezone="Asia/Tokyo")[0] == {}
    extreme = pa.array([2**31 - 1, -(2**31), 2**30, -(2**30), 15_740], pa.int32()).cast(pa.date32())
    assert ask({"household": ["a"] * 5, "timestamp": extreme, "kwh": [1.0] * 5})[0] == {(0, 0, 0): 1000}


@pytest.mark.parametrize("kind", [pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC")])
def test_extreme_instants(ask: Any, kind: pa.DataType) -> None:
    instants = pa.array([0, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 2**62, -(2**62)], pa.int64()).cast(kind)
    cube, report = ask({"household": ["a"] * 7, "timestamp": instants, "kwh": [1.0] * 7})
    assert not cube
    assert sum(fault.count for fault in report.faults) == 7


@pytest.mark.parametrize("kind", ["s", "ms", "us", "ns"])
def test_extreme_instants_in_a_database(ask: Any, tmp_path: Path, kind: str) -> None:
    good = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind] * 1_359_936_000
    numbers = pa.array([good, 2**63 - 2, -(2**63) + 2, 2**62], pa.int64())
    rows = pa.table({"household": ["a"] * 4, "timestamp": numbers.cast(pa.timestamp(kind)), "kwh": [1.0] * 4})
    path = tmp_path / "town.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("given", rows)
        con.execute("CREATE TABLE r AS SELECT * FROM given")
    assert ask(path, table="r")[0] == {(0, 0, 0): 1000}


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_milliseconds_are_read_as_what_they_are(ask: Any, zone: str | None) -> None:
    instants = pa.array([1_359_936_000_000], pa.int64()).cast(pa.timestamp("ms", zone))
    assert ask({"household": ["a"], "timestamp": instants, "kwh": [1.0]})[0] == {(0, 0, 0): 1000}


def test_the_clock_goes_forward_and_back(ask: Any) -> None:
    spring = Window(datetime(2013, 3, 31, tzinfo=UTC), HOUR, 3)
    cube, report = ask(
        at("2013-03-31 00:30", "2013-03-31 01:30", "2013-03-31 02:15", "2013-03-31 03:30"),
        window=spring,
        timezone="Europe/London",
    )
    assert cube == {(0, 0, 0): 1000, (0, 0, 1): 2000, (0, 0, 2): 1000}  # 01:30 never was: counted on as winter time
    autumn = Window(datetime(2013, 10, 27, tzinfo=UTC), HOUR, 3)
    twice = at("2013-10-27 01:30", "2013-10-27 01:30", "2013-10-27 02:30")
    cube, report = ask(twice, window=autumn, timezone="Europe/London")
    assert cube == {(0, 0, 0): 1000, (0, 0, 2): 1000}  # taken as the first of the two, and so a duplicate
    assert [f.code for f in report.faults] == ["reading-duplicate"]


def test_ends_belong_to_the_step_they_close(ask: Any) -> None:
    ends = at("2013-02-04 00:30", "2013-02-04 01:00", "2013-02-04 04:00", "2013-02-04 00:00")
    cube, report = ask(ends, timestamps="end")
    assert cube == {(0, 0, 0): 2000, (0, 0, 3): 1000}
    assert [(f.code, f.count) for f in report.faults] == [("reading-outside-steps", 1)]


def test_quarter_hours_fill_a_day(ask: Any) -> None:
    quarters = [datetime(2013, 2, 4, tzinfo=UTC) + i * timedelta(minutes=15) for i in range(96)]
    table = {"household": ["a"] * 96, "timestamp": quarters, "kwh": [0.25] * 96}
    cube, report = ask(table, window=Window(quarters[0], timedelta(days=1), 1))
    assert cube == {(0, 0, 0): 24_000}
    assert not report.faults


def test_units(ask: Any) -> None:
    assert ask(at("2013-02-04"), unit="Wh")[0] == {(0, 0, 0): 1}
    assert ask(at("2013-02-04"), unit="kW", interval=1800)[0] == {(0, 0, 0): 500}
    with pytest.raises(UsageError, check=has_code("interval-missing")):
        ask(at("2013-02-04"), unit="kW")


@pytest.mark.parametrize(
    ("kwh", "wh"),
    [(0.0005, 1), (0.00049999, 0), (0.0015, 2), (0.0025, 3), (-0.0, 0), (5e-324, 0), ("1.5", 1500), ("+.5e1", 5000)],
)
def test_halves_round_up(ask: Any, kwh: Any, wh: int) -> None:
    assert ask(at("2013-02-04") | {"kwh": [kwh]})[0].get((0, 0, 0), 0) == wh


@pytest.mark.parametrize("kwh", [None, math.nan, math.inf, "nan", "inf", "1e400", "1,5", "1_000", "0x10", "", "x"])
def test_energy_that_is_no_number_beside_one_that_is(ask: Any, kwh: Any) -> None:
    fine = ["1.0", "2.0"] if isinstance(kwh, str) else [1.0, 2.0]  # statistics of the file then do not show a NaN
    cube, report = ask(at("2013-02-04 00:00", "2013-02-04 01:00", "2013-02-04 02:00") | {"kwh": [kwh, *fine]})
    assert cube == {(0, 0, 1): 1000, (0, 0, 2): 2000}
    assert [(f.code, f.count) for f in report.faults] == [("energy-unreadable", 1)]


def test_places_on_edges_and_in_doubt(ask: Any) -> None:
    below = math.nextafter(2, 0)
    places = {
        "west edge": [(0.0, 0.0)],
        "just inside": [(below, below)],
        "east edge": [(2.0, 0.0)],
        "inner edge": [(1.0, 0.0)],
        "twice": [(0.0, 1.0), (0.0, 1.0), (math.nan, 0.5)],
        "two places": [(0.0, 1.0), (0.0, math.nextafter(1, 0))],
        "two places, too": [(0.0, 1.0), (1.0, 1.0)],
        "nowhere": [(math.inf, 0.0), (None, 0.0)],
    }
    homes = [(name, x, y) for name, spots in places.items() for x, y in spots]
    columns = {name: [home[i] for home in homes] for i, name in enumerate(("household", "x", "y"))}
    rows = at(*["2013-02-04"] * len(places)) | {"household": list(places)}
    cube, report = ask(rows, columns)
    assert cube == {(0, 0, 0): 1000, (1, 1, 0): 1000, (1, 0, 0): 1000, (0, 1, 0): 1000}
    assert [(f.code, f.count, f.example) for f in report.faults] == [
        ("coordinate-unreadable", 3, "nowhere"),
        ("household-two-places", 2, "two places"),
        ("household-outside-extent", 1, "east edge"),
        ("household-duplicate", 1, "twice"),
        ("household-without-place", 4, "east edge"),
    ]


@pytest.mark.parametrize("grid", [Grid(0, 0, 2, 2, 1, 1), Grid(0, 0, 2, 2, 20, 30)])
def test_any_grid(ask: Any, grid: Grid) -> None:
    cube, _ = ask(at("2013-02-04") | {"household": ["b"]}, grid=grid)
    assert cube == {(int(0.75 * grid.nx), int(0.75 * grid.ny), 0): 1000}


def test_a_place_just_below_the_edge_is_in_the_last_cell_even_if_arithmetic_rounds_up(ask: Any) -> None:
    homes = {"household": ["a"], "x": [math.nextafter(2, 0)], "y": [math.nextafter(2, 0)]}
    assert ask(at("2013-02-04"), homes, grid=Grid(-1, -1, 2, 2, 3, 3))[0] == {(2, 2, 0): 1000}


def test_an_extent_too_large_for_arithmetic(ask: Any) -> None:
    with pytest.raises(UsageError, check=has_code("extent-too-large")):
        ask(at("2013-02-04"), grid=Grid(-1.7e308, 0, 1.7e308, 1, 2, 2))
