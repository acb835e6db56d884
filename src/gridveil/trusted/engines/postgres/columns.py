"""A table of a PostgreSQL database as a view of the session, with columns of the few types that are read alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, LiteralString

from gridveil.model.window import Window
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.postgres.session import PostgresSession, RefusedError

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt
    from psycopg import sql

TYPES: LiteralString = """
WITH RECURSIVE base AS (
    SELECT attnum, attname, atttypid AS type, format_type(atttypid, atttypmod) AS written
    FROM pg_attribute
    WHERE attrelid = %(table)s AND attnum > 0 AND NOT attisdropped
      AND has_column_privilege(attrelid, attnum, 'SELECT')
    UNION ALL
    SELECT attnum, attname, typbasetype, written FROM base JOIN pg_type ON oid = type WHERE typtype = 'd'
)
SELECT attname, written, CASE WHEN typtype = 'e' THEN 'text' ELSE typname END,
    typtype = 'e' OR typname = 'citext' OR typnamespace = 'pg_catalog'::regnamespace,
    EXISTS (SELECT FROM pg_index WHERE indrelid = %(table)s AND attnum = ANY (indkey))
FROM base JOIN pg_type ON oid = type WHERE typtype <> 'd' ORDER BY attnum
"""
"""Name, type as written, and type without domains, of the columns that this role may read; enums are text."""

FIND: LiteralString = """
SELECT c.oid::int8, relkind::text, format('%%I.%%I', nspname, relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE c.oid = to_regclass(%(name)s) AND relkind IN ('r', 'p', 'v', 'm', 'f')
"""
TABLE = "r"
NO_NAME = ("42601", "42602", "0A000")
"""Codes of what cannot be the name of a table, or is one of another database."""

MOMENTS = ("date", "timestamp", "timestamptz")

PLAIN: LiteralString = '({0})::text COLLATE "C"'
"""Text that is compared byte by byte: under other collations `h1` and `H1` may be the same."""

DOUBLE: LiteralString = """CASE WHEN abs({0}) < 1e-300 THEN 0::float8
    WHEN abs({0}) <= 1.7976931348623158e308 THEN ({0})::float8 END"""
"""A numeric as a double; the cast would fail on what is too large or too small. NaN is larger than all."""

IDENTIFIER: dict[str, tuple[LiteralString, str]] = dict.fromkeys(
    ("text", "varchar", "bpchar", "name", "citext", "int2", "int4", "int8", "uuid"), (PLAIN, "string")
)
"""How household ids are read."""

READ: dict[str, tuple[LiteralString, str]] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), (PLAIN, "string")),
    **dict.fromkeys(("int2", "int4", "int8"), ("({0})::int8", "int64")),
    **dict.fromkeys(("float4", "float8"), ("({0})::float8", "float64")),
    "numeric": (DOUBLE, "float64"),
    "date": ("({0})::date", "date"),
    "timestamp": ("({0})::timestamp", "timestamp"),
    "timestamptz": ("({0})::timestamptz", "timestamp('UTC')"),
}
"""How other columns are read."""

SLACK = timedelta(days=2)
"""No clock is so far from UTC (see `Clock`)."""


@dataclass(frozen=True)
class Column:
    """A column as the server has it."""

    name: str
    written: str
    kind: str
    plain: bool
    indexed: bool

    def read(self, *, identifier: bool) -> tuple[sql.Composed, dt.DataType]:
        """Return how the view reads it, and the type that ibis is told; it does not know what we do not read."""
        import ibis.expr.datatypes as dt
        from psycopg import sql

        ways = IDENTIFIER if identifier else READ
        how, kind = ways.get(self.kind if self.plain else "", ("{0}", None))
        return sql.SQL(how).format(sql.Identifier(self.name)), dt.Unknown(self.written) if kind is None else dt.dtype(
            kind
        )

    def around(self, window: Window) -> sql.Composed:
        """Return a filter that leaves out what is far from a window, so that indexes and partitions serve.

        It is redundant: what it leaves out is outside the steps read. A missing time is a fault to be told.
        """
        from psycopg import sql

        first, last = window.start - SLACK, window.end + SLACK
        edges = [sql.Literal(edge.astimezone(UTC).isoformat(sep=" ")) for edge in (first, last)]
        kind: LiteralString = "timestamptz" if self.kind == "timestamptz" else "timestamp"
        text: LiteralString = "WHERE ({0} BETWEEN {1}::" + kind + " AND {2}::" + kind + ") OR {0} IS NULL"
        return sql.SQL(text).format(sql.Identifier(self.name), *edges)


def view_of(
    session: PostgresSession, view: str, at: ReadingsTable | HouseholdsTable, window: Window | None
) -> tuple[sql.Composed, dict[str, dt.DataType]]:
    """Return the statement that makes a view of a table, and the types of its columns."""
    from psycopg import sql

    number, kind, written = _found(session, at.table or at.path)
    columns = [Column(*row) for row in session.run(TYPES, {"table": number}).fetchall()]
    if not columns:
        msg = f"this role may not read it; let someone type: GRANT SELECT ON {written} TO ..."
        raise RefusedError(msg)
    read = {column.name: column.read(identifier=column.name == at.household) for column in columns}
    where: sql.Composable = sql.SQL("")
    if window is not None and isinstance(at, ReadingsTable):
        of_time = [column for column in columns if column.name == at.timestamp and column.kind in MOMENTS]
        where = next((c.around(window) for c in of_time if c.plain and (c.indexed or kind != TABLE)), where)
    make = sql.SQL("CREATE TEMPORARY VIEW {} AS SELECT {} FROM {} {}").format(
        sql.Identifier("pg_temp", view),
        sql.SQL(", ").join(sql.SQL("{} AS {}").format(how, sql.Identifier(name)) for name, (how, _) in read.items()),
        sql.SQL(written),
        where,
    )
    return make, {name: kind for name, (_, kind) in read.items()}


def _found(session: PostgresSession, name: str) -> tuple[int, str, str]:
    """Return number, kind and full name of a table that is named as in psql, with the role's own search path."""
    found = None
    try:
        with session.reading():
            session.run("SELECT set_config('search_path', %s, true)", session.path)
            found = session.run(FIND, {"name": name}).fetchone()
            session.run("SET LOCAL search_path = pg_catalog")
    except RefusedError as error:
        if error.code not in NO_NAME:
            raise
    if found is None:
        msg = "the database has no such table that this role can see; write it as in psql: schema.table"
        raise RefusedError(msg)
    number, kind, written = found
    return number, kind, written
