"""An audit as a table, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from gridveil.research.audit.least import least
from gridveil.research.audit.result import Entry, whole_runs


def table(found: Sequence[Entry]) -> Table:
    """Return a row for each mechanism: what is claimed, what was attained, and by what."""
    confidence = f"{found[0]['confidence']:.6f}"
    shown = Table(title=f"Lower bounds on epsilon, all at once with confidence {confidence}", title_justify="left")
    shown.add_column("mechanism", no_wrap=True)
    for heading in ("strongest statistic", "canary"):
        shown.add_column(heading, overflow="fold")
    for heading in ("runs", "claimed", "attained", "at least", "ceiling", "whole runs", "exact loss"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for entry in found:
        must = least(entry["mechanism"], entry["epsilon"])
        shown.add_row(
            entry["mechanism"],
            entry["statistic"],
            entry["canary"],
            f"{entry['runs']:,}",
            f"{entry['epsilon']:g}",
            f"{entry['lower']:.2f}",
            "-" if must is None else f"{must:.2f}",
            f"{entry['ceiling']:.2f}",
            by_whole_runs(entry),
            "-" if entry["loss"] is None else f"{entry['loss']:.3f}",
        )
    return shown


def by_whole_runs(entry: Entry) -> str:
    """Return what whole runs attained, and the most that they could have."""
    found = whole_runs(entry)
    if not found:
        return "-"
    return f"{found[0]['lower']:.2f} of {max(finding['ceiling'] for finding in found):.2f}"


def verdict(found: Sequence[Entry]) -> str:
    """Return what an audit comes to that objects to nothing."""
    if all(least(entry["mechanism"], entry["epsilon"]) is not None for entry in found):
        return "No lower bound is above its claim, and every attack was as strong as it must be."
    return (
        "No lower bound is above its claim. No minimum is stated here, so how strong the attacks were is not checked."
    )


def markdown(found: Sequence[Entry]) -> str:
    """Return the same table as it stands in the docs."""
    rows = [
        "| Mechanism | Attained | Must attain | Ceiling | Whole runs | Exact loss | By | Canary | Runs |",
        "|---|---:|---:|---:|---:|---:|---|---|---:|",
    ]
    for entry in found:
        must = least(entry["mechanism"], entry["epsilon"])
        cells = [
            f"`{entry['mechanism']}`",
            f"{entry['lower']:.2f}",
            "-" if must is None else f"{must:.2f}",
            f"{entry['ceiling']:.2f}",
            by_whole_runs(entry),
            f"{entry['loss']:.3f}",
            entry["statistic"],
            entry["canary"],
            f"{entry['runs']:,}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
