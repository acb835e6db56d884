"""Ausgrid: a note, 48 columns a day, load in two categories, two ways to write a date, Sydney's clock."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError

NOTE = b"For important notes and definitions refer to the document Solar home half-hour data notes.pdf,,,,,\r\n"
ENDS = [f"{half // 2 % 24}:{half % 2 * 30:02}" for half in range(1, 49)]
KEYS = ["Customer", "Generator Capacity", "Postcode", "Consumption Category", "date"]
HEADER = NOTE + ",".join([*KEYS, *ENDS, "Row Quality"]).encode() + b"\r\n"


def row(
    category: str, date: str = "1-Jul-10", values: list[str] | None = None, customer: str = "1", quality: str = ""
) -> bytes:
    fields = [customer, "3.78", "2076", category, date, *(values or ["0.5"] * 48), quality]
    return ",".join(fields).encode() + b"\r\n"


def test_the_labels_are_those_of_the_official_header() -> None:
    assert ENDS[0] == "0:30"
    assert ENDS[1] == "1:00"
    assert ENDS[-2:] == ["23:30", "0:00"]


def test_rows_as_published(load: Any, tmp_path: Path) -> None:
    gc, cl = [str(i / 8) for i in range(48)], [str(i) for i in range(48)]
    found, done = load("ausgrid", y=HEADER + row("CL", values=cl) + row("GC", values=gc) + row("GG"))
    assert len(found) == 48
    assert min(found) == ("1", "2010-06-30T14:00", 0.0)  # midnight in Sydney, winter: UTC+10
    assert max(found) == ("1", "2010-07-01T13:30", 47 * 1.125)  # the column 0:00
    assert done.left_out == {("lines", "solar generation (GG), which is no consumption"): 1}
    table = pq.read_table(tmp_path / "out" / "attributes.parquet").to_pylist()
    assert table == [{"household": "1", "postcode": "2076", "generator_capacity_kw": "3.78"}]


def test_both_ways_to_write_a_date_day_first(load: Any) -> None:
    found, _ = load("ausgrid", a=HEADER + row("GC", "2-Aug-10"), b=HEADER + row("GC", "3/02/2012"))
    starts = sorted(start for _, start, _ in found)
    assert starts[0] == "2010-08-01T14:00"
    assert starts[48] == "2012-02-02T13:00"  # 3 February in summer: UTC+11


def test_a_customer_without_controlled_load_and_days_that_lack_a_category(load: Any) -> None:
    text = (
        HEADER
        + row("GC", customer="2")
        + row("GC", "1-Jul-10")
        + row("CL", "1-Jul-10")
        + row("GC", "2-Jul-10")
        + row("CL", "3-Jul-10")
    )
    found, done = load("ausgrid", y=text)
    assert {(name, kwh) for name, _, kwh in found} == {("2", 0.5), ("1", 1.0)}
    assert len(found) == 96
    assert done.left_out == {
        ("lines", "controlled load of a day without general consumption"): 1,
        ("lines", "general consumption of a day without the controlled load that the customer has"): 1,
    }


def test_estimated_rows_are_kept_and_counted_and_a_blank_last_field_may_be_missing(load: Any) -> None:
    text = HEADER + row("GC", quality="NA") + row("GC", "2-Jul-10").replace(b",\r\n", b"\r\n")
    found, done = load("ausgrid", y=text)
    assert len(found) == 96
    assert list(done.kept.values()) == [1]
    assert not done.left_out


def test_the_change_days(load: Any) -> None:
    values = [str(i) for i in range(48)]
    spring, autumn = row("GC", "2/10/2011", values), row("GC", "1/04/2012", values)
    found, done = load("ausgrid", y=HEADER + spring + autumn)
    starts = sorted((start, kwh) for _, start, kwh in found)
    # In spring, 2:00 to 3:00 does not exist: the columns 2:30 and 3:00 are left out, and time goes on without a gap.
    assert starts[:6] == [
        ("2011-10-01T14:00", 0.0),
        ("2011-10-01T14:30", 1.0),
        ("2011-10-01T15:00", 2.0),
        ("2011-10-01T15:30", 3.0),
        ("2011-10-01T16:00", 6.0),
        ("2011-10-01T16:30", 7.0),
    ]
    # In autumn, 2:00 to 3:00 occurs twice, and nobody says which of the two the columns hold.
    assert starts[46 + 3 : 46 + 5] == [("2012-03-31T14:30", 3.0), ("2012-03-31T17:00", 6.0)]
    assert done.left_out == {("readings", "half-hour that Sydney's clock skips or shows twice"): 4}
    assert len(starts) == len({start for start, _ in starts}) == 92


def test_duplicates_and_unreadable_values(load: Any) -> None:
    values = ["", "x", *["1"] * 46]
    text = HEADER + row("GC", values=values) + row("GC", values=values) + row("CL", values=["1", "1", "y", *["1"] * 45])
    found, done = load("ausgrid", y=text)
    assert len(found) == 45
    assert {kwh for _, _, kwh in found} == {2.0}
    assert done.left_out == {
        ("lines", "same customer, day and category again"): 1,
        ("readings", "energy missing, unreadable or not finite"): 3,
    }


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (row("GC").replace(b"0.5,", b"", 3), "another number of fields"),
        (row("GC", customer="one"), "customer"),
        (row("XX"), "none of GC, CL and GG"),
        (row("GC", "2010-07-01"), "date"),
        (row("GC", "31-Jun-10"), "date"),
        (row("GC", "7/13/2011"), "date"),
        (row("GC", "1/07/2014"), "outside 2010 to 2013"),
    ],
    ids=lambda line: str(line)[:30],
)
def test_a_line_that_cannot_be_read_is_counted(load: Any, line: bytes, why: str) -> None:
    found, done = load("ausgrid", y=HEADER + line + row("GC", customer="2"))
    assert len(found) == 48
    ((unit, what), count), *rest = done.left_out.items()
    assert (unit, count, rest) == ("lines", 1, [])
    assert why in what


@pytest.mark.parametrize("text", [b"", NOTE, HEADER.partition(b"\n")[2], HEADER.replace(b"23:30,", b"")])
def test_another_header_is_refused(load: Any, text: bytes) -> None:
    with pytest.raises(InputError, check=has_code("line-unexpected", "line 2")):
        load("ausgrid", y=text)
