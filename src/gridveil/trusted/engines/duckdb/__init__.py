"""DuckDB in this process, the default engine."""
