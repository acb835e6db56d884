"""Make attacks.json, the pictures and the tables of docs/attacks.md from what attacks.py has written.

python benchmarks/attacks_report.py STUDY.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from attacks import EPSILONS, GRID, HOUSEHOLDS, VALUES_EPSILONS, WINDOW, as_facts, ordinary, placed, suspect, town
from attacks_figures import draw_difference, draw_rates

from gridveil.geography.grid import Grid
from gridveil.research.audit.attack_tables import replace_tables
from gridveil.research.audit.attacks import (
    Likeness,
    find_exposed,
    find_isolated,
    publish_by_rule,
    remove_household,
    round_to_wh,
)
from gridveil.research.audit.bound import estimate_rate
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.simulate.town import Town

KEPT = Path(__file__).with_name("attacks.json")
DOCS = Path(__file__).parent.parent / "docs"
RULES = {
    "15/15: 15 customers, none above 15 %": CountRule(15, 15),
    "5 meters": CountRule(5, 100),
    "10 connections": CountRule(10, 100),
    "100 customers": CountRule(100, 100),
}
TRIED = 50
METRES = 5
SHOWN = 3.0

Record = dict[str, Any]


def rule_facts(name: str, rule: CountRule, whole: PlacedDataset) -> Record:
    """Return what a rule gives away; some of those whose curve it gives away are tried, to see that it does."""
    gives = find_exposed(whole, rule)
    published = publish_by_rule(whole, rule)
    exposed_ones = np.flatnonzero(gives.by_difference)
    tried = np.random.default_rng(0).choice(exposed_ones, min(TRIED, len(exposed_ones)), replace=False)
    errors = [0]
    for household in tried:
        x, y = whole.cells[household]
        left = round_to_wh(published[x, y] - publish_by_rule(remove_household(whole, int(household)), rule)[x, y])
        errors.append(int(np.abs(left - whole.dataset.readings[household]).max()))
    return {
        "name": name,
        "cells": int(np.isfinite(published).all(axis=2).sum()),
        "occupied": len(np.unique(whole.cells, axis=0)),
        "households": len(whole.cells),
        "published": int(gives.published.sum()),
        "by_difference": int(gives.by_difference.sum()),
        "by_threshold": int(gives.by_threshold.sum()),
        "tried": len(tried),
        "largest_error_wh": max(errors),
    }


def borders(whole: PlacedDataset) -> Record:
    """Return whom a second publication gives away whose borders lie a few metres further east."""
    moved = Grid(GRID.x0 + METRES, GRID.y0, GRID.x1 + METRES, GRID.y1, GRID.nx, GRID.ny)
    other = replace(whole, grid=moved, cells=Town(moved, WINDOW, town().x, town().y, town().consumption).cells)
    alone = find_isolated(whole, other, CountRule())
    return {"metres": METRES, "crossed": int((whole.cells != other.cells).any(axis=1).sum()), "alone": len(alone)}


def by_values(records: list[Record]) -> Iterator[Record]:
    """Yield what the realistic attacker attained, with the better of two statistics."""
    for epsilon in VALUES_EPSILONS:
        of = {world: [r for r in records if (r["epsilon"], r["world"]) == (epsilon, world)] for world in TARGETS}
        for target in ("canary", "ordinary"):
            rates = []
            for which, name in enumerate(("matched", "total")):
                present, absent = (np.array([r[target][which] for r in of[world]]) for world in (target, "absent"))
                rates.append((estimate_rate(present, absent, seed=0), name))
            best, name = max(rates, key=lambda rate: rate[0].true_positives)
            yield {"epsilon": epsilon, "target": target, "statistic": name, **as_facts(best, epsilon)}


TARGETS = ("absent", "canary", "ordinary")


def differences(records: list[Record]) -> Iterator[Record]:
    """Yield how like the household's curve the differences of releases are, on average over pairs."""
    for mechanism in ("mosaic", "identity"):
        for epsilon in EPSILONS:
            of = [r for r in records if (r["mechanism"], r["epsilon"]) == (mechanism, epsilon)]
            like = np.array([r["correlation"] for r in of])
            yield {
                "mechanism": mechanism,
                "epsilon": epsilon,
                "pairs": len(of),
                "correlation": float(like.mean()),
                "correlation_low": float(like.min()),
                "correlation_high": float(like.max()),
                "error": float(np.mean([r["error"] for r in of])),
            }


def read(path: Path) -> dict[str, list[Record]]:
    """Return the records of a study by attack."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]]
    records = [record for line in lines for record in line["records"]]
    return {name: [r for r in records if r["attack"] == name] for name in ("transcript", "values", "difference")}


def main() -> None:
    study = read(Path(sys.argv[1]))
    whole = placed()
    of = suspect("ordinary")
    others = np.delete(town().consumption, ordinary(), axis=0) / 1000
    shown = next(r for r in study["difference"] if (r["mechanism"], r["epsilon"]) == ("mosaic", SHOWN))
    before, after = (
        publish_by_rule(part, CountRule())[of.cell] for part in (remove_household(whole, ordinary()), whole)
    )
    kept = {
        "made": f"{datetime.now(UTC):%Y-%m-%d}",
        "gridveil": version("gridveil"),
        "data": (
            f"the demo's invented town: {HOUSEHOLDS:,} households, {GRID.nx} x {GRID.ny} cells of "
            f"{GRID.cell_width:g} m, {WINDOW.steps} hours from {WINDOW.start:%Y-%m-%d}"
        ),
        "household": {"kwh": float(of.curve.sum()), "members": int((whole.cells == of.cell).all(axis=1).sum())},
        "rules": [rule_facts(name, rule, whole) for name, rule in RULES.items()],
        "borders": borders(whole),
        "membership": study["transcript"],
        "values": list(by_values(study["values"])),
        "difference": list(differences(study["difference"])),
        "guess": vars(Likeness.of(others.mean(axis=0), of.curve)),
        "shown": {
            "epsilon": SHOWN,
            "true": of.curve.tolist(),
            "rule": (round_to_wh(after - before) / 1000).tolist(),
            "mosaic": shown["kwh"],
        },
    }
    KEPT.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n", "utf-8")
    page = DOCS / "attacks.md"
    page.write_text(replace_tables(page.read_text("utf-8"), kept), "utf-8")
    draw_difference(kept, DOCS / "images" / "attack-difference.png")
    draw_rates(kept, DOCS / "images" / "attack-membership.png")


if __name__ == "__main__":
    main()
