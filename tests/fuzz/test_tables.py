"""Tables with damaged bytes: read, row by row, or refused as a whole; never another error, and no row in the words."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.oracle import refusal

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"  # looks for new examples; else they are the same in every run
SECRET = "secret-household"  # noqa: S105  # a name that must not be seen
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
GRID = Grid(0, 0, 2, 2, 2, 2)
ROWS = [(SECRET, f"2013-02-04 0{hour}:00:00", 0.125 * hour) for hour in range(4)]
DAMAGE = st.lists(st.tuples(st.integers(0, 2**16), st.binary(min_size=1, max_size=4)), min_size=1, max_size=6)


def originals() -> dict[str, bytes]:
    """Return the bytes of the same readings in all kinds of file."""
    import tempfile

    columns = dict(zip(("household", "timestamp", "kwh"), map(list, zip(*ROWS, strict=True)), strict=True))
    text = "household,timestamp,kwh\n" + "".join(f"{home},{at},{kwh}\n" for home, at, kwh in ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        pq.write_table(pa.table(columns), path / "r.parquet")
        with duckdb.connect(str(path / "r.duckdb")) as con:
            con.execute("CREATE TABLE readings (household VARCHAR, timestamp VARCHAR, kwh DOUBLE)")
            con.executemany("INSERT INTO readings VALUES (?, ?, ?)", ROWS)
        kinds = {kind: (path / f"r.{kind}").read_bytes() for kind in ("parquet", "duckdb")}
    return {"csv": text.encode(), "csv.gz": gzip.compress(text.encode()), **kinds}


ORIGINALS = originals()


@pytest.mark.parametrize("kind", ORIGINALS)
@given(damage=DAMAGE, kept=st.integers(1, 2**16) | st.none())
@settings(max_examples=500 if LONG else 15, derandomize=not LONG, suppress_health_check=list(HealthCheck))
def test_damaged_tables(tmp_path: Path, kind: str, damage: list[tuple[int, bytes]], kept: int | None) -> None:
    data = bytearray(ORIGINALS[kind])
    for place, piece in damage:
        start = place % len(data)
        data[start : start + len(piece)] = piece
    path, homes = tmp_path / f"readings.{kind}", tmp_path / "households.csv"
    path.write_bytes(bytes(data if kept is None else data[:kept]))
    homes.write_text(f"household,x,y\n{SECRET},0.5,0.5\n", encoding="utf-8")
    table = ReadingsTable(str(path), table="readings" if kind == "duckdb" else None)

    def read() -> None:
        source, _ = ingest(table, HouseholdsTable(str(homes)), GRID, WINDOW)
        source.bounded_cube(WINDOW, Bound(1000, 4000))

    said = refusal(read)
    assert said is None or SECRET not in said
