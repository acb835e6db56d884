"""PostgreSQL gives the integers and counts that DuckDB gives, for clean and poisoned tables."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from tests.trusted.engines.cases import Case, asked, clean, poisoned, write
from tests.trusted.engines.postgres_tables import fitting, load

from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.source.report import Report


def told(report: Report) -> Report:
    """Without the value shown beside a hint: which of a household's it is, an engine is free to choose."""
    return dataclasses.replace(report, faults=tuple(dataclasses.replace(fault, hint=None) for fault in report.faults))


@pytest.mark.parametrize("case", [clean(), *poisoned()], ids=lambda case: case.name)
def test_engine_postgres_answers_as_duckdb(empty: str, tmp_path: Path, case: Case) -> None:
    case = fitting(case)
    expected, expected_report = asked(write(case, tmp_path), EngineSettings())
    answers, report = asked(load(empty, case.name, case), EngineSettings("postgres", database=empty))
    assert answers == expected
    assert told(report) == told(expected_report)
    assert any(any(row) for plane in answers["loose"] for row in plane)


def test_engine_postgres_with_little_memory(empty: str, tmp_path: Path) -> None:
    case = clean(seed=1)
    settings: dict[str, Any] = {"database": empty, "memory": 256 * 10**6}
    assert asked(load(empty, "little", case), EngineSettings("postgres", **settings)) == asked(
        write(case, tmp_path), EngineSettings()
    )
