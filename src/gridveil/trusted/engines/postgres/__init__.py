"""PostgreSQL, where the readings are."""
