"""Publish 1,024 cells, 100 + 120 steps from end to end: tables in, release out."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from gridveil.simulate.demo import publish_town
from gridveil.simulate.town import demo_town


def measure(mechanism: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        readings, households = demo_town().write(Path(folder))
        start = time.perf_counter()
        publish_town(readings, households, mechanism, Path(folder) / "release")
        return {"seconds": time.perf_counter() - start}
