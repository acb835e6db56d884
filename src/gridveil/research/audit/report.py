"""The result of an audit: findings by mechanism, objections, and both as JSON, table and figure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from gridveil.report.figures.chart import COLOURS, INK, LINE, QUIET
from gridveil.research.audit.effort import ERROR, minimum_bound, minimum_by_runs, minimum_largest_loss, minimum_loss
from gridveil.research.audit.study import TRANSCRIPT, AttackResult, AuditFinding

Entry = dict[str, Any]

DIFFERING = ("lower", "runs", "statistic", "ceiling", "canary", "bound", "parameters")
"""What the findings of one mechanism differ in."""

WIDTH, ROW, HEAD, FOOT = 8.0, 0.27, 1.15, 0.6
"""Inches: of the picture, of a mechanism, above the rows and below."""

ROOM = 1.12
"""Of the axis beyond the largest number."""

ATTAINED, ABOVE = COLOURS[0], COLOURS[1]


def make_entries(results: Mapping[str, AttackResult], epsilon: float) -> list[Entry]:
    """Return an entry for each mechanism: its strongest finding; `others` are those that prove less.

    `mechanism, epsilon, lower, confidence, runs, statistic, ceiling`, and where it was: `canary, bound, parameters`.
    `losses` are the exact losses of the worst transcripts seen, by attack, `loss` is the largest; `None` where the same
    answers led to something else. `faults` are proofs of another kind. Nothing is rounded that is compared with a
    claim.
    """
    found = []
    for mechanism, result in results.items():
        nothing = AuditFinding(mechanism, epsilon, 0.0, 1 - ERROR, 0, "none: see what it objects to", 0.0, "", "", {})
        first, *others = [asdict(finding) for finding in result.findings or [nothing]]
        about = {
            "loss": _finite_or_none(result.loss),
            "losses": {name: _finite_or_none(loss) for name, loss in result.losses.items()},
            "faults": result.faults,
        }
        found.append({**first, **about, "others": [{name: other[name] for name in DIFFERING} for other in others]})
    return found


def select_runs(entry: Entry) -> list[Entry]:
    """Return the findings of an entry that were made by whole runs, the strongest first."""
    return [finding for finding in (entry, *entry["others"]) if finding["runs"] and finding["statistic"] != TRANSCRIPT]


def list_objections(found: Sequence[Entry]) -> list[str]:
    """Return what an audit objects to, in words; empty if the claim stands and the attacks were strong enough."""
    return [words for entry in found for words in (*entry["faults"], *_list_exceeded(entry), *_list_weak(entry))]


def list_powerless(found: Sequence[Entry]) -> list[str]:
    """Return, in words, which attacks could not have refuted the claim whatever leaks: they are too few runs."""
    groups: dict[tuple[int, float, float], dict[str, None]] = {}
    for entry in found:
        for finding in (entry, *entry["others"]):
            if 0 < finding["ceiling"] <= entry["epsilon"]:
                group = finding["runs"], finding["ceiling"], entry["epsilon"]
                groups.setdefault(group, {})[entry["mechanism"]] = None
    return [
        f"{runs:,} runs prove {ceiling:.2f} at most and cannot refute a claim of {claim:g}: {', '.join(mechanisms)}"
        for (runs, ceiling, claim), mechanisms in sorted(groups.items())
    ]


def as_json(found: Sequence[Entry]) -> bytes:
    """Return the entries as a JSON file."""
    return (json.dumps(found, indent=1, allow_nan=False) + "\n").encode()


def _list_exceeded(entry: Entry) -> list[str]:
    name, claim = entry["mechanism"], entry["epsilon"]
    if entry["lower"] <= claim:
        return []
    return [f"{name}: attained {entry['lower']:.9g} by its {entry['statistic']}, above the claim of {claim:g}"]


def _list_weak(entry: Entry) -> list[str]:
    """Return which attacks attained less than they must: the strongest, whole runs, and the exact loss of each."""
    name, claim = entry["mechanism"], entry["epsilon"]
    by_runs = max((finding["lower"] for finding in select_runs(entry)), default=0.0)
    # Where nothing finite was seen, `faults` says so already.
    losses = {attack: loss for attack, loss in entry["losses"].items() if loss is not None}
    attained = [
        ("the attacks", entry["lower"], minimum_bound(name, claim)),
        ("whole runs", by_runs, minimum_by_runs(name, claim)),
        *(
            (f"the exact loss of canary {attack}", loss, minimum_loss(name, attack, claim))
            for attack, loss in losses.items()
        ),
    ]
    if losses:
        attained.append(("the largest exact loss", max(losses.values()), minimum_largest_loss(name, claim)))
    return [
        f"{name}: {what} attained {number:g}, but must attain {must:g}: weaker than they were"
        for what, number, must in attained
        if must is not None and number < must
    ]


def _finite_or_none(loss: float) -> float | None:
    return round(loss, 6) if math.isfinite(loss) else None


def make_table(found: Sequence[Entry]) -> Table:
    """Return a row for each mechanism: what is claimed, what was attained, and by what."""
    confidence = f"{found[0]['confidence']:.6f}"
    shown = Table(title=f"Lower bounds on epsilon, all at once with confidence {confidence}", title_justify="left")
    shown.add_column("mechanism", no_wrap=True)
    for heading in ("strongest statistic", "canary"):
        shown.add_column(heading, overflow="fold")
    for heading in ("runs", "claimed", "attained", "at least", "ceiling", "whole runs", "exact loss"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for entry in found:
        must = minimum_bound(entry["mechanism"], entry["epsilon"])
        shown.add_row(
            entry["mechanism"],
            entry["statistic"],
            entry["canary"],
            f"{entry['runs']:,}",
            f"{entry['epsilon']:g}",
            f"{entry['lower']:.2f}",
            "-" if must is None else f"{must:.2f}",
            f"{entry['ceiling']:.2f}",
            _format_runs(entry),
            "-" if entry["loss"] is None else f"{entry['loss']:.3f}",
        )
    return shown


def _format_runs(entry: Entry) -> str:
    """Return what whole runs attained, and the most that they could have."""
    found = select_runs(entry)
    if not found:
        return "-"
    return f"{found[0]['lower']:.2f} of {max(finding['ceiling'] for finding in found):.2f}"


def state_verdict(found: Sequence[Entry]) -> str:
    """Return what an audit comes to that objects to nothing."""
    if all(minimum_bound(entry["mechanism"], entry["epsilon"]) is not None for entry in found):
        return "No lower bound is above its claim, and every attack was as strong as it must be."
    return (
        "No lower bound is above its claim. No minimum is stated here, so how strong the attacks were is not checked."
    )


def make_markdown(found: Sequence[Entry]) -> str:
    """Return the same table as it stands in the docs."""
    rows = [
        "| Mechanism | Attained | Must attain | Ceiling | Whole runs | Exact loss | By | Canary | Runs |",
        "|---|---:|---:|---:|---:|---:|---|---|---:|",
    ]
    for entry in found:
        must = minimum_bound(entry["mechanism"], entry["epsilon"])
        cells = [
            f"`{entry['mechanism']}`",
            f"{entry['lower']:.2f}",
            "-" if must is None else f"{must:.2f}",
            f"{entry['ceiling']:.2f}",
            _format_runs(entry),
            f"{entry['loss']:.3f}",
            entry["statistic"],
            entry["canary"],
            f"{entry['runs']:,}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def draw_audit(found: Sequence[Entry]) -> Figure:
    """Draw a bar for each mechanism from nothing to what was attained, the exact loss, and the line of the claim."""
    height = HEAD + FOOT + ROW * len(found)
    figure = Figure(figsize=(WIDTH, height), dpi=150, facecolor="white")
    axes = figure.add_axes((0.15, FOOT / height, 0.80, ROW * len(found) / height))
    claim = max(entry["epsilon"] for entry in found)
    figure.text(0.03, 1 - 0.33 / height, "Claimed and attained epsilon", color=INK, size=13, weight="bold")
    bars = (
        f"Bars: lower bounds on epsilon that attacks proved, all at once with confidence {found[0]['confidence']:.6f}."
    )
    figure.text(0.03, 1 - 0.60 / height, bars, color=QUIET, size=9)
    dots = "Dots: the exact loss of the worst transcript seen, which endless runs would attain."
    figure.text(0.03, 1 - 0.80 / height, dots, color=QUIET, size=9)
    for row, entry in enumerate(found):
        over = entry["lower"] > entry["epsilon"] or entry["faults"]
        axes.barh(row, entry["lower"], height=0.62, color=ABOVE if over else ATTAINED, zorder=2)
        axes.text(entry["lower"] + claim / 100, row, f"{entry['lower']:.2f}", va="center", color=INK, size=8, zorder=4)
        if entry["loss"] is not None:
            axes.plot(entry["loss"], row, marker="o", markersize=5, color=INK, zorder=3)
    axes.axvline(claim, color=ABOVE, linewidth=1.2, linestyle=(0, (4, 3)), zorder=2.5)
    axes.annotate(
        f"claim: {claim:g}",
        xy=(claim, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=ABOVE,
        size=8,
    )
    axes.set_yticks(range(len(found)), [entry["mechanism"] for entry in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(0, max([claim, *(entry["lower"] for entry in found)]) * ROOM)
    axes.set_xlabel("epsilon (larger: less private)", color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=9)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.grid(axis="x", color=LINE, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    return figure
