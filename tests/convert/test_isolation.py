"""A line speaks for itself: whatever one holds, the readings of other households stay the same."""

from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.convert.lcl import Lcl
from gridveil.trusted.engines.duckdb.csv_table import to_batch

LCL = b"LCLid,stdorToU,DateTime,KWH/hh (per half hour) \r\n"
STRAY = [
    b'"',
    b'"1392 19503 0.14',
    b'MAC000003,"Std,2012-10-12 00:30:00.0000000, 1 ',
    b"MAC000003,Std,2012-10-12 00:30:00.0000000, 1 \r",
    b"MAC000003,Std,2012-10-12 00:30:00.0000000\r, 1 ",
    b"\r\r\r",
    b"MAC000003\x00,Std,2012-10-12 00:30:00.0000000, 1 ",
    b"\x00" * 100,
    b"MAC000003,Std,2012-10-12 00:30:00.0000000, 1 " + b" " * 2**20,
    b"y" * (3 * 2**20),
    b"\xff\xfe\xc3",
    "MAC000003\ufffd,Std".encode(),
    b"\\",
    b"#,,,,",
    b",,,",
    b"MAC000003,ToU,2012-10-12 00:30:00.0000000,-1e308",
    b"=cmd|' /C calc'!A0,Std,2012-10-12 00:30:00.0000000, 1 ",
]


@pytest.mark.parametrize("stray", STRAY, ids=lambda stray: repr(stray[:50]))
@pytest.mark.parametrize("end", [b"\r\n", b"\n"], ids=["crlf", "lf"])
def test_lcl(load: Any, stray: bytes, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b"MAC000002,Std,2012-10-12 %02d:30:00.0000000, %d " % (hour, hour) for hour in range(20)]
    expected = [("MAC000002", f"2012-10-12T{hour:02}:00", float(hour)) for hour in range(20)]
    text = LCL + end.join([*lines[:7], stray, *lines[7:]]) + end
    for number, block in enumerate((8 * 2**20, 211 if len(stray) < 2**10 else 2**17)):
        monkeypatch.setattr("gridveil.trusted.engines.duckdb.csv_table.BLOCK", block)
        found, done = load("lcl", small=text, out=f"out{number}")
        assert [row for row in found if row[0] == "MAC000002"] == expected
        assert {row[0] for row in found} <= {"MAC000002", "MAC000003"}
        lines_left_out = sum(count for (unit, _), count in done.left_out.items() if unit == "lines")
        assert done.lines == done.written + lines_left_out  # every line is accounted for


@pytest.mark.parametrize("stray", STRAY, ids=lambda stray: repr(stray[:50]))
def test_cer(load: Any, stray: bytes) -> None:
    lines = [b"1392 195%02d 0.%d" % (half, half) for half in range(1, 49)]
    found, done = load("cer", File1=b"\n".join([stray, *lines[:9], stray, *lines[9:], stray]))
    assert [kwh for name, _, kwh in found if name == "1392"] == [float(f"0.{half}") for half in range(1, 49)]
    assert done.lines == done.written + sum(done.left_out.values())


def test_order_of_lines_and_cores_do_not_matter(load: Any) -> None:
    lines = [b"%d 195%02d 0.%d\n" % (meter, half, half) for meter in range(1000, 1200) for half in range(1, 49)]
    forward, _ = load("cer", File1=b"".join(lines), out="forward")
    backward, _ = load("cer", File1=b"".join(reversed(lines)), out="backward")
    assert sorted(forward) == sorted(backward)
    assert len(forward) == 9600


@settings(max_examples=50)
@given(
    st.lists(st.one_of(st.binary(max_size=60), st.text("MAC0123456789,:-. \"'\r\x00;\ufffd", max_size=60)), max_size=5)
)
def test_whatever_a_line_holds(strays: list[bytes | str]) -> None:
    others = [stray.encode() if isinstance(stray, str) else stray for stray in strays]
    good = [b"HOME,Std,2012-10-12 %02d:30:00.0000000, %d " % (hour, hour) for hour in range(6)]
    mixed = [line for pair in zip(good, [*others, *[b""] * 6], strict=False) for line in pair]
    with duckdb.connect() as con:
        loader = Lcl(con)
        loader.layout([LCL.decode().strip()])
        table = next(loader.read(to_batch(b"\r\n".join(line.replace(b"\n", b"") for line in mixed) + b"\n")))
    assert [row["kwh"] for row in table.to_pylist() if row["household"] == "HOME"] == list(range(6))
