"""A table that cannot be read: the message names the file, or the disk, that is to blame."""

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.model.errors import GridveilError, InputError
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine

ROWS = 10_000


def write(folder: Path, ending: str) -> list[Path]:
    """Write three files that differ in nothing but their names."""
    folder.mkdir()
    files = [folder / f"2013-02-0{day}{ending}" for day in (4, 5, 6)]
    kwh = np.random.default_rng(1).random(ROWS)
    for file in files:
        if ending == ".parquet":
            times = pa.array(range(ROWS), pa.timestamp("s"))
            columns = {"household": pa.array(["a"] * ROWS), "timestamp": times, "kwh": pa.array(kwh)}
            pq.write_table(pa.table(columns), file, compression="zstd", use_dictionary=False)
        else:
            lines = "".join(f"a,2013-02-04T00:00:00,{each}\n" for each in kwh)
            file.write_bytes(gzip.compress(f"household,timestamp,kwh\n{lines}".encode()))
    return files


def cut(data: bytes) -> bytes:
    return data[:-9]


def damage(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(500) + data[middle + 500 :]


@pytest.mark.parametrize(
    ("ending", "pattern", "harm"),
    [
        (".parquet", "*", cut),
        (".parquet", "%Y-%m-%d", damage),
        (".csv.gz", "*", damage),
        (".csv.gz", "%Y-%m-%d", cut),
    ],
)
def test_the_damaged_one_of_many_files_is_named(ask: Any, tmp_path: Path, ending: str, pattern: str, harm: Any) -> None:
    files = write(tmp_path / "lake", ending)
    ask(tmp_path / "lake" / f"{pattern}{ending}")
    files[1].write_bytes(harm(files[1].read_bytes()))
    with pytest.raises(InputError, check=has_code("table-unreadable", str(files[1]))):
        ask(tmp_path / "lake" / f"{pattern}{ending}")


@pytest.mark.parametrize("stated", [True, False])
def test_a_full_disk_is_not_blamed_on_the_readings(tmp_path: Path, *, stated: bool) -> None:
    engine = DuckDBEngine(EngineSettings(scratch=tmp_path if stated else None))
    engine.con.raw_sql("SET threads = 1; SET memory_limit = '30MB'; SET max_temp_directory_size = '1MB'")
    folder = str(tmp_path) if stated else tempfile.gettempdir()
    told = has_code("scratch-full", f"{folder}: ")
    with pytest.raises(GridveilError, check=told) as caught, engine.translate_errors("readings.parquet"):
        engine.con.raw_sql("CREATE TABLE much AS SELECT hash(range) AS h FROM range(9000000) ORDER BY h").fetchall()
    assert not isinstance(caught.value, InputError)
    with pytest.raises(GridveilError, check=told), engine.translate_errors("readings.parquet"):
        raise OSError(28, "No space left on device")
    engine.close()
