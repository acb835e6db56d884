"""How much is held or worked on at a time: sizes that decide how long a run takes, never what it publishes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Passed to what works on large data; the defaults are for a machine with 8 GB.

    held_values: cells x steps that a kernel keeps between questions, of all its cubes together: 1 GB, an eighth of the
        memory that a year of hours on 256 x 256 cells is published in. A larger cube is asked for anew, slab by slab,
        for every question.
    slab_values: cells x steps, or answers, that a kernel works on at a time: 128 MB. A slab has one row at least.
    part_bytes: files smaller than this are read together by DuckDB: each part takes some time by itself.
    slice_rows: rows of a slice of a file for each thread of DuckDB: few enough for its cache, and enough to be worth a
        question of their own.
    """

    held_values: int = 2**27
    slab_values: int = 2**24
    part_bytes: int = 4 * 2**20
    slice_rows: int = 2 * 2**20


DEFAULT_LIMITS = Limits()
