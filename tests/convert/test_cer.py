"""CER: no header, five-digit codes, the Irish clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.codes import has_code

from gridveil.convert.cer import starts_of_codes
from gridveil.model.errors import InputError

STARTS = dict(zip(*(column.to_pylist() for column in starts_of_codes().columns), strict=True))


def test_lines_as_published(load: Any) -> None:
    found, done = load("cer", File1=b"1392 19503 0.14\r\n1392 19504 0.138\r\n1951 36648 .5\r\n")
    assert found == [
        ("1392", "2009-07-14T00:00", 0.14),  # Irish summer: an hour ahead of UTC
        ("1392", "2009-07-14T00:30", 0.138),
        ("1951", "2010-01-01T23:30", 0.5),
    ]
    assert (done.lines, done.written, done.left_out) == (3, 3, {})


def test_codes_of_the_autumn_days_count_50_half_hours_in_order(load: Any) -> None:
    for day, date in ((298, datetime(2009, 10, 24, 23, tzinfo=UTC)), (669, datetime(2010, 10, 30, 23, tzinfo=UTC))):
        starts = [STARTS[f"{day}{half:02}"] for half in range(1, 51)]
        assert starts == [date + i * timedelta(minutes=30) for i in range(50)]
        assert f"{day}51" not in STARTS
    found, _ = load("cer", File1=b"1000 29803 1\n1000 29805 2\n1000 29849 3\n1000 29850 4\n1000 29901 5\n")
    assert [(start, kwh) for _, start, kwh in found] == [
        ("2009-10-25T00:00", 1),  # 01:00 Irish summer time
        ("2009-10-25T01:00", 2),  # 01:00 again, Greenwich time
        ("2009-10-25T23:00", 3),
        ("2009-10-25T23:30", 4),
        ("2009-10-26T00:00", 5),
    ]


def test_codes_of_the_spring_day_are_1_and_4_to_48(load: Any) -> None:
    starts = [STARTS[f"452{half:02}"] for half in (1, *range(4, 49))]
    assert starts == [datetime(2010, 3, 28, tzinfo=UTC) + i * timedelta(minutes=30) for i in range(46)]
    found, done = load("cer", File1=b"1000 45201 1\n1000 45202 9\n1000 45203 9\n1000 45204 2\n1000 45205 3\n")
    assert [(start, kwh) for _, start, kwh in found] == [
        ("2010-03-28T00:00", 1),
        ("2010-03-28T00:30", 2),
        ("2010-03-28T01:00", 3),  # 02:00 Irish summer time
    ]
    assert list(done.left_out.values()) == [2]


def test_every_code_has_its_own_start_and_no_half_hour_of_two_years_is_missing() -> None:
    starts = sorted(STARTS.values())
    assert len(set(starts)) == len(STARTS) == 730 * 48
    assert starts == [datetime(2009, 1, 1, tzinfo=UTC) + i * timedelta(minutes=30) for i in range(730 * 48)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"1392 19503", "another number of fields"),
        (b"1392  19503 0.14", "another number of fields"),
        (b"1392 19503 0.14 7", "another number of fields"),
        (b"meter 19503 0.14", "meter"),
        (b"1392 1950 0.14", "five digits"),
        (b"1392 19549 0.14", "half-hour that its day does not have"),
        (b"1392 19500 0.14", "half-hour that its day does not have"),
        (b"1392 73101 0.14", "outside 2009 and 2010"),
        (b"1392 00001 0.14", "outside 2009 and 2010"),
        (b"1392 19503 nan", "energy"),
        (b"1392 19503 1e999", "energy"),
        (b"1392 19503 0,14", "energy"),
    ],
)
def test_a_line_that_cannot_be_read_is_counted(load: Any, line: bytes, why: str) -> None:
    found, done = load("cer", File1=line + b"\n1951 19503 0.2\n")
    assert found == [("1951", "2009-07-14T00:00", 0.2)]
    ((unit, what), count), *rest = done.left_out.items()
    assert (unit, count, rest) == ("lines", 1, [])
    assert why in what


def test_another_format_is_refused_by_line_not_by_content(load: Any) -> None:
    with pytest.raises(InputError, check=has_code("line-unexpected", "File1.csv: line 2")) as error:
        load("cer", File1=b"\r\nSECRET,Std,2012-10-12 00:30:00, 0\r\n")
    assert "SECRET" not in str(error.value)
