"""An engine of a third party, installed as a package: specs and commands know it, and what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code
from tests.plugin import install

from gridveil.cli import options
from gridveil.model.errors import UsageError
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import make_spec
from gridveil.trusted.engines.base.engine import ENGINES, Engine, EngineSettings, connect

CODE = """
class Warehouse:
    takes = ("database", "memory")
    needs = {"database": "warehouse://..."}
    reads_files = False
    has_catalogue = True

    def __init__(self, settings):
        raise ConnectionError(settings.database)
"""
GIVEN = {"engine": "warehouse", "database": "warehouse://here", "households": "metering.homes"}
PUBLIC = {"extent": "0,0,8,8", "grid": "8x8", "start": "2013-02-04T00:00", "steps": 24, "epsilon": 1, "out": "release"}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, ENGINES.group, "warehouse = my_engine:Warehouse", CODE)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", ["duckdb", "spark", "postgres"])
def test_an_engine_of_the_package_has_all_that_an_engine_must_have(name: str) -> None:
    public = {one for one in (*vars(Engine), *Engine.__annotations__) if not one.startswith("_")}
    required = public - {"close"}  # PostgreSQL's is a finaliser, made with the connection
    assert {one for one in required if not hasattr(ENGINES.load(name), one)} == set()


def test_a_publication_reaches_it() -> None:
    spec = options.spec_from("metering.readings", {**PUBLIC, **GIVEN})
    assert [table.table for table in spec.tables()] == ["metering.readings", "metering.homes"]
    with pytest.raises(ConnectionError, match="warehouse://here"):
        Plan.of(spec).ingest()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"database": None}, "engine-needs-setting"),
        ({"master": "local[2]"}, "engine-setting"),
        ({"scratch": Path("scratch")}, "engine-setting"),
    ],
)
def test_settings_that_it_does_not_take_or_lacks_are_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code, *changes)):
        make_spec({**PUBLIC, **GIVEN, **changes}).to_engine()


def test_files_are_not_for_it() -> None:
    with pytest.raises(UsageError, check=has_code("path-without-files", "warehouse")):
        make_spec({**PUBLIC, **GIVEN, "readings": "readings.parquet"}).tables()


def test_another_engine_is_refused_with_those_there_are() -> None:
    for refused in (lambda: make_spec({"engine": "oracle"}), lambda: connect(EngineSettings("oracle"))):
        with pytest.raises(UsageError) as refusal:
            refused()
        assert all(name in str(refusal.value) for name in ("duckdb", "spark", "postgres", "warehouse"))


@pytest.mark.parametrize("name", list(ENGINES.built_in))
def test_an_engine_takes_what_it_needs_and_reads_something(name: str) -> None:
    engine = ENGINES.load(name)
    assert set(engine.takes) >= set(engine.needs)
    assert engine.reads_files or engine.has_catalogue
