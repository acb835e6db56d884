"""The bounds that methods are compared under: a common one, each method's own, or one chosen privately."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from gridveil.publishing.spec import Spec
from gridveil.research.compare.trial import AUTO, Trial
from gridveil.trusted.budget import Bound

CAP, CLIP = "cap", "clip"
"""Keep the common step bound, or cut every step at its share of the window bound (the paper's kind of clip)."""

TUNED = (
    "Own bounds were tuned on other hours of London households (uniform placement, workloads random and large, 2 "
    "repeats); `publish` does not use them, and on other data or workloads they can lose to the common bound."
)
"""What a reader of errors under own bounds must know; the table's `about` says it at length."""

KINDS = (CAP, CLIP)
FACTORS = ("1/4", "1/2", "1", "2", "4")


class TrialBounds(NamedTuple):
    """The public bounds of a comparison: the common one, if any, and one that the steps alone give.

    auto: whether methods run under bounds that they choose privately, below the second.
    """

    common: Bound | None
    of_steps: Bound
    auto: bool

    @classmethod
    def of(cls, spec: Spec) -> TrialBounds:
        """Return what a spec asks for: its window bound, private bounds, or both."""
        common = None if spec.private_bound else spec.to_bound()
        of_steps = spec.model_copy(update={"bound_window": None}).to_bound()
        return cls(common, of_steps, auto=spec.private_bound or spec.bound is not None)

    def apply(self, trial: Trial, steps: int) -> list[Trial]:
        """Return a trial under each of the bounds; one stands for both where a method's own is the common one."""
        trials = []
        if self.common is not None:
            own = own_bound(trial.mechanism, trial.epsilon, self.common, steps)
            if own == self.common:
                trials.append(replace(trial, bound=own, bound_names=("common", "own")))
            else:
                trials.append(replace(trial, bound=self.common, bound_names=("common",)))
                trials.append(replace(trial, bound=own, bound_names=("own",)))
        if self.auto:
            trials.append(replace(trial, bound=self.of_steps, bound_names=(AUTO,)))
        return trials


def own_bound(mechanism: str, epsilon: float, common: Bound, steps: int) -> Bound:
    """Return the bound under which a method did best on data kept apart for tuning; the common one if it was not tuned.

    The table holds a choice for some epsilons, as a public factor of the common bound; the one nearest by ratio counts.
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
    kept: dict[str, Any] = json.loads((files("gridveil.research.compare") / "own_bounds.json").read_text("utf-8"))
    return kept["bounds"]  # type: ignore[no-any-return]  # as benchmarks/own_bounds.py writes it
