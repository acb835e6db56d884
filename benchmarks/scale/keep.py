"""Where the figures of these benchmarks are kept."""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"


def read() -> dict[str, dict[str, Any]]:
    """Return all figures, by study and case."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(study: str, case: str, figures: dict[str, Any]) -> None:
    """Put the figures of a case beside the others, with the day and the machine."""
    results = read()
    made = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "cores": os.cpu_count()}
    results[study] = dict(sorted({**results.get(study, {}), case: {**figures, **made}}.items()))
    aside = RESULTS.with_suffix(".aside")
    aside.write_text(json.dumps(results, indent=2) + "\n")
    aside.rename(RESULTS)


def peak_mb() -> float:
    """Return the most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
