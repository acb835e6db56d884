"""Engines by name. A third party adds one through the entry-point group `gridveil.engines`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from gridveil.model.errors import UsageError
from gridveil.trusted.engines.base.engine import Engine
from gridveil.trusted.engines.base.settings import EngineSettings

GROUP = "gridveil.engines"

_BUILT_IN = {
    "duckdb": "gridveil.trusted.engines.duckdb.engine:DuckDBEngine",
    "spark": "gridveil.trusted.engines.spark.engine:SparkEngine",
    "postgres": "gridveil.trusted.engines.postgres.engine:PostgresEngine",
}


def names() -> list[str]:
    """Return the names of all engines, ours first."""
    others = sorted(entry.name for entry in entry_points(group=GROUP) if entry.name not in _BUILT_IN)
    return [*_BUILT_IN, *others]


def connect(settings: EngineSettings) -> Engine:
    """Return a fresh engine; only its own library is imported.

    Whoever installs an engine trusts it like the rest of this folder: it reads the true data.
    """
    if settings.name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[settings.name].partition(":")
        return cast("Engine", getattr(import_module(module), attribute)(settings))
    for entry in entry_points(group=GROUP):
        if entry.name == settings.name:
            return cast("Engine", entry.load()(settings))
    msg = f"there is no engine {settings.name!r}; there are: {', '.join(names())}"
    raise UsageError(msg)
