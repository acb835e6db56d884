"""Engines by name, and their settings. Third parties add engines through the entry-point group `gridveil.engines`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.model.limits import DEFAULT_LIMITS, Limits
from gridveil.model.registry import Registry
from gridveil.trusted.engines.base.engine import Engine

DEFAULT_ENGINE = "duckdb"

ENGINES = Registry[type[Engine]](
    "engine",
    "gridveil.engines",
    {
        DEFAULT_ENGINE: "gridveil.trusted.engines.duckdb.engine:DuckDBEngine",
        "spark": "gridveil.trusted.engines.spark.engine:SparkEngine",
        "postgres": "gridveil.trusted.engines.postgres.engine:PostgresEngine",
    },
)
"""Whoever installs an engine trusts it like the rest of this folder: it reads the true data."""


def connect(settings: EngineSettings) -> Engine:
    """Return a fresh engine; only its own library is imported."""
    return ENGINES.load(settings.name)(settings)


UNITS = {"M": 10**6, "G": 10**9, "MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
MIN_MEMORY = 256 * 10**6


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


def check_memory(memory: int | None) -> int | None:
    """Refuse bytes that an engine cannot work in."""
    if memory is not None and memory < MIN_MEMORY:
        msg = f"give at least {MIN_MEMORY // UNITS['MB']}MB"
        raise ValueError(msg)
    return memory


@dataclass(frozen=True)
class EngineSettings:
    """What `engine`, `master`, `database`, `memory` and `scratch` of a spec say.

    master: of Spark, e.g. `local[2]` or `spark://host:7077`; without, what Spark is set up with.
    database: where PostgreSQL is, `postgresql://...`; it may hold a password.
    memory: the most bytes that the engine may use in this process.
    scratch: a private folder for what does not fit into memory, and for going on after an interruption.
    limits: how much is read at a time; no setting of a spec.
    """

    name: str = DEFAULT_ENGINE
    master: str | None = None
    database: str | None = field(default=None, repr=False)
    memory: int | None = None
    scratch: Path | None = None
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        """Reject settings of another engine, which would have no effect, and an engine without those that it needs."""
        engine = ENGINES.load(self.name)
        for name in (one.name for one in fields(self) if one.name not in {"name", "limits"}):
            given = getattr(self, name) is not None
            if given and name not in engine.takes:
                others = " or ".join(other for other in ENGINES.names() if name in ENGINES.load(other).takes)
                msg = f"{name}: engine {self.name} takes none; leave it out, or give --engine {others}"
                raise UsageError(msg, code="engine-setting")
            if not given and name in engine.needs:
                msg = f"engine {self.name} needs a {name}: give --{name} {engine.needs[name]}"
                raise UsageError(msg, code="engine-needs-setting")
