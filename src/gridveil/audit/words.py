"""An audit as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from gridveil.audit.least import least
from gridveil.audit.result import Entry


def table(found: Sequence[Entry]) -> Table:
    """Return a row for each mechanism: what is claimed, what was attained, and by what."""
    confidence = f"{found[0]['confidence']:.6f}"
    shown = Table(title=f"Lower bounds on epsilon, all at once with confidence {confidence}", title_justify="left")
    shown.add_column("mechanism", no_wrap=True)
    for heading in ("strongest statistic", "canary"):
        shown.add_column(heading, overflow="fold")
    for heading in ("runs", "claimed", "attained", "at least", "exact loss"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for entry in found:
        must = least(entry["mechanism"], entry["epsilon"])
        shown.add_row(
            entry["mechanism"],
            entry.get("statistic", "none: see what it objects to"),
            entry.get("canary", ""),
            f"{entry.get('runs', 0):,}",
            f"{entry['epsilon']:g}",
            f"{entry['lower']:.2f}",
            "-" if must is None else f"{must:.2f}",
            "-" if entry["loss"] is None else f"{entry['loss']:.3f}",
        )
    return shown


def markdown(found: Sequence[Entry]) -> str:
    """Return the same table as it stands in the docs."""
    rows = [
        "| Mechanism | Attained | Must attain | Exact loss | By | Canary | Runs |",
        "|---|---:|---:|---:|---|---|---:|",
    ]
    for entry in found:
        must = least(entry["mechanism"], entry["epsilon"])
        numbers = f"{entry['lower']:.2f} | {'-' if must is None else f'{must:.2f}'} | {entry['loss']:.3f}"
        rows.append(
            f"| `{entry['mechanism']}` | {numbers} | {entry['statistic']} | {entry['canary']} | {entry['runs']:,} |"
        )
    return "\n".join(rows)
