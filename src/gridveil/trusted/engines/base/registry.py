"""Engines by name. A third party adds one through the entry-point group `gridveil.engines`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridveil.model.registry import Registry
from gridveil.trusted.engines.base.engine import Engine

if TYPE_CHECKING:
    from gridveil.trusted.engines.base.settings import EngineSettings

DEFAULT = "duckdb"

ENGINES = Registry[type[Engine]](
    "engine",
    "gridveil.engines",
    {
        DEFAULT: "gridveil.trusted.engines.duckdb.engine:DuckDBEngine",
        "spark": "gridveil.trusted.engines.spark.engine:SparkEngine",
        "postgres": "gridveil.trusted.engines.postgres.engine:PostgresEngine",
    },
)
"""Whoever installs an engine trusts it like the rest of this folder: it reads the true data."""


def connect(settings: EngineSettings) -> Engine:
    """Return a fresh engine; only its own library is imported."""
    return ENGINES.load(settings.name)(settings)
