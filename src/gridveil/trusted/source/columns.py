"""From columns as publishers have them to the few types that the rules work on. Unreadable entries become null.

Text is read by patterns of ours, not by what an engine would accept ("epoch", "1_000", zone names it then ignores).
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.trusted.source.clock import Clock

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from gridveil.trusted.engines.base.engine import Engine

NUMBER = r"^ *[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
"""No text is looked at in more than one way: Java would try all of them, for hours on a long one."""

OFFSET = r"(Z|[+-][01][0-9](:?[0-5][0-9])?)"
TIMESTAMP = rf"^ *[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?{OFFSET}?)? *$"


def _wrong_type(path: str, column: ir.Column, want: str) -> InputError:
    kind = column.type()
    name = kind.raw_type if kind.is_unknown() else kind
    return InputError(f"{path}: column {column.get_name()} is of type {name}; it must be {want}", code="column-type")


def _matching(text: ir.StringColumn, pattern: str) -> ir.StringColumn:
    return text.re_search(pattern).ifelse(text, None)


def identifier(engine: Engine, column: ir.Column, path: str) -> ir.StringColumn:
    """Return household ids as text; that of no household is null or empty."""
    if column.type().is_string():
        return engine.plain_text(column)  # and nothing else: an engine can tell from it which rows to pass over
    if column.type().is_integer() or column.type().is_uuid():
        return column.cast("string")
    raise _wrong_type(path, column, "text or whole numbers")


def written(column: ir.Column) -> ir.StringColumn:
    """Return a column as it is written, if it is text and not empty; else null."""
    import ibis

    return column.nullif("") if column.type().is_string() else ibis.null("string")


def number(engine: Engine, column: ir.Column, path: str) -> ir.FloatingColumn:
    """Return numbers in double precision: the same on every engine. Not finite or unreadable: null."""
    if column.type().is_string():
        value = engine.double_of_text(_matching(column, NUMBER))
    elif column.type().is_numeric() and not column.type().is_boolean():
        value = engine.double(column)
    else:
        raise _wrong_type(path, column, "a number")
    return (value.isnan() | value.isinf()).ifelse(None, value)


def seconds(engine: Engine, column: ir.Column, path: str, window: Window, zone: str) -> ir.IntegerColumn:
    """Return whole seconds of UTC since the window's start, rounded down; unreadable: null."""
    clock, origin = Clock.of(zone, window), window.start.astimezone(UTC)
    if column.type().is_string():
        text = _matching(column, TIMESTAMP)
        instant = engine.seconds(engine.moment_of_text(text, zoned=True), origin)
        local = clock.to_utc(engine.seconds(engine.moment_of_text(text, zoned=False), origin))
        return text.re_search(rf":[0-9.]+{OFFSET} *$").ifelse(instant, local)
    if not (column.type().is_timestamp() or column.type().is_date()):
        raise _wrong_type(path, column, "a timestamp, a date, or text such as 2013-02-04 00:30:00")
    since = engine.seconds(column, origin)
    return since if column.type().is_timestamp() and column.type().timezone is not None else clock.to_utc(since)
