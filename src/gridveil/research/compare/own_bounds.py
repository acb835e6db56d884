"""The bound under which each method did best on data kept apart for tuning, as public factors of a common one."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from gridveil.trusted.kernel.bound import Bound

CAP, CLIP = "cap", "clip"
"""Keep the common step bound, or cut every step at its share of the window bound (the paper's kind of clip)."""

TUNED = (
    "Own bounds were tuned on other hours of London households (uniform placement, workloads random and large, 2 "
    "repeats); `publish` does not use them, and on other data or workloads they can lose to the common bound."
)
"""What a reader of errors under own bounds must know; the table's own words say it at length."""

KINDS = (CAP, CLIP)
FACTORS = ("1/4", "1/2", "1", "2", "4")


def own_bound(mechanism: str, epsilon: float, common: Bound, steps: int) -> Bound:
    """Return a method's own bound for a window of `steps` steps; the common one if it has not been tuned.

    The table holds a choice for some epsilons; the one nearest by ratio counts.
    """
    tuned = _table().get(mechanism)
    if not tuned:
        return common
    nearest = min(tuned, key=lambda text: abs(math.log(float(text) / epsilon)))
    kind, factor = tuned[nearest]
    return scaled_bound(common, steps, kind, factor)


def scaled_bound(common: Bound, steps: int, kind: str, factor: str) -> Bound:
    """Return a bound whose window bound is `factor` times the common one, in whole Wh.

    >>> scaled_bound(Bound(20_000, 192_000), 120, "cap", "1/2")
    Bound(step=20000, window=96000)
    >>> scaled_bound(Bound(20_000, 192_000), 120, "clip", "1")
    Bound(step=1600, window=192000)
    """
    window = max(1, int(Fraction(factor) * common.window))
    if kind == CLIP:
        step = max(1, window // steps)
        return Bound(step, step * steps)
    return Bound(common.step, min(window, common.step * steps))


@cache
def _table() -> dict[str, dict[str, tuple[str, str]]]:
    held: dict[str, Any] = json.loads((files("gridveil.research.compare") / "own_bounds.json").read_text("utf-8"))
    return held["bounds"]  # type: ignore[no-any-return]  # as benchmarks/own_bounds.py writes it
