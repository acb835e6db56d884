from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gridveil.convert.convert import Converted, convert

Row = tuple[str, str, float]
Load = Callable[..., tuple[list[Row], Converted]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Convert files (bytes by name, or paths): rows as (household, start in UTC, kWh), and the counts."""

    def run(name: str, *inputs: Any, out: str = "out", **files: bytes) -> tuple[list[Row], Converted]:
        paths = [Path(path) for path in inputs]
        for file, content in files.items():
            path = tmp_path / f"{file}.csv"
            path.write_bytes(content)
            paths.append(path)
        done = convert(name, paths, tmp_path / out)
        return rows(tmp_path / out), done

    return run


def rows(out: Path) -> list[Row]:
    table = pq.read_table(out / "readings.parquet")
    assert [str(kind) for kind in table.schema.types] == ["string", "timestamp[us, tz=UTC]", "double"]
    return [
        (row["household"], row["timestamp"].astimezone(UTC).strftime("%Y-%m-%dT%H:%M"), row["kwh"])
        for row in table.to_pylist()
    ]
