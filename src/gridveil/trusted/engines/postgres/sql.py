"""PostgreSQL: corrected SQL of ibis, and tables as views with columns of the few types that all engines read alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, LiteralString

import ibis
import ibis.expr.datatypes as dt
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.postgres import PostgresCompiler
from ibis.expr import operations as ops

from gridveil.model.errors import MissingExtraError
from gridveil.model.window import Window
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.postgres.session import PostgresSession, RefusedError

try:
    from ibis.backends.postgres import Backend  # imports psycopg
except ImportError as error:
    what = "the engine postgres"
    raise MissingExtraError(what, "postgres") from error

if TYPE_CHECKING:
    from psycopg import sql


# Corrections to the SQL of ibis: integers stay integers, and no arithmetic of doubles fails on a row.

LARGEST, SMALLEST = 1e300, 1e-300
"""Where PostgreSQL would fail, beyond, no rule tells numbers apart: far above 1 GWh, and far below 1 Wh or a cell."""


class ExactPostgresCompiler(PostgresCompiler):  # type: ignore[misc]  # ibis has no types
    """Writes expressions so that they mean what ibis says, and fail on no row."""

    __slots__ = ()

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Write constants as doubles: 0.5 would be numeric."""
        if dtype.is_floating():
            return self._double(value)
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_Sum(self, op: Any, *, arg: Any, where: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Make sums integers again: those of bigint are numeric, whose quotients are rounded."""
        return self.cast(super().visit_Sum(op, arg=arg, where=where), op.dtype)

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Divide whole numbers, rounding down; ibis would do it in doubles, and PostgreSQL cuts off towards zero."""
        del op
        left, right = sge.paren(left), sge.paren(right)
        rest = sge.paren(sge.paren(sge.paren(left % right) + right) % right)
        return sge.paren(sge.Div(this=sge.paren(left - rest), expression=right, typed=True))

    def visit_BitwiseLeftShift(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Shift a bigint: a constant alone is an integer, and would lose its bits."""
        shifted = sge.BitwiseLeftShift(this=self.cast(left, op.dtype), expression=self.cast(right, dt.int32))
        return sge.paren(shifted)

    def visit_Multiply(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Multiply; a double times a constant never fails: it is left as it is where it is huge, and zero if tiny."""
        product = sge.paren(sge.Mul(this=sge.paren(left), expression=sge.paren(right)))
        if not op.dtype.is_floating():
            return product
        factor, size = float(op.right.value), self.f.abs(left)
        safe = size < self._double(LARGEST / max(factor, 1.0))
        tiny = size <= self._double(SMALLEST / min(factor, 1.0))
        zero = [self.if_(tiny, self._double(0.0))] if factor < 1 else []
        return sge.Case(ifs=[*zero, self.if_(safe, product)], default=left)

    def visit_Divide(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Divide a double by a constant that is not below it; what is too small for a double is zero."""
        quotient = sge.paren(sge.Div(this=sge.paren(left), expression=sge.paren(right), typed=True))
        tiny = self.f.abs(left) < self._double(SMALLEST * float(op.right.value))
        return sge.Case(ifs=[self.if_(tiny, self._double(0.0))], default=quotient)

    def visit_Select(self, op: Any, **parts: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Select; where functions are called, once for each row: PostgreSQL would call them again for each filter."""
        query = super().visit_Select(op, **parts)
        alone = not any(parts[name] for name in ("predicates", "qualified", "sort_keys", "distinct"))
        return query.offset(0) if alone and op.find_below(ops.ScalarUDF, filter=ops.Value) else query

    def visit_ScalarUDF(self, op: Any, **arguments: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Call a function by its own name; sqlglot would translate some."""
        return sge.Anonymous(this=f"pg_catalog.{op.__func_name__}", expressions=list(arguments.values()))

    def _double(self, number: float) -> Any:  # noqa: ANN401  # an expression of sqlglot
        return self.cast(sge.convert(repr(float(number))), dt.float64)


class Writer(Backend):  # type: ignore[misc]  # ibis has no types
    """Ibis without a connection: it writes queries, and asks none."""

    compiler = ExactPostgresCompiler()

    def compile_query(self, expression: ibis.Table) -> str:
        """Return the query of an expression."""
        return str(self.compiler.to_sqlglot(expression).sql(dialect=self.dialect))

    def table_of_session(self, name: str, columns: dict[str, dt.DataType]) -> ibis.Table:
        """Return a temporary table or view, whose columns have the types that we gave them."""
        where = ops.Namespace(database="pg_temp")
        return ops.DatabaseTable(name, schema=ibis.schema(columns), source=self, namespace=where).to_expr()


# A table of a PostgreSQL database as a view of the session, with columns of the few types that are read alike.

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

FIND_TABLE: LiteralString = """
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

    def filter_window(self, window: Window) -> sql.Composed:
        """Return a filter that leaves out what is far from a window, so that indexes and partitions serve.

        It is redundant: what it leaves out is outside the steps read. A missing time is a fault to be told.
        """
        from psycopg import sql

        first, last = window.start - SLACK, window.end + SLACK
        edges = [sql.Literal(edge.astimezone(UTC).isoformat(sep=" ")) for edge in (first, last)]
        kind: LiteralString = "timestamptz" if self.kind == "timestamptz" else "timestamp"
        text: LiteralString = "WHERE ({0} BETWEEN {1}::" + kind + " AND {2}::" + kind + ") OR {0} IS NULL"
        return sql.SQL(text).format(sql.Identifier(self.name), *edges)


def make_view(
    session: PostgresSession, view: str, at: ReadingsTable | HouseholdsTable, window: Window | None
) -> tuple[sql.Composed, dict[str, dt.DataType]]:
    """Return the statement that makes a view of a table, and the types of its columns."""
    from psycopg import sql

    number, kind, written = _find_table(session, at.table or at.path)
    columns = [Column(*row) for row in session.run(TYPES, {"table": number}).fetchall()]
    if not columns:
        msg = f"this role may not read it; let someone type: GRANT SELECT ON {written} TO ..."
        raise RefusedError(msg)
    read = {column.name: column.read(identifier=column.name == at.household) for column in columns}
    where: sql.Composable = sql.SQL("")
    if window is not None and isinstance(at, ReadingsTable):
        of_time = [column for column in columns if column.name == at.timestamp and column.kind in MOMENTS]
        where = next((c.filter_window(window) for c in of_time if c.plain and (c.indexed or kind != TABLE)), where)
    make = sql.SQL("CREATE TEMPORARY VIEW {} AS SELECT {} FROM {} {}").format(
        sql.Identifier("pg_temp", view),
        sql.SQL(", ").join(sql.SQL("{} AS {}").format(how, sql.Identifier(name)) for name, (how, _) in read.items()),
        sql.SQL(written),
        where,
    )
    return make, {name: kind for name, (_, kind) in read.items()}


def _find_table(session: PostgresSession, name: str) -> tuple[int, str, str]:
    """Return number, kind and full name of a table that is named as in psql, with the role's own search path."""
    found = None
    try:
        with session.reading():
            session.run("SELECT set_config('search_path', %s, true)", session.path)
            found = session.run(FIND_TABLE, {"name": name}).fetchone()
            session.run("SET LOCAL search_path = pg_catalog")
    except RefusedError as error:
        if error.code not in NO_NAME:
            raise
    if found is None:
        msg = "the database has no such table that this role can see; write it as in psql: schema.table"
        raise RefusedError(msg)
    number, kind, written = found
    return number, kind, written
