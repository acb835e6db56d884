"""CSV: what a line may hold, and that it speaks for itself only."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError, UsageError
from gridveil.trusted.engines.duckdb.csv_table import BLOCK, MAX_LINE_BYTES, LineStream, read_first_line

HEADER = b"household,timestamp,kwh\n"
A, B = b"a,2013-02-04 00:00,1\n", b"b,2013-02-04 01:00,2\n"
BOTH = {(0, 0, 0): 1000, (1, 1, 1): 2000}


@pytest.mark.parametrize(
    "line",
    [
        b'"a,2013-02-04 00:00,1"',
        b"a,2013-02-04 00:00",
        b"a,2013-02-04 00:00,0,5",
        b"\xff\xfe,2013-02-04 00:00,1",
        b"a,2013-02-04 00:00,1\xc3",
        "a\ufffd,2013-02-04 00:00,1".encode(),
        b"a,2013-02-04 00:00," + b"1" * MAX_LINE_BYTES,
        b"a" * (3 * BLOCK),
        b"#",
        b" , ",
    ],
    ids=lambda line: repr(line[:20]),
)
@pytest.mark.parametrize("order", [0, 1])
def test_an_unreadable_line_is_counted_and_changes_no_other(ask: Any, line: bytes, order: int) -> None:
    lines = [A, B]
    lines.insert(order, line + b"\n")
    cube, report = ask(HEADER + b"".join(lines))
    assert cube == BOTH
    assert [(f.code, f.count) for f in report.faults] == [("reading-without-household", 1)]
    assert report.readings == 3


def test_a_quotation_mark_without_its_partner_is_a_plain_character(ask: Any) -> None:
    cube, report = ask(HEADER + b'"a,2013-02-04 00:00,1\n' + A + b'b,2013-02-04 01:00,"2\n' + B)
    assert cube == BOTH
    assert [(f.count, f.example) for f in report.faults] == [(1, "b"), (1, '"a')]


@pytest.mark.parametrize(
    "text",
    [
        HEADER + A + B[:-1],
        b"\xef\xbb\xbf" + HEADER + A + B,
        (HEADER + A + B).replace(b"\n", b"\r\n"),
        HEADER + b"\n" + A + b"\r\n \n" + B + b"\n\n",
        b'"household" , "timestamp","kwh"\r\n "a","2013-02-04 00:00", "1" \n' + B,
        b'kwh,note,household,timestamp\n1,"x,""y"", z",a,2013-02-04 00:00\n2,,b ,2013-02-04 01:00\n',
    ],
)
def test_ways_to_write_the_same_table(ask: Any, text: bytes) -> None:
    cube, report = ask(text)
    assert cube == BOTH
    assert not report.faults


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_delimiters(ask: Any, delimiter: str) -> None:
    text = (b"note," + HEADER + b"," + A + b"," + B).replace(b",", delimiter.encode())
    assert ask(text, delimiter=delimiter)[0] == BOTH


@pytest.mark.parametrize("delimiter", ["", ", ", "x", "\n"])
def test_other_delimiters_are_refused(ask: Any, delimiter: str) -> None:
    with pytest.raises(UsageError, check=has_code("delimiter-unknown")):
        ask(HEADER, delimiter=delimiter)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\n" + HEADER,
        b"household,kwh,household\n",
        b"household;timestamp;kwh\n",
        HEADER.replace(b"\n", b"\r") + A,
        b"x" * (2 * MAX_LINE_BYTES),
        b"household,,kwh\n",
        bytes(range(256)),
    ],
    ids=lambda header: repr(header[:20]),
)
def test_a_header_that_names_no_columns_is_refused(ask: Any, header: bytes) -> None:
    with pytest.raises(InputError, check=has_code("csv-header", "readings.csv")) as error:
        ask(header)
    assert len(str(error.value)) < 600


def test_compressed_files(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(HEADER + A + B))
    assert ask(path)[0] == BOTH
    path.write_bytes(gzip.compress(HEADER + A * 1000)[:-9])
    with pytest.raises(InputError, check=has_code("table-unreadable", "r.csv.gz")):
        ask(path)


def test_lines_are_the_same_wherever_blocks_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    text = b"header\r\n" + b"\n".join([b"one", b"", b"x" * 40, b"t\xc3\xa9", b"\xff", b"\r", b"last"])
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    monkeypatch.setattr("gridveil.trusted.engines.duckdb.csv_table.MAX_LINE_BYTES", 30)
    for block in range(1, len(text) + 2):
        monkeypatch.setattr("gridveil.trusted.engines.duckdb.csv_table.BLOCK", block)
        lines = pa.RecordBatchReader.from_stream(LineStream((str(path),))).read_all()["line"].to_pylist()
        assert lines == ["one", "", None, "té", None, "", "last"]
        assert read_first_line(str(path)) == "header"
