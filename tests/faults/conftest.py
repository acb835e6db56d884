"""The tables of the leak tests' town, for guards that publish it."""

from tests.leak.conftest import make_again, read_once, sources, tables

__all__ = ["make_again", "read_once", "sources", "tables"]
