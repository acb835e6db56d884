"""Where the readings are worked on: DuckDB in this process, Spark, or PostgreSQL."""
