"""The result of an audit: an entry for each mechanism, what there is to object to, and both as JSON and words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gridveil.research.audit.effort import ERROR
from gridveil.research.audit.least import least, least_by_whole_runs, least_largest_loss, least_loss
from gridveil.research.audit.study import TRANSCRIPT, AuditFinding, Carried

Entry = dict[str, Any]

DIFFERING = ("lower", "runs", "statistic", "ceiling", "canary", "bound", "parameters")
"""What the findings of one mechanism differ in."""


def entries(results: Mapping[str, Carried], epsilon: float) -> list[Entry]:
    """Return an entry for each mechanism: its strongest finding; `others` are those that prove less.

    `mechanism, epsilon, lower, confidence, runs, statistic, ceiling`, and where it was: `canary, bound, parameters`.
    `losses` are the exact losses of the worst transcripts seen, by attack, `loss` is the largest; `None` where the same
    answers led to something else. `faults` are proofs of another kind. Nothing is rounded that is compared with a
    claim.
    """
    found = []
    for mechanism, carried in results.items():
        nothing = AuditFinding(mechanism, epsilon, 0.0, 1 - ERROR, 0, "none: see what it objects to", 0.0, "", "", {})
        first, *others = [asdict(finding) for finding in carried.findings or [nothing]]
        about = {
            "loss": _written(carried.loss),
            "losses": {name: _written(loss) for name, loss in carried.losses.items()},
            "faults": carried.faults,
        }
        found.append({**first, **about, "others": [{name: other[name] for name in DIFFERING} for other in others]})
    return found


def whole_runs(entry: Entry) -> list[Entry]:
    """Return the findings of an entry that were made by whole runs, the strongest first."""
    return [finding for finding in (entry, *entry["others"]) if finding["runs"] and finding["statistic"] != TRANSCRIPT]


def objections(found: Sequence[Entry]) -> list[str]:
    """Return what an audit objects to, in words; empty if the claim stands and the attacks were strong enough."""
    return [words for entry in found for words in (*entry["faults"], *_above(entry), *_weak(entry))]


def powerless(found: Sequence[Entry]) -> list[str]:
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


def _above(entry: Entry) -> list[str]:
    name, claim = entry["mechanism"], entry["epsilon"]
    if entry["lower"] <= claim:
        return []
    return [f"{name}: attained {entry['lower']:.9g} by its {entry['statistic']}, above the claim of {claim:g}"]


def _weak(entry: Entry) -> list[str]:
    """Return which attacks attained less than they must: the strongest, whole runs, and the exact loss of each."""
    name, claim = entry["mechanism"], entry["epsilon"]
    by_runs = max((finding["lower"] for finding in whole_runs(entry)), default=0.0)
    # Where nothing finite was seen, `faults` says so already.
    losses = {attack: loss for attack, loss in entry["losses"].items() if loss is not None}
    attained = [
        ("the attacks", entry["lower"], least(name, claim)),
        ("whole runs", by_runs, least_by_whole_runs(name, claim)),
        *(
            (f"the exact loss of canary {attack}", loss, least_loss(name, attack, claim))
            for attack, loss in losses.items()
        ),
    ]
    if losses:
        attained.append(("the largest exact loss", max(losses.values()), least_largest_loss(name, claim)))
    return [
        f"{name}: {what} attained {number:g}, but must attain {must:g}: weaker than they were"
        for what, number, must in attained
        if must is not None and number < must
    ]


def _written(loss: float) -> float | None:
    return round(loss, 6) if math.isfinite(loss) else None
