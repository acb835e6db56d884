"""The engine that the settings name."""

from __future__ import annotations

from gridveil.ingest.engines.engine import Engine
from gridveil.ingest.engines.settings import EngineSettings


def connect(settings: EngineSettings) -> Engine:
    """Return a fresh engine; only its own library is imported."""
    if settings.name == "spark":
        from gridveil.ingest.engines.spark_engine import SparkEngine

        return SparkEngine(settings)
    if settings.name == "postgres":
        from gridveil.ingest.engines.postgres_engine import PostgresEngine

        return PostgresEngine(settings)
    from gridveil.ingest.engines.duckdb_engine import DuckDBEngine

    return DuckDBEngine(settings)
