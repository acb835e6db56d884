"""The published artifact: file format, label, and range queries with error bars."""
