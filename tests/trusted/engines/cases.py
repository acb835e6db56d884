"""Tables that every engine must read alike: clean ones, and ones with every poison that we know of.

Each case packs many rows into one table, because a question to an engine costs seconds whatever its size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest

GRID = Grid(-1, 10, 2, 14, nx=3, ny=2)
START = datetime(2013, 3, 31, tzinfo=UTC)  # Berlin's clock goes forward at 01:00 UTC
WINDOW = Window(START, timedelta(hours=1), 6)
ORIGIN = int(START.timestamp())
BOUNDS = (Bound(step=10**7, window=10**8), Bound(step=1_700, window=2_900))
EDGES = np.array([-1, 0, 1, 1_000, 2_500, 50_000])

GOOD = [f"home-{index}" for index in range(8)]
"""Households whose places are fine."""

BELOW = math.nextafter(2, 0)
PLACES: list[tuple[Any, Any, Any]] = [
    *((home, -0.75 + 0.37 * index, 10.5 + 0.45 * index) for index, home in enumerate(GOOD)),
    ("west edge", -1.0, 10.0),
    ("just inside", BELOW, math.nextafter(14, 0)),
    ("inner edge", 0.0, 12.0),
    ("east edge", 2.0, 10.0),
    ("twice", 0.5, 11.0),
    ("twice", 0.5, 11.0),
    ("twice", math.nan, 11.0),
    ("minus zero", -0.0, 11.0),
    ("minus zero", 0.0, 11.0),
    ("two places", 0.0, 11.0),
    ("two places", 0.0, math.nextafter(11, 0)),
    ("far away", 1e300, -1e300),
    *(("nowhere", x, 11.0) for x in (math.inf, -math.inf, math.nan, None)),
    (None, 0.5, 11.0),
    ("", 0.5, 11.0),
    ("trailing", 0.5, 11.0),
    ("trailing ", 1.5, 11.0),
    ("Case", 0.5, 13.0),
    ("case", 1.5, 13.0),
    ("äpfel", 0.5, 13.0),
    ("a\u0308pfel", 1.5, 13.0),  # the same letters, composed otherwise
    ("straße", -0.5, 13.0),
    ("STRASSE", 0.5, 13.0),
]
KNOWN = [str(home) for home in dict.fromkeys(home for home, _, _ in PLACES) if home]

NUMBERS = (
    *(None, math.nan, math.inf, -math.inf, -1.0, -1e300, -1e-300, 1e300, 1e6, 1.0000001e6, -0.0, 5e-324),
    *(0.0005, 0.00049999, 0.0015, 0.0025, 0.0035, 2.0005, 0.1, 1.7, math.nextafter(0.0005, 0), 9e15),
)
TEXTS_OF_NUMBERS = (
    *(None, "", " ", "1.5", " 1.5 ", "+.5e1", "5.", "-1", "1e400", "-1e400", "1e-400", "nan", "NaN", "inf", "Infinity"),
    *("-inf", "1_000", "1,5", "0x10", "1.5d", "1.5f", "1.5\n", "1.5\r", "\t1.5", "1.5\u0085", "1.5\u2028", "1.5\x0b"),
    *(
        "x",
        "1e",
        "--1",
        "1 5",
        "\uff19",
        "\u0663",
        "0.00049999999999999999",
        "0.0005",
        "1" * 400,
        "0." + "3" * 400,
        "1;2",
        "'",
    ),
)
TEXTS_OF_TIMES = (
    *(
        None,
        "",
        "2013-03-31",
        " 2013-03-31 01:00 ",
        "2013-03-31T01:30",
        "2013-03-31 02:30",
        "2013-03-31 03:59:59.9999999",
    ),
    *("2013-03-31 01:00:00Z", "2013-03-31 01:00:00z", "2013-03-31 03:00:00+02:00", "2013-03-31 03:00:00.5+0200"),
    *(
        "2013-03-30T23:00:00-02",
        "2013-03-31 04:30+0130",
        "2013-03-30 24:00:00",
        "2013-03-30 24:00",
        "2013-03-31 24:00:01",
    ),
    *("2013-03-30 24:00:00Z", "2013-03-30 24:30", "2013-03-31 01:60", "2013-03-31 01:00:60", "2013-03-31 01:00:61"),
    *("2013-02-29 01:00", "2013-02-30", "2013-13-01", "2013-00-10", "0000-01-01", "0001-01-01 00:00:00", "9999-12-31"),
    *("9999-12-31 23:59:59+00:00", "0000-00-00 00:00:00", "2013-03-31 25:00", "2013-03-31 01:00+19:59"),
    *("2013-03-31 01:00:00+18:00", "2013-03-30 20:00:00-14:00", "2013-03-31 01:00:00-19", "2013-03-31 01:00\n"),
    *("epoch", "infinity", "-infinity", "now", "today", "x", "Z", "20130331", "1364688000", "2013/03/31 01:00"),
    *("2013-3-31 1:00", "2013-03-31T01", "2013-03-31Z", "2013-03-31 01:00 UTC", "2013-03-31 01:00:00 Europe/London"),
    *("2013-03-31 01:00:00+99:99", "2013-03-31t01:00", "\u0662\u0660\u0661\u0663-03-31", "+2013-03-31", "12013-03-31"),
    *(
        "2013-03-31 01:00:00.",
        "2013-03-31 01:00:00,5",
        "2013-03-31  01:00",
        "2013-03-31 03:15:00.123456789012345678901",
    ),
)
EXTREMES = (0, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, -(2**63) + 2, 2**62, -(2**62), -1, 1)
EXTREME_DAYS = (
    0,
    2**31 - 1,
    -(2**31),
    -(2**31) + 1,
    2**30,
    -(2**30),
    106_751_991,
    106_751_992,
    -106_751_991,
    -106_751_992,
)
UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Case:
    """Two tables, and what the publisher says about them."""

    name: str
    readings: pa.Table
    households: pa.Table
    options: dict[str, Any] = field(default_factory=dict)


def households(places: list[tuple[Any, Any, Any]] = PLACES) -> pa.Table:
    kinds = ("household", pa.string()), ("x", pa.float64()), ("y", pa.float64())
    return pa.table({name: pa.array([place[i] for place in places], kind) for i, (name, kind) in enumerate(kinds)})


def clean(seed: int = 0, rows: int = 600) -> Case:
    """Half-hours of known homes, each at most once; with zone."""
    random = np.random.default_rng(seed)
    drawn = random.choice(len(GOOD) * 14, min(rows, len(GOOD) * 14), replace=False)
    moments = pa.array((ORIGIN - 1800 + 1800 * (drawn % 14)) * 10**6, pa.int64()).cast(pa.timestamp("us", "UTC"))
    kwh = random.gamma(1, 1, len(drawn)).round(3)
    table = pa.table({"household": [GOOD[i] for i in drawn // 14], "timestamp": moments, "kwh": kwh})
    return Case("clean", table, households())


def _rows(moments: pa.Array, energies: pa.Array, usual: int) -> pa.Table:
    """Combine: every odd moment with a fine energy, every odd energy at a fine moment, every home at a fine moment.

    `usual` is the first of the moments that are fine; there are at least 24 of them.
    """
    picks: list[tuple[Any, int, int]] = []  # home, index of the moment, index of the energy
    fine_energy = len(energies) - 1  # the last one is fine
    picks += [(GOOD[i % 8], i, fine_energy) for i in range(len(moments))]
    picks += [(GOOD[i % 8], usual + i % 24, i) for i in range(len(energies))]
    picks += [(home, usual + i % 24, fine_energy) for i, home in enumerate([*KNOWN, "unknown", "", None, "home-1 "])]
    picks += [(GOOD[0], usual + 3, i) for i in range(len(energies))]  # many at the same second: the smallest counts
    picks += [(GOOD[1], usual + 5, fine_energy)] * 3
    households, where, what = zip(*picks, strict=True)
    return pa.table(
        {
            "household": pa.array(households, pa.string()),
            "timestamp": moments.take(pa.array(where)),
            "kwh": energies.take(pa.array(what)),
        }
    )


def instants(unit: str, zone: str | None) -> tuple[pa.Array, int]:
    """Every quarter of an hour in and around the window, with fractions of a second, and the ends of time.

    Without zone they are meant by Berlin's clock, two hours ahead.
    """
    per = UNITS[unit]
    around = [(ORIGIN + 900 * i) * per + (per - 1) * (i % 2) for i in range(-9, 46)]
    return pa.array([*EXTREMES, *around], pa.int64()).cast(pa.timestamp(unit, zone)), len(EXTREMES) + (
        9 if zone else 17
    )


def days() -> tuple[pa.Array, int]:
    fine = [ORIGIN // 86400] * 24
    return pa.array([*EXTREME_DAYS, fine[0] - 1, fine[0] + 1, *fine], pa.int32()).cast(pa.date32()), len(
        EXTREME_DAYS
    ) + 2


def texts() -> tuple[pa.Array, int]:
    fine = [(START + timedelta(hours=2, minutes=10 * i)).strftime("%Y-%m-%d %H:%M:%S") for i in range(24)]
    return pa.array([*TEXTS_OF_TIMES, *fine], pa.string()), len(TEXTS_OF_TIMES)


def poisoned() -> list[Case]:
    """One case for each type of timestamps, each with another type of energies."""
    double = pa.array([*NUMBERS, 1.25], pa.float64())
    text = pa.array([*TEXTS_OF_NUMBERS, "1.25"], pa.string())
    single = pa.array(
        [number for number in (*NUMBERS, 1.25) if number is None or not 1e38 < abs(number) < math.inf], pa.float32()
    )
    decimal = pa.array([None, "0.0005", "0.0015", "-0.0005", "999999999.9999", "1.2500"]).cast(pa.decimal128(13, 4))
    whole = pa.array([None, -1, 0, 2**63 - 1, -(2**63), 10**9, 10**9 + 1, 3], pa.int64())
    berlin = {"timezone": "Europe/Berlin"}
    return [
        Case("us, double", _rows(*_with(instants("us", None), double)), households(), berlin),
        Case("us with zone, text", _rows(*_with(instants("us", "UTC"), text)), households(), {"timestamps": "end"}),
        Case("ns, single", _rows(*_with(instants("ns", None), single)), households(), berlin),
        Case("ns with zone, decimal", _rows(*_with(instants("ns", "Asia/Tokyo"), decimal)), households()),
        Case("ms, whole Wh", _rows(*_with(instants("ms", None), whole)), households(), {**berlin, "unit": "Wh"}),
        Case(
            "ms with zone, kW",
            _rows(*_with(instants("ms", "UTC"), double)),
            households(),
            {"unit": "kW", "interval": 900},
        ),
        Case("days, double", _rows(*_with(days(), double)), households()),
        Case("text, text", _rows(*_with(texts(), text)), households(), berlin),
    ]


def _with(moments: tuple[pa.Array, int], energies: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    return moments[0], energies, moments[1]


def write(case: Case, folder: Path, parts: int = 1, seed: int = 0) -> tuple[ReadingsTable, HouseholdsTable]:
    """Write a case to Parquet: the readings in several files and another order, unless it is one part."""
    order = np.arange(len(case.readings)) if parts == 1 else np.random.default_rng(seed).permutation(len(case.readings))
    folder.mkdir(parents=True, exist_ok=True)
    for index, part in enumerate(np.array_split(order, parts)):
        pq.write_table(case.readings.take(part), folder / f"readings-{index}.parquet", row_group_size=100)
    pq.write_table(case.households, folder / "households.parquet")
    readings = ReadingsTable(str(folder / "readings-*.parquet"), **case.options)
    return readings, HouseholdsTable(str(folder / "households.parquet"))


def asked(tables: tuple[ReadingsTable, HouseholdsTable], settings: EngineSettings) -> tuple[dict[str, Any], Any]:
    """Return what a source answers to all questions that there are, and the report: equal on every engine."""
    source, report = ingest(*tables, GRID, WINDOW, settings)
    later = Window(START + 2 * WINDOW.step, WINDOW.step, 3)
    loose, tight = BOUNDS
    arrays = {
        "loose": source.bounded_cube(WINDOW, loose),
        "tight": source.bounded_cube(later, tight, rows=slice(1, 3)),
        "counts": source.count_totals(WINDOW, loose.step, EDGES),
    }
    assert all(array.dtype == np.int64 for array in arrays.values())
    source.close()
    return {name: array.tolist() for name, array in arrays.items()}, report
