"""Which engine works on the readings, and what it may use. All of it is public but the address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gridveil.model.errors import UsageError

EngineName = Literal["duckdb", "spark", "postgres"]
UNITS = {"M": 10**6, "G": 10**9, "MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
SMALLEST_MEMORY = 256 * 10**6


def parse_size(text: object) -> object:
    """Return bytes from `4GB`, `4G` or `512MB`.

    >>> parse_size("4GB"), parse_size("512M")
    (4000000000, 512000000)
    """
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+(?:[.]\d+)?)\s*([MG](?:i?B)?)", text.strip())
    if not match:
        msg = f"{text!r} is not a size of memory; write 4GB or 512MB"
        raise ValueError(msg)
    return int(float(match[1]) * UNITS[match[2]])


def enough(memory: int | None) -> int | None:
    """Refuse bytes that an engine cannot work in."""
    if memory is not None and memory < SMALLEST_MEMORY:
        msg = f"give at least {SMALLEST_MEMORY // UNITS['MB']}MB"
        raise ValueError(msg)
    return memory


@dataclass(frozen=True)
class EngineSettings:
    """What `engine`, `master`, `database`, `memory` and `scratch` of a spec say.

    master: of Spark, e.g. `local[2]` or `spark://host:7077`; without, what Spark is set up with.
    database: where PostgreSQL is, `postgresql://...`; it may hold a password.
    memory: the most bytes that the engine may use in this process.
    scratch: a private folder for what does not fit into memory, and for going on after an interruption.
    """

    name: EngineName = "duckdb"
    master: str | None = None
    database: str | None = field(default=None, repr=False)
    memory: int | None = None
    scratch: Path | None = None

    def __post_init__(self) -> None:
        """Reject settings of other engines; they would be silently ignored."""
        if self.master is not None and self.name != "spark":
            msg = f"master: of Spark alone; the engine is {self.name} (give --engine spark, or leave it out)"
            raise UsageError(msg)
        if (self.database is not None) != (self.name == "postgres"):
            msg = "engine postgres needs a database (--database postgresql://...), and no other engine takes one"
            raise UsageError(msg)
        if self.scratch is not None and self.name == "postgres":
            msg = "scratch: engine postgres keeps everything in the database (its temporary tables); leave it out"
            raise UsageError(msg)
