"""What ibis writes for PostgreSQL, put right: integers stay integers, and no arithmetic of doubles fails on a row."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt
import sqlglot.expressions as sge
from ibis.backends.postgres import Backend
from ibis.backends.sql.compilers.postgres import PostgresCompiler
from ibis.expr import operations as ops

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

    def written(self, expression: ibis.Table) -> str:
        """Return the query of an expression."""
        return str(self.compiler.to_sqlglot(expression).sql(dialect=self.dialect))

    def table_of_session(self, name: str, columns: dict[str, dt.DataType]) -> ibis.Table:
        """Return a temporary table or view, whose columns have the types that we gave them."""
        where = ops.Namespace(database="pg_temp")
        return ops.DatabaseTable(name, schema=ibis.schema(columns), source=self, namespace=where).to_expr()
