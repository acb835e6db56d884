"""UCI: decimal commas, kW, a column per client, Portugal's clock with 96 rows every day."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError

HEADER = b'"";"MT_001";"MT_002"\n'


def day(label: str, *values: str) -> bytes:
    return ";".join([f'"{label}"', *values]).encode() + b"\n"


def one(found: Iterable[tuple[str, str, float]], household: str) -> list[tuple[str, float]]:
    return [(start, kwh) for name, start, kwh in found if name == household]


@pytest.mark.parametrize("quoted", [True, False])
def test_lines_as_published(load: Any, quoted: bool) -> None:  # noqa: FBT001  # both ways to write it
    text = HEADER + day("2011-01-01 00:15:00", "3,80710659898477", "22") + day("2011-01-01 00:30:00", "4", "1E2")
    found, done = load("uci", LD2011_2014=text if quoted else text.replace(b'"', b""))
    assert found == [
        ("MT_001", "2011-01-01T00:00", 3.80710659898477 / 4),
        ("MT_002", "2011-01-01T00:00", 5.5),
        ("MT_001", "2011-01-01T00:15", 1.0),
        ("MT_002", "2011-01-01T00:15", 25.0),
    ]
    assert (done.lines, done.written, done.left_out, done.attributes) == (2, 4, {}, 0)


def test_summer_is_an_hour_ahead_and_the_last_label_is_the_next_year(load: Any) -> None:
    text = HEADER + day("2014-07-01 00:15:00", "4", "4") + day("2015-01-01 00:00:00", "4", "4")
    assert one(load("uci", LD=text)[0], "MT_001") == [("2014-06-30T23:00", 1.0), ("2014-12-31T23:45", 1.0)]


def test_the_hour_that_does_not_exist_in_march_is_left_out(load: Any) -> None:
    labels = ("01:00", "01:15", "01:30", "01:45", "02:00", "02:15")
    values = ("4", "0", "0", "0", "0", "8")
    lines = (day(f"2012-03-25 {label}:00", value, value) for label, value in zip(labels, values, strict=True))
    found, done = load("uci", LD=HEADER + b"".join(lines))
    assert one(found, "MT_001") == [("2012-03-25T00:45", 1.0), ("2012-03-25T01:00", 2.0)]
    assert done.left_out == {("lines", "the hour that the clock skips in March (zero for all)"): 4}


def test_the_double_hour_in_october_is_shared_by_both_hours(load: Any) -> None:
    labels = ("01:00", "01:15", "01:30", "01:45", "02:00", "02:15")
    lines = (day(f"2012-10-28 {label}:00", str(8 * (i + 1)), "4") for i, label in enumerate(labels))
    found, done = load("uci", LD=HEADER + b"".join(lines))
    assert sorted(one(found, "MT_001")) == [
        ("2012-10-27T23:45", 2.0),
        *((f"2012-10-28T00:{15 * i:02}", float(i + 2)) for i in range(4)),
        *((f"2012-10-28T01:{15 * i:02}", float(i + 2)) for i in range(4)),
        ("2012-10-28T02:00", 12.0),
    ]
    assert sum(kwh for _, kwh in one(found, "MT_001")) == 8 * sum(range(1, 7)) / 4  # no energy is lost
    assert not done.left_out


def test_zeros_before_a_clients_first_use_are_left_out_also_across_blocks(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [("0", "1"), ("0", "0"), ("2", "0"), ("0", "1"), ("4", "0")]
    lines = [day(f"2011-01-01 00:{15 * (i % 4):02}:00".replace("00:00:", f"{i // 4:02}:00:"), *v) for i, v in
             enumerate(values, start=1)]  # fmt: skip
    for number, block in enumerate((2**20, 40)):
        monkeypatch.setattr("gridveil.trusted.engines.duckdb.csv_table.BLOCK", block)
        found, done = load("uci", LD=HEADER + b"".join(lines), out=f"out{number}")
        assert [kwh for _, kwh in one(found, "MT_001")] == [0.5, 0.0, 1.0]
        assert [kwh for _, kwh in one(found, "MT_002")] == [0.25, 0.0, 0.0, 0.25, 0.0]
        assert done.left_out == {("readings", "zero before the client's first use"): 2}


def test_an_unreadable_value_is_its_clients_alone(load: Any) -> None:
    for number, value in enumerate(("x", "", "1.5", "1.234,5", "nan", "1e999", '"', "\x00", "\r", "'4'")):
        found, done = load("uci", LD=HEADER + day("2011-01-01 00:15:00", value, "4"), out=f"out{number}")
        assert found == [("MT_002", "2011-01-01T00:00", 1.0)]
        assert done.left_out == {("readings", "power missing, unreadable or not finite"): 1}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (day("2011-01-01 00:15:00", "1"), "another number of fields"),
        (day("2011-01-01 00:15:00", "1", "2", "3"), "another number of fields"),
        (day("01/01/2011 00:15", "1", "2"), "timestamp unreadable"),
        (day("2011-01-01 00:10:00", "1", "2"), "quarter-hour"),
        (day("2015-01-01 00:15:00", "1", "2"), "outside 2011 to 2014"),
        (b"x" * 2**21 + b"\n", "too long"),
    ],
    ids=lambda line: str(line)[:30],
)
def test_a_line_that_cannot_be_read_is_counted(load: Any, line: bytes, why: str) -> None:
    found, done = load("uci", LD=HEADER + line + day("2011-01-01 00:30:00", "4", "4"))
    assert len(found) == 2
    ((unit, what), count), *rest = done.left_out.items()
    assert (unit, count, rest) == ("lines", 1, [])
    assert why in what


@pytest.mark.parametrize(
    "header", [b"", b"MT_001;MT_002\n", HEADER.replace(b";", b","), b";MT_001;MT_001\n", b";\n", b";a;b\n"]
)
def test_another_header_is_refused(load: Any, header: bytes) -> None:
    with pytest.raises(InputError, check=has_code("line-unexpected", "line 1")):
        load("uci", LD=header + day("2011-01-01 00:15:00", "1", "2"))
