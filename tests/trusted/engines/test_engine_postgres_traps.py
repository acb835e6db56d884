"""Where PostgreSQL means something else than other engines, or fails on a row, one by one."""

# ruff: noqa: S608  # statements of tests, with nothing of anyone's in them

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tests.codes import has_code
from tests.trusted.engines.conftest import HOMES

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable
from gridveil.trusted.engines.postgres.engine import PostgresEngine

FINE = "('b', '2013-02-04 01:00', 1)"
"""A reading that counts, beside each trap."""


def table(kinds: str, *rows: str) -> str:
    return f"CREATE TABLE readings ({kinds}); INSERT INTO readings VALUES {', '.join(rows)};"


def energies(kind: str, *values: str) -> str:
    rows = [f"('a', '2013-02-04 00:{minute:02}', {value})" for minute, value in enumerate(values)]
    return table(f"household text, timestamp timestamp, kwh {kind}", *rows, FINE)


def times(kind: str, *values: str) -> str:
    return table(f"household text, timestamp {kind}, kwh float8", *(f"('a', {value}, 1)" for value in values), FINE)


def faults(report: Any) -> dict[str, int]:
    return {fault.code: fault.count for fault in report.faults}


@pytest.mark.parametrize("kind", ["numeric", "numeric(30, 4)"])
def test_engine_postgres_numeric_that_is_no_double(ask_postgres: Any, kind: str) -> None:
    values = ["'NaN'"] if kind != "numeric" else ["'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400"]
    cube, report = ask_postgres(energies(kind, *values, "0.0015", "0.0025"))
    assert cube == {(0, 0, 0): 2 + 3, (1, 1, 1): 1000}  # halves up
    assert faults(report) == {"energy-unreadable": len(values)}


def test_engine_postgres_numbers_too_small_or_too_large_to_multiply(ask_postgres: Any) -> None:
    values = ("1e-400", "-1e-400", "1.7976931348623158e308", "1.7976931348623159e308", "1e306", "'-1e306'", "5e-324")
    cube, report = ask_postgres(energies("numeric", *values))
    assert cube == {(0, 0, 0): 10**6, (1, 1, 1): 1000}  # the bound; below it, sums of 1 GWh each
    assert faults(report) == {
        "energy-unreadable": 1,
        "energy-negative": 1,
        "energy-too-large": 2,
    }
    again = energies("float8", "1e306", "1.7976931348623157e308", "'-1e306'", "5e-324")
    cube, report = ask_postgres("DROP TABLE readings;" + again, homes="", unit="kW", interval=1)
    assert cube == {(0, 0, 0): 10**6}
    assert faults(report) == {"energy-negative": 1, "energy-too-large": 2}


def test_engine_postgres_places_too_small_to_divide(ask_postgres: Any) -> None:
    more = "INSERT INTO households VALUES ('far', 1.7e308, -1.7e308), ('c', 'NaN', 1);"
    homes = HOMES.replace("('a', 0.5, 0.5)", "('a', 5e-324, 5e-324)") + more
    assert ask_postgres(times("timestamp", "'2013-02-04'"), homes=homes)[0] == {(0, 0, 0): 1000, (1, 1, 1): 1000}
    grid = Grid(0, 0, 1.7e308, 1.7e308, 2, 2)
    again = ask_postgres("", homes="", grid=grid)
    assert again[0] == {(0, 0, 0): 1000, (0, 0, 1): 1000}


def test_engine_postgres_integers_of_every_width(ask_postgres: Any) -> None:
    for kind, largest in (("int2", 2**15 - 1), ("int4", 2**31 - 1), ("int8", 2**63 - 1)):
        statements = "DROP TABLE IF EXISTS readings;" + energies(kind, f"{largest}", f"-{largest}", "3")
        cube, report = ask_postgres(statements, homes="" if kind != "int2" else HOMES, unit="Wh")
        assert cube == {(0, 0, 0): min(largest + 3, 10**6), (1, 1, 1): 1}
        assert faults(report).get("energy-too-large", 0) == (largest > 10**9)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_engine_postgres_endless_and_extreme_moments(ask_postgres: Any, kind: str) -> None:
    endless = ("'infinity'", "'-infinity'", "NULL")
    extreme = ("'4713-01-01 BC'", "'294276-12-31 23:59:59.999999'", "'0001-01-01 BC'", "'2013-02-03 23:59:59.999999'")
    cube, report = ask_postgres(times(kind, *endless, *extreme, "'2013-02-04 00:59:59.999999'"))
    assert cube == {(0, 0, 0): 1000, (1, 1, 1): 1000}
    assert faults(report) == {"timestamp-unreadable": 3, "reading-outside-steps": 4}


def test_engine_postgres_endless_and_extreme_days(ask_postgres: Any) -> None:
    values = (
        "'infinity'",
        "'-infinity'",
        "NULL",
        "'4713-01-01 BC'",
        "'5874897-12-31'",
        "'294277-01-01'",
        "'2013-02-04'",
    )
    cube, report = ask_postgres(times("date", *values))
    assert cube == {(0, 0, 0): 1000, (1, 1, 0): 1000}
    assert faults(report) == {"timestamp-unreadable": 5, "reading-outside-steps": 1}


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/St_Johns"])
def test_engine_postgres_zone_of_the_session_does_not_count(ask_postgres: Any, empty: str, zone: str) -> None:
    statements = times("timestamptz", "'2013-02-04 00:30+00'", "'2013-02-04 04:30+02'").replace("01:00'", "01:00+00'")
    url = f"{empty}&options=-c%20TimeZone%3D{zone.replace('/', '%2F')}%20-c%20DateStyle%3DGerman"
    assert ask_postgres(statements, url=url)[0] == {(0, 0, 0): 1000, (0, 0, 2): 1000, (1, 1, 1): 1000}
    written = "to_char(timestamp AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')"
    text = f"ALTER TABLE readings ALTER timestamp TYPE text USING {written}"
    assert ask_postgres(text, homes="", url=url)[0] == {(0, 0, 0): 1000, (0, 0, 2): 1000, (1, 1, 1): 1000}


def test_engine_postgres_text_is_read_by_our_patterns(ask_postgres: Any) -> None:
    """`$` before a line's end, digits of other scripts, names of moments, fractions that would round up."""
    moments = ("'2013-02-04 00:00' || chr(10)", "'٢٠١٣-02-04 00:00'", "'now'", "'epoch'", "'2013-02-04 00:00:60'", "''")
    fine = (
        "'2013-02-04 02:59:59.9999999'",
        "' 2013-02-04T02:00 '",
        "'2013-02-04 02:00:01+00:00'",
        "'2013-02-03 24:00:00'",
    )
    odd = ("'0000-02-29'", "'2013-02-04 12:00:00+16:00'", "'2013-02-30'")
    cube, report = ask_postgres(times("text", *moments, *fine, *odd))
    assert cube == {(0, 0, 2): 3000, (0, 0, 0): 1000, (1, 1, 1): 1000}
    assert faults(report) == {"timestamp-unreadable": 7, "reading-outside-steps": 2}


def test_engine_postgres_numbers_as_text(ask_postgres: Any) -> None:
    bad = (
        "'1e400'",
        "'-1e400'",
        "'NaN'",
        "'Infinity'",
        "'1_000'",
        "'0x10'",
        "'1.5' || chr(10)",
        "''",
        "repeat('9', 20000)",
    )
    small = ("'1e-400'", "'0.' || repeat('0', 20000) || '1'", "'1e-99999'", "' +.0005e0 '")
    cube, report = ask_postgres(energies("text", *bad, *small).replace("', 1)", "', '1')"))
    assert cube == {(0, 0, 0): 1, (1, 1, 1): 1000}
    assert faults(report) == {"energy-unreadable": len(bad)}


CITEXT = """
CREATE TYPE citext;
CREATE FUNCTION citext_in(cstring) RETURNS citext AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION citext_out(citext) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE citext (INPUT = citext_in, OUTPUT = citext_out, LIKE = text, COLLATABLE = true);
CREATE CAST (citext AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (text AS citext) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION citext_eq(citext, citext) RETURNS bool
    AS 'SELECT lower($1::text) = lower($2::text)' LANGUAGE sql IMMUTABLE;
CREATE FUNCTION citext_hash(citext) RETURNS int4 AS 'SELECT hashtext(lower($1::text))' LANGUAGE sql IMMUTABLE;
CREATE OPERATOR = (LEFTARG = citext, RIGHTARG = citext, FUNCTION = citext_eq, HASHES);
CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING hash AS OPERATOR 1 =, FUNCTION 1 citext_hash(citext);
"""
"""The essence of the extension citext, which the server of the tests does not have."""


@pytest.mark.parametrize("kind", ["citext", "folded"])
def test_engine_postgres_compares_ids_byte_by_byte(ask_postgres: Any, kind: str) -> None:
    places = "('h1', 0.5, 0.5), ('H1', 1.5, 0.5), ('b', 1.5, 1.5)"
    homes = f"CREATE DOMAIN folded AS citext; CREATE TABLE households (household {kind}, x float8, y float8);"
    homes = f"{CITEXT}{homes} INSERT INTO households VALUES {places};"
    rows = "('h1', '2013-02-04', 1), ('H1', '2013-02-04', 2)", "('h1 ', '2013-02-04', 4)", FINE
    cube, report = ask_postgres(table(f"household {kind}, timestamp timestamp, kwh float8", *rows), homes=homes)
    assert cube == {(0, 0, 0): 1000, (1, 0, 0): 2000, (1, 1, 1): 1000}
    assert faults(report) == {"household-unknown": 1}


def test_engine_postgres_takes_collations_off(empty: str) -> None:
    """Under a collation that takes letters for the same, ids must not be: all that is read or kept has "C"."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            'CREATE TABLE households (household text COLLATE pg_c_utf8, x varchar(9) COLLATE "POSIX", y int)'
        )
    engine = PostgresEngine(EngineSettings("postgres", database=empty))
    opened = engine.open("households", HouseholdsTable("households"))
    engine.keep("kept", opened.table.select("household", "x"))
    of_text = (
        "SELECT attcollation::regcollation::text FROM pg_attribute WHERE attrelid::regclass::text ~ %s AND attnum > 0"
    )
    found = engine._session.run(of_text, ("households_|kept_",)).fetchall()
    engine.close()
    assert sorted(found) == [('"C"',)] * 4 + [("-",)]


def test_engine_postgres_ids_are_padded_enumerated_numbered_or_unique(ask_postgres: Any) -> None:
    ways = {
        "char(5)": ("'a'", "'b'"),
        "letter": ("'a'", "'b'"),
        "int4": ("7", "-8"),
        "int8": (str(2**63 - 1), "0"),
        "uuid": ("'00000000-0000-0000-0000-00000000000A'", "'00000000-0000-0000-0000-00000000000b'"),
        "small_number": ("7", "8"),
    }
    clean = "DROP TABLE IF EXISTS readings, households; DROP TYPE IF EXISTS letter; DROP DOMAIN IF EXISTS small_number;"
    clean += "CREATE TYPE letter AS ENUM ('b', 'a'); CREATE DOMAIN small_number AS int2 CHECK (VALUE > 0);"
    for kind, (a, b) in ways.items():
        homes = f"CREATE TABLE households (household {kind}, x float8, y float8);"
        homes += f"INSERT INTO households VALUES ({a}, 0.5, 0.5), ({b}, 1.5, 1.5);"
        rows = f"({a}, '2013-02-04', 1)", f"({b}, '2013-02-04 01:00', 1)"
        statements = table(f"household {kind}, timestamp timestamp, kwh float8", *rows)
        assert ask_postgres(statements, homes=clean + homes)[0] == {(0, 0, 0): 1000, (1, 1, 1): 1000}, kind


@pytest.mark.parametrize(
    ("column", "kind", "named"),
    [
        ("household", "bytea", "bytea"),
        ("household", "numeric(9,2)", "numeric"),
        ("household", "text[]", "text[]"),
        ("kwh", "money", "money"),
        ("kwh", "boolean", "boolean"),
        ("kwh", "float8[]", "double precision"),
        ("timestamp", "int8", "int64"),
        ("timestamp", "interval", "interval"),
        ("timestamp", "tstzrange", "tstzrange"),
    ],
)
def test_engine_postgres_refuses_other_types(ask_postgres: Any, column: str, kind: str, named: str) -> None:
    kinds = {"household": "text", "timestamp": "timestamp", "kwh": "float8", column: kind}
    with pytest.raises(InputError, check=has_code("column-type", f"readings: column {column}", named)):
        ask_postgres(f"CREATE TABLE readings ({', '.join(f'{name} {k}' for name, k in kinds.items())})")


def test_engine_postgres_reads_what_is_like_a_table(ask_postgres: Any) -> None:
    """Views, materialized ones, generated columns, domains over types, parents with children."""
    rows = times("timestamp", "'2013-02-04'").replace("readings", "raw")
    views = {
        "a view": "CREATE VIEW readings AS SELECT * FROM raw",
        "a view with constants": "CREATE VIEW readings AS SELECT household, timestamp, 1.0 AS kwh FROM raw",
        "kept": "CREATE MATERIALIZED VIEW readings AS SELECT * FROM raw",
        "generated": "CREATE TABLE readings (household text, timestamp timestamp, wh float8, "
        "kwh float8 GENERATED ALWAYS AS (wh / 1000) STORED);"
        "INSERT INTO readings SELECT household, timestamp, kwh * 1000 FROM raw",
        "domains": "CREATE DOMAIN energy AS numeric(9, 3); CREATE DOMAIN use AS energy;"
        "CREATE DOMAIN moment AS timestamptz; CREATE TABLE readings (household text, timestamp moment, kwh use);"
        "INSERT INTO readings "
        "SELECT household, timestamp AT TIME ZONE 'UTC', kwh FROM raw",
        "inherited": "CREATE TABLE readings (LIKE raw); ALTER TABLE raw INHERIT readings",
    }
    for index, (what, view) in enumerate(views.items()):
        drop = "DROP TABLE IF EXISTS raw CASCADE; DROP TABLE IF EXISTS readings CASCADE;"
        cube, _ = ask_postgres(f"{drop}{rows}{view};", **({"homes": ""} if index else {}))
        assert cube == {(0, 0, 0): 1000, (1, 1, 1): 1000}, what


def test_engine_postgres_bits_and_sums_are_wide(ask_postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """48 readings in a step, all in slots of their own: shifting a 32-bit one would lose bits, and raise doubts."""
    kept: list[str] = []
    keep = PostgresEngine.keep

    def spy(engine: PostgresEngine, name: str, table: Any, key: str | None = None) -> Any:
        kept.append(name)
        return keep(engine, name, table, key)

    monkeypatch.setattr(PostgresEngine, "keep", spy)
    rows = "SELECT 'a' AS household, timestamp '2013-02-04' + i * interval '30 min' AS timestamp, 1.0::float8 AS kwh"
    day = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(days=1), 1)
    cube, report = ask_postgres(f"CREATE TABLE readings AS {rows} FROM generate_series(0, 47) i;", window=day)
    assert (cube, report.counted, faults(report)) == ({(0, 0, 0): 48_000}, 48, {})
    assert "resolved" not in kept
    cube, report = ask_postgres(f"INSERT INTO readings {rows} FROM (VALUES (47)) t(i);", homes="", window=day)
    assert (cube, report.counted, faults(report)) == (
        {(0, 0, 0): 48_000},
        48,
        {"reading-duplicate": 1},
    )
    assert "resolved" in kept
