"""A whole publication from PostgreSQL is that from DuckDB, byte for byte, and says nothing of the engine."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.codes import has_code
from tests.leak import town
from tests.trusted.engines.cases import Case
from tests.trusted.engines.postgres_tables import load

from gridveil.model.errors import InputError
from gridveil.publishing.run import run
from gridveil.publishing.spec import make_spec, read_spec
from gridveil.simulate.sources import Tape

TODAY = date(2026, 11, 16)


@pytest.fixture
def tables(empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Write a town to files here and to a schema there; return the settings that name the latter."""
    homes, rows = town.town()
    town.write(tmp_path / "town", homes, rows)
    monkeypatch.chdir(tmp_path / "town")
    load(empty, "metering", Case("town", pa.Table.from_pylist(rows), pa.Table.from_pylist(homes)))
    names = {"readings": {"table": "metering.readings"}, "households": {"table": "metering.households"}}
    return {**names, "engine": "postgres", "database": empty}


def published(settings: dict[str, Any], record: Path | None = None) -> dict[str, str]:
    spec = make_spec(settings)
    out = run(spec, noise=Tape.record(seed=6), today=TODAY, record=record).path
    return {str(file.relative_to(out)): _digest(file) for file in sorted(out.rglob("*")) if file.is_file()}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize(("name", "bound"), [("even", "given"), ("mosaic", "auto")])
def test_engine_postgres_publishes_as_duckdb(tables: dict[str, Any], name: str, bound: str) -> None:
    settings = town.settings(name, bound)
    expected = published(settings)
    assert published({**settings, **tables, "out": Path("again")}, Path("record.json")) == expected
    assert len(expected) > 3
    record = json.loads(Path("record.json").read_text())
    assert record["inputs"] == [{"table": "metering.readings"}, {"table": "metering.households"}]
    said = b"".join(file.read_bytes() for file in Path("again").rglob("*") if file.is_file())
    assert not [word for word in (b"metering", b"postgres", tables["database"].encode()) if word in said]


def test_engine_postgres_is_chosen_in_a_spec(tables: dict[str, Any]) -> None:
    lines = [f'{name} = "{tables[name]}"' for name in ("engine", "database")]
    lines += [f'[{name}]\ntable = "metering.{name}"' for name in ("readings", "households")]
    Path("spec.toml").write_text("\n".join(lines))
    given = {**town.settings("even"), **read_spec(Path("spec.toml"))}
    assert published(given) == published({**town.settings("even"), "out": Path("again")})
    with pytest.raises(InputError, check=has_code("table-unreadable", "metering.nothing", "no such table")):
        published({**given, "readings": "metering.nothing", "out": Path("other")})
