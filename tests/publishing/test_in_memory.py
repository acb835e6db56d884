"""Tables in memory: the same cube as from a file, and no trace of them elsewhere."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code
from tests.leak import town

import gridveil
from gridveil.publishing.in_memory import spec_with_tables
from gridveil.publishing.plan import Plan

LARGEST = 2**63 - 1


class Streamed:
    """A DataFrame of another library, such as polars: it has Arrow's interface and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        views = [(field.name, pa.string_view() if field.type == pa.string() else field.type) for field in table.schema]
        self.table = table.cast(pa.schema(views))

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.table.__arrow_c_stream__(schema)


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "batches": lambda table: table.to_reader(7),
    "pandas": lambda table: table.to_pandas(),
    "categories": lambda table: table.to_pandas().astype({"household": "category"}),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
    "stream": Streamed,
}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[pa.Table, pa.Table]:
    """Tables with rows of every fault."""
    homes, rows = town.town()
    bad = [{**rows[50], "kwh": kwh} for kwh in (float("nan"), float("inf"), -1.0, 1e300, None)]
    none = [{**rows[51], "timestamp": None}, {**rows[52], "household": None}, {**rows[53], "household": "nobody"}]
    town.write(tmp_path / "a", [*homes, {**homes[3], "x": 0.1}], [*rows, *bad, *none, *rows[90:99]])
    monkeypatch.chdir(tmp_path / "a")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return pq.read_table("readings.parquet"), pq.read_table("households.parquet")


def cube(**tables: Any) -> tuple[Any, gridveil.Report]:
    with spec_with_tables({**town.settings("even"), **tables}) as spec:
        source, report = Plan.of(spec).ingest()
        try:
            return source.bounded_cube(spec.to_window(), spec.to_bound()), report
        finally:
            source.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_cube_is_that_of_a_file(kind: str, tables: tuple[pa.Table, pa.Table], tmp_path: Path) -> None:
    expected, report = cube()
    assert expected.any()
    readings, households = map(KINDS[kind], tables)
    found, told = cube(readings=readings, households=households)
    np.testing.assert_array_equal(found, expected)
    assert told == report
    assert not list(tmp_path.glob("gridveil-run-*"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", None])
def test_moments_of_any_unit(unit: str, zone: str | None, tables: tuple[pa.Table, pa.Table]) -> None:
    expected, _ = cube()
    times = tables[0]["timestamp"].cast(pa.timestamp(unit, zone))
    far = pa.scalar(LARGEST, pa.timestamp(unit, zone))
    moments = pa.chunked_array([*times.chunks, pa.array([far])])
    rows = pa.concat_tables([tables[0], tables[0].slice(0, 1)]).set_column(1, "timestamp", moments)
    found, _ = cube(readings=rows)
    np.testing.assert_array_equal(found, expected)


def test_settings_of_a_table_in_memory(tables: tuple[pa.Table, pa.Table]) -> None:
    expected, _ = cube()
    readings = {"table": tables[0].rename_columns(["meter", "at", "used"])}
    found, _ = cube(readings={**readings, "household": "meter", "timestamp": "at", "energy": "used"})
    np.testing.assert_array_equal(found, expected)


def test_a_release_does_not_tell_where_its_tables_were(tables: tuple[pa.Table, pa.Table], tmp_path: Path) -> None:
    settings = {**town.settings("even"), "readings": tables[0], "households": tables[1].to_pandas()}
    assert gridveil.check(**settings) == gridveil.check(**town.settings("even"))
    assert gridveil.plan(seconds=1e-9, expect=20, **settings).households == 20
    published = gridveil.publish(**settings)
    told = [path.read_bytes() for path in Path("release").iterdir()]
    assert not any(b"gridveil-run" in one or str(tmp_path).encode() in one for one in told)
    assert "parquet" not in str(published)
    assert not list(tmp_path.glob("gridveil-run-*"))


CANARY = "canary-71"
FRAME = pd.DataFrame({"household": [CANARY], "timestamp": ["2013-02-04T00:00"], "kwh": [71.717]})


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"engine": "spark"}, gridveil.UsageError, ("memory-table-engine", "readings", "spark")),
        (
            {"engine": "postgres", "database": "postgresql://nowhere/db"},
            gridveil.UsageError,
            ("memory-table-engine", "readings", "postgres"),
        ),
        ({"scratch": Path("scratch")}, gridveil.UsageError, ("memory-table-scratch",)),
        ({"epsilom": 3}, gridveil.UsageError, ("settings-invalid", "epsilom", "epsilon?")),
        ({"readings": FRAME.kwh}, gridveil.InputError, ("memory-table-unreadable", "readings")),
        (
            {"readings": FRAME.drop(columns="kwh")},
            gridveil.InputError,
            ("column-missing", "kwh", "household, timestamp"),
        ),
        ({"readings": FRAME.assign(kwh=[[71.717]])}, gridveil.InputError, ("column-type", "kwh")),  # type: ignore[list-item]  # wrong on purpose
        (
            {"readings": pd.concat([FRAME, FRAME.assign(kwh=CANARY)])},
            gridveil.InputError,
            ("memory-table-unreadable", "readings", "ArrowInvalid; its words may hold rows"),
        ),
        (
            {"readings": FRAME.to_dict("records")},
            gridveil.UsageError,
            ("settings-invalid", "readings", "given: a list"),
        ),
    ],
)
@pytest.mark.parametrize("function", [gridveil.publish, gridveil.check])
def test_what_is_refused_shows_no_row(
    function: Callable[..., object],
    settings: dict[str, Any],
    error: type[gridveil.GridveilError],
    told: tuple[str, ...],
    tmp_path: Path,
) -> None:
    with pytest.raises(error, check=has_code(*told)) as refused:
        function(**{**town.settings("even"), "readings": FRAME, **settings})
    assert not re.search(r"canary|71\.?71", "".join(traceback.format_exception(refused.value)))
    assert not Path("release").exists()
    assert not list(tmp_path.glob("gridveil-run-*"))


def test_a_relation_that_fails_on_a_row_shows_no_row() -> None:
    told = has_code("memory-table-unreadable", "readings", "ConversionException; its words may hold rows")
    with duckdb.connect() as con:
        relation = con.sql("SELECT CAST(v AS INT) AS kwh FROM (VALUES (concat('canary', '-71'))) t(v)")
        with pytest.raises(gridveil.InputError, check=told) as refused:
            gridveil.check(**{**town.settings("even"), "readings": relation})
    assert "canary-71" not in "".join(traceback.format_exception(refused.value))


def test_an_error_says_which_table_a_file_was() -> None:
    with pytest.raises(gridveil.InputError) as refused:
        gridveil.check(**{**town.settings("even"), "readings": FRAME.drop(columns="kwh")})
    assert refused.value.__notes__[0].endswith("readings.parquet is the table in memory that was given as readings.")
