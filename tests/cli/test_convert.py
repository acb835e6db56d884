"""`gridveil convert`, and that the other commands read what it writes."""

import subprocess
import sys
from pathlib import Path

import pytest

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
LCL = b"LCLid,stdorToU,DateTime,KWH/hh (per half hour) \r\n"


def gridveil(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRIDVEIL, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    lines = [
        b"MAC%06d,Std,2013-02-04 %02d:%02d:00.0000000, 0.25 \r\n" % (home, half // 2, half % 2 * 30)
        for home in range(2, 12)
        for half in range(1, 48)
    ]
    (tmp_path / "LCL-June2015v2_0.csv").write_bytes(LCL + b"".join(lines) + b"MAC000002,Std,x, 0 \r\n")
    return tmp_path


def test_counts_are_for_the_operator_and_check_reads_the_result(work: Path) -> None:
    done = gridveil(work, "convert", "lcl", "LCL-June2015v2_0.csv", "--out", "lcl")
    assert done.returncode == 0, done.stderr
    assert "Wrote lcl/readings.parquet" in done.stdout
    assert "Wrote lcl/attributes.parquet" in done.stdout
    assert "471 lines read from 1 file, 470 readings written" in done.stderr
    assert "timestamp unreadable" in done.stderr
    assert "47" not in done.stdout
    homes = "".join(f"MAC{home:06},{home},1\n" for home in range(2, 12))
    (work / "homes.csv").write_text("household,x,y\n" + homes)
    flags = "--households homes.csv --extent 0,0,20,20 --grid 2x2 --start 2013-02-04T00:00 --steps 24"
    checked = gridveil(work, "check", "lcl/readings.parquet", *flags.split())
    assert checked.returncode == 0, checked.stderr
    assert "470 rows of readings, 470 of them counted; 10 households inside the extent." in checked.stdout


def test_an_existing_out_and_an_unknown_format_are_usage_errors(work: Path) -> None:
    (work / "there").mkdir()
    there = gridveil(work, "convert", "lcl", "LCL-June2015v2_0.csv", "--out", "there")
    assert (there.returncode, "[out-exists]" in there.stderr) == (2, True)
    unknown = gridveil(work, "convert", "xls", "LCL-June2015v2_0.csv", "--out", "out")
    assert (unknown.returncode, "[layout-unknown]" in unknown.stderr) == (2, True)


def test_a_file_of_another_format_is_an_input_error_without_its_content(work: Path) -> None:
    done = gridveil(work, "convert", "cer", "LCL-June2015v2_0.csv", "--out", "out")
    assert done.returncode == 3
    assert "line 1 " in done.stderr
    assert "[line-unexpected]" in done.stderr
    assert "MAC000002" not in done.stderr + done.stdout
    assert not (work / "out").exists()


def test_a_pickle_is_refused_with_the_way_to_convert_it(work: Path) -> None:
    done = gridveil(work, "convert", "pickle", "data.pkl", "--out", "out")
    assert done.returncode == 3
    assert "pd.read_pickle" in done.stderr
