"""The common base of engines that compute on a server or cluster."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir


class WarehouseEngine:
    """The parts of an `Engine` that are the same wherever a table is one part and nothing outlasts the session."""

    has_catalogue: ClassVar[bool] = True

    def select_parts(self, role: str, parts: list[int]) -> None:
        """Do nothing: there is one part."""

    def has(self, key: str) -> bool:
        """Nothing outlasts the session."""
        del key
        return False

    def forget(self) -> None:
        """Take away nothing: nothing outlasts the session."""

    def union(self, name: str, tables: list[ibis.Table]) -> ibis.Table:
        """Return the rows of tables that were kept, as one."""
        import ibis

        del name
        return ibis.union(*tables)

    def to_double(self, column: ir.NumericColumn) -> ir.FloatingColumn:
        """Return numbers as doubles. All must fit: `open` makes doubles or nulls of those that might not."""
        return column.cast("float64")

    def to_plain_text(self, text: ir.StringColumn) -> ir.StringColumn:
        """Return text as it is: `open` and `keep` leave no collation but one that compares byte by byte."""
        return text


def declare_function(name: str, *kinds: str, returns: str) -> Any:  # noqa: ANN401  # ibis has no types
    """Return a function of the engine's own as ibis calls it."""
    import ibis

    def named() -> None: ...

    names = [Parameter(f"argument{index}", Parameter.POSITIONAL_ONLY) for index, _ in enumerate(kinds)]
    named.__signature__ = Signature(names)  # type: ignore[attr-defined]  # what ibis looks at
    return ibis.udf.scalar.builtin(named, name=name, signature=(kinds, returns))
