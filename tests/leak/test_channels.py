"""What reaches whom: of the rows, recipients and readers of an error see nothing; the operator's report may."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.leak import town

from gridveil.cli.main import main
from gridveil.trusted.ledger.book import create_ledger
from gridveil.trusted.ledger.population import Population

CANARY = "canary"
LINE = (
    "publish {readings} --households {households} --extent 0,0,4,4 --grid 4x4 --start 2013-02-04T00:00 --steps 24 "
    "--bound-step 5 --bound-window 40 --epsilon 3 --mechanism even --ledger ledger.db --out release"
)
ROWS = [
    "canary-id-1,2013-02-04 00:00,0.5",
    "canary-id-1,canary-time,0.5",
    "canary-id-1,2013-02-04 01:00,canary-energy",
    "canary-id-2,2013-02-04 01:00,1.0",
    'canary-id-3,"canary, quoted","canary ""energy"""',
    "canary-line-with-too-few-fields",
    "canary-id-4,2013-02-04 02:00,1e400",
]
HOMES = ["canary-id-1,1.5,1.5", "canary-id-2,canary-x,1.5", "canary-id-3,9999,1.5", "canary-id-1,2.5,1.5"]
Publish = Callable[..., tuple[object, str, str]]


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Publish:
    """Run the real command in a folder with canaries, and return exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    write("readings.csv", ["household,timestamp,kwh", *ROWS])
    write("households.csv", ["household,x,y", *HOMES])
    create_ledger("ledger.db").add_population(Population("Borden", Fraction(5)))

    def run(readings: str = "readings.csv", households: str = "households.csv") -> tuple[object, str, str]:
        line = LINE.format(readings=readings, households=households)
        monkeypatch.setattr(sys, "argv", ["gridveil", *line.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, *capfd.readouterr()

    return run


def write(name: str, lines: list[str]) -> str:
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def test_rows_reach_the_operators_report_and_nobody_else(publish: Publish) -> None:
    code, out, err = publish()
    assert code == 0
    assert CANARY in err
    assert CANARY not in out
    files = town.content(Path("release"))
    assert set(files) == {".", "consumption.nc", "label.json", "README.md", "ledger-entry.json", "SHA256SUMS"}
    assert not [name for name, seen in files.items() if CANARY.encode() in seen.content]
    assert CANARY.encode() not in Path("ledger.db").read_bytes()


def parquet(name: str, **columns: pa.Array) -> str:
    pq.write_table(pa.table(columns), name)
    return name


def not_utf8() -> str:
    """Parquet whose text breaks its own rules: the engine quotes the value."""
    ids = pa.array([b"canary-\xff"], pa.binary()).view(pa.string())
    return parquet("bytes.parquet", household=ids, timestamp=pa.array(["2013-02-04"]), kwh=pa.array([1.0]))


def failing_view() -> str:
    """A view that casts what cannot be cast: the engine quotes it."""
    with duckdb.connect("town.duckdb") as con:
        con.execute("CREATE TABLE raw AS SELECT 'canary-id' AS household, '2013-02-04' AS timestamp, 'canary' AS text")
        con.execute("CREATE VIEW readings AS SELECT household, timestamp, CAST(text AS DOUBLE) AS kwh FROM raw")
    return "town.duckdb::readings"


WHOLE_TABLES: dict[str, Callable[[], str]] = {
    "no line with names": lambda: write("bare.csv", ROWS),
    "one field": lambda: write("one.csv", ["canary-id-1;2013-02-04;0.5", *ROWS]),
    "no such column": lambda: write("other.csv", ["meter,timestamp,kwh", *ROWS]),
    "wrong type": lambda: parquet(
        "wrong.parquet", household=pa.array(["canary-id"]), timestamp=pa.array([1]), kwh=pa.array([["canary"]])
    ),
    "not UTF-8": not_utf8,
    "a view that fails": failing_view,
    "no table": lambda: f"{failing_view().partition('::')[0]}::nothing",
    "not Parquet": lambda: write("text.parquet", ROWS),
    "cut gzip": lambda: write("cut.csv.gz", ROWS),
}


@pytest.mark.parametrize("fault", WHOLE_TABLES)
def test_a_fault_of_a_whole_table_quotes_no_row(fault: str, publish: Publish) -> None:
    code, out, err = publish(readings=WHOLE_TABLES[fault]())
    assert code in (2, 3), err
    assert CANARY not in out + err
    assert "Traceback" not in err
    assert not Path("release").exists()
