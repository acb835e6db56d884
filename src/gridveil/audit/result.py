"""The result of an audit: an entry for each mechanism, what there is to object to, and both as JSON and words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gridveil.audit.least import least
from gridveil.audit.study import Carried

Entry = dict[str, Any]


def entries(results: Mapping[str, Carried], epsilon: float) -> list[Entry]:
    """Return an entry for each mechanism: its strongest finding; `others` are those that prove less.

    `mechanism, epsilon, lower, confidence, runs, statistic`, and where it was: `canary, bound, parameters`. `loss` is
    the exact loss of the worst transcript seen, `faults` are proofs of another kind.
    """
    found = []
    for mechanism, carried in results.items():
        shown = [{**asdict(finding), "lower": round(finding.lower, 4)} for finding in carried.findings]
        first, *others = shown or [{"mechanism": mechanism, "epsilon": epsilon, "lower": 0.0, "confidence": 0.0}]
        about = {
            "loss": round(carried.loss, 6) if math.isfinite(carried.loss) else None,
            "faults": carried.faults,
        }
        differing = ("lower", "runs", "statistic", "canary", "bound", "parameters")
        found.append({**first, **about, "others": [{name: other[name] for name in differing} for other in others]})
    return found


def objections(found: Sequence[Entry]) -> list[str]:
    """Return what an audit objects to, in words; empty if the claim stands and the attacks were strong enough."""
    words = []
    for entry in found:
        name, lower, claim = entry["mechanism"], entry["lower"], entry["epsilon"]
        words += entry["faults"]
        if lower > claim:
            words.append(f"{name}: attained {lower:g} by its {entry['statistic']}, above the claim of {claim:g}")
        must = least(name, claim)
        if must is not None and lower < must:
            words.append(f"{name}: attained {lower:g}, but the attacks must attain {must:g}: they got weaker")
    return words


def as_json(found: Sequence[Entry]) -> bytes:
    """Return the entries as a JSON file."""
    return (json.dumps(found, indent=1, allow_nan=False) + "\n").encode()
