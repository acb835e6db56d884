"""What ibis writes for Spark, put right."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.pyspark import PySparkCompiler


class ExactSparkCompiler(PySparkCompiler):  # type: ignore[misc]  # ibis has no types
    """Writes expressions so that they mean what ibis says."""

    __slots__ = ()

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Write constants as doubles: 0.5 would be a decimal."""
        if dtype.is_floating():
            return self.cast(sge.convert(repr(float(value))), dt.float64)
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_Field(self, op: Any, *, rel: Any, name: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Name a column; an option of ibis could make other values of NaN here."""
        return super(PySparkCompiler, self).visit_Field(op, rel=rel, name=name)

    def visit_IsInf(self, op: Any, *, arg: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Compare with the infinities; ibis compares in Python, and every number is finite."""
        del op
        return sg.or_(arg.eq(self.POS_INF), arg.eq(self.NEG_INF))

    def visit_BitOr(self, op: Any, *, arg: Any, where: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Call Spark's own function, which ibis does not know."""
        del op
        return self.agg.bit_or(arg, where=where)

    def visit_BitwiseLeftShift(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ANN401, N802  # as ibis has it
        """Shift a bigint: a constant alone is an integer, whose bits come round again after 32."""
        return self.f.anon.shiftleft(self.cast(left, op.dtype), self.cast(right, dt.int32))


def written(expression: ibis.Table) -> str:
    """Return the query of an expression."""
    compiler = ExactSparkCompiler()
    return str(compiler.to_sqlglot(expression).sql(dialect=compiler.dialect))
