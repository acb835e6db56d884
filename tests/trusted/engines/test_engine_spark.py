"""Spark gives the same integers and the same reports as DuckDB, whatever rows hold and however they are cut up."""

from pathlib import Path

import pytest
from tests.trusted.engines import cases, spark

from gridveil.trusted.engines.base.engine import EngineSettings


@pytest.mark.parametrize("case", [cases.clean(), *cases.poisoned()], ids=lambda case: case.name)
def test_engine_spark_reads_as_duckdb_does(tmp_path: Path, case: cases.Case) -> None:
    settings = spark.settings()
    expected = cases.asked(cases.write(case, tmp_path / "one file"), EngineSettings())
    assert any(map(any, map(_flat, expected[0]["loose"])))
    assert cases.asked(cases.write(case, tmp_path / "three files, another order", parts=3), settings) == expected


def _flat(rows: list[list[int]]) -> list[int]:
    return [value for row in rows for value in row]
