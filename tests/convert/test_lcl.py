"""Low Carbon London in its editions."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.model.errors import InputError


def attributes(out: Path) -> dict[str, dict[str, str | None]]:
    return {row.pop("household"): row for row in pq.read_table(out / "attributes.parquet").to_pylist()}


HEADER = b"LCLid,stdorToU,DateTime,KWH/hh (per half hour) \r\n"
FIRST = b"MAC000002,Std,2012-10-12 00:30:00.0000000, 0 \r\n"


def test_lines_as_published(load: Any, tmp_path: Path) -> None:
    found, done = load("lcl", small=HEADER + FIRST + b"MAC000002,Std,2012-10-13 00:00:00.0000000, 0.143 \r\n")
    assert found == [("MAC000002", "2012-10-12T00:00", 0.0), ("MAC000002", "2012-10-12T23:30", 0.143)]
    assert (done.lines, done.written, done.left_out, done.attributes) == (2, 2, {}, 1)
    assert attributes(tmp_path / "out") == {"MAC000002": {"tariff": "Std", "acorn": None, "acorn_grouped": None}}


def test_greenwich_time_has_no_gap_and_no_double_hour(load: Any) -> None:
    labels = (b"2013-03-31 01:30", b"2013-03-31 02:00", b"2013-10-27 01:30", b"2013-10-27 02:00")
    found, _ = load("lcl", small=HEADER + b"".join(b"MAC000002,ToU,%b:00.0000000, 1 \r\n" % label for label in labels))
    assert [start for _, start, _ in found] == [
        "2013-03-31T01:00",
        "2013-03-31T01:30",
        "2013-10-27T01:00",
        "2013-10-27T01:30",
    ]


def test_older_edition_with_acorn_groups(load: Any, tmp_path: Path) -> None:
    header = HEADER.replace(b"\r\n", b",Acorn,Acorn_grouped\r\n")
    line = FIRST.replace(b"\r\n", b",ACORN-A,Affluent\r\n")
    found, _ = load("lcl", old=header + line)
    assert found == [("MAC000002", "2012-10-12T00:00", 0.0)]
    assert attributes(tmp_path / "out")["MAC000002"] == {
        "tariff": "Std",
        "acorn": "ACORN-A",
        "acorn_grouped": "Affluent",
    }


def test_columns_are_found_by_name(load: Any) -> None:
    text = b"energy(kWh/hh),LCLid,tstp\n0.5,MAC000002,2012-10-12 00:30:00.0000000\n"
    assert load("lcl", block_0=text)[0] == [("MAC000002", "2012-10-12T00:00", 0.5)]


def test_kaggle_edition_as_a_folder(load: Any, tmp_path: Path) -> None:
    kaggle = tmp_path / "kaggle"
    (kaggle / "halfhourly_dataset").mkdir(parents=True)
    (kaggle / "hhblock_dataset").mkdir()
    (kaggle / "halfhourly_dataset" / "block_0.csv").write_bytes(
        b"LCLid,tstp,energy(kWh/hh)\r\nMAC000002,2012-10-12 00:30:00.0000000, 0.5 \r\n"
        b"MAC000002,2012-10-12 01:00:00.0000000,Null\r\n"
    )
    (kaggle / "hhblock_dataset" / "block_0.csv").write_bytes(b"LCLid,day,hh_0,hh_1\r\nMAC000002,2012-10-13,1,2\r\n")
    (kaggle / "informations_households.csv").write_bytes(
        b"LCLid,stdorToU,Acorn,Acorn_grouped,file\r\nMAC005492,ToU,ACORN-,ACORN-,block_0\r\n"
    )
    found, done = load("lcl", kaggle / "halfhourly_dataset", out="readings only")
    assert (len(found), done.attributes) == (1, 0)
    found, done = load("lcl", kaggle)
    assert found == [("MAC000002", "2012-10-12T00:00", 0.5)]
    assert done.left_out == {("lines", "energy missing (Null)"): 1}
    assert [Path(name).parent.name for name in done.passed_over] == ["hhblock_dataset"]
    assert attributes(tmp_path / "out")["MAC005492"]["tariff"] == "ToU"


def test_a_household_continues_in_the_next_file_and_duplicates_are_left_to_ingest(load: Any, tmp_path: Path) -> None:
    folder = tmp_path / "Small LCL Data"
    folder.mkdir()
    for number, kwh in ((10, b"3"), (2, b"2"), (0, b"1")):
        line = FIRST.replace(b" 0 ", b" %b " % kwh)
        (folder / f"LCL-June2015v2_{number}.csv").write_bytes(HEADER + line)
    found, _ = load("lcl", folder)
    assert found == [("MAC000002", "2012-10-12T00:00", kwh) for kwh in (1.0, 2.0, 3.0)]  # _2 comes before _10


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"MAC000003,Std,2012-10-12 00:30:00.0000000,Null", "energy missing (Null)"),
        (b"MAC000003,Std,2012-12-19 12:37:26.0000000,Null", "energy missing (Null)"),
        (b"MAC000003,Std,2012-12-19 12:37:26.0000000, 1 ", "timestamp not on the half-hour"),
        (b"MAC000003,Std,2012-10-12 00:30:00.0000000, 0.1x ", "energy unreadable or not finite"),
        (b"MAC000003,Std,2012-10-12 00:30:00.0000000, NaN ", "energy unreadable or not finite"),
        (b"MAC000003,Std,2012-13-12 00:30:00.0000000, 1 ", "timestamp unreadable"),
        (b"MAC000003,Std,12/10/2012 00:30, 1 ", "timestamp unreadable"),
        (b" ,Std,2012-10-12 00:30:00.0000000, 1 ", "household is not an id"),
        (HEADER.rstrip(), "timestamp unreadable"),  # files put together by hand
    ],
)
def test_a_line_that_cannot_be_read_is_counted(load: Any, line: bytes, why: str) -> None:
    found, done = load("lcl", small=HEADER + line + b"\r\n" + FIRST)
    assert found == [("MAC000002", "2012-10-12T00:00", 0.0)]
    assert done.left_out == {("lines", why): 1}
    assert done.lines == 2


def test_households_whose_lines_disagree_get_no_attribute(load: Any, tmp_path: Path) -> None:
    _, done = load("lcl", small=HEADER + FIRST + FIRST.replace(b"Std", b"ToU") + FIRST.replace(b"02,", b"03,"))
    assert {name: row["tariff"] for name, row in attributes(tmp_path / "out").items()} == {
        "MAC000002": None,
        "MAC000003": "Std",
    }
    assert done.left_out == {("attributes", "lines of a household disagree: left empty"): 1}


@pytest.mark.parametrize("header", [b"", b"LCLid,DateTime\n", HEADER.replace(b",", b";"), FIRST, b"\n" + HEADER])
def test_another_header_is_refused(load: Any, header: bytes) -> None:
    with pytest.raises(InputError, check=has_code("line-unexpected", "small.csv: line 1")) as error:
        load("lcl", small=header + FIRST)
    assert "MAC000002" not in str(error.value)
