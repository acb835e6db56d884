"""What is compared: methods with their parameters, epsilons and repeats, and the trials they make under each bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gridveil.mechanisms.registry import COMPARISON_ONLY, list_names, make
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import UsageError
from gridveil.publishing.spec import Spec
from gridveil.research.compare.own_bounds import own_bound
from gridveil.research.compare.trial import AUTO, Trial
from gridveil.research.datasets.ingested import AS_GIVEN, NAME
from gridveil.research.datasets.placements import PLACEMENTS
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.bound import Bound

EPSILONS = (1.0, 3.0, 10.0, 30.0)
REPEATS = 10


@dataclass(frozen=True)
class ComparisonQuestion:
    """What to compare: methods and epsilons, so many repeats, under what placement, clip and workloads.

    mechanisms: names, with parameters behind colons if they are to be other than the defaults: `outer:share=0.5`.
    clip: kWh of one reading, for the clipped truth; by default a step's share of the window bound, or the step bound
        where the window's is chosen privately.
    points: a table of points and weights, for the placement `density`; `weight` names the column of the weights.
    """

    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...] = EPSILONS
    repeats: int = REPEATS
    placement: str | None = None
    points: Path | None = None
    weight: str = "weight"
    clip: float | None = None
    workloads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be asked before anything is read."""
        known = all_methods()
        unknown = [name for name, _ in map(parse_method, self.mechanisms) if name not in known]
        if unknown or not self.mechanisms:
            msg = f"there is no mechanism {', '.join(unknown) or 'named'}; there are: {', '.join(known)}"
            raise UsageError(msg, code="mechanism-unknown")
        for name, parameters in map(parse_method, self.mechanisms):
            if name not in COMPARISON_ONLY:
                make(name, dict(parameters))
            elif parameters:
                msg = f"{name} has no parameters to set"
                raise UsageError(msg, code="parameter-unknown")
        if not self.epsilons or self.repeats < 1:
            msg = "give at least one epsilon and one repeat"
            raise UsageError(msg, code="no-epsilon")
        for epsilon in self.epsilons:
            PureDP(epsilon)
        if self.clip is not None and not self.clip > 0:
            msg = f"clip {self.clip}: give kWh above zero, from public statistics"
            raise UsageError(msg, code="clip-invalid")
        if self.placement is not None and self.placement not in PLACEMENTS:
            msg = f"placement {self.placement}: there are {', '.join(PLACEMENTS)}"
            raise UsageError(msg, code="placement-unknown")
        if (self.points is not None) != (self.placement == "density"):
            msg = "placement density draws places from a table of points and weights (--points FILE), and no other does"
            raise UsageError(msg, code="placement-points")


def parse_method(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the name and the parameters of a method.

    >>> parse_method("stpt:depth=4:epochs=2")
    ('stpt', (('depth', '4'), ('epochs', '2')))
    """
    name, *settings = text.split(":")
    pairs = [setting.partition("=") for setting in settings]
    if not all(equals for _, equals, _ in pairs):
        msg = f"{text}: write parameters of a mechanism as NAME:PARAMETER=VALUE, e.g. outer:share=0.5"
        raise UsageError(msg, code="parameter-syntax")
    return name, tuple((parameter.strip(), value.strip()) for parameter, _, value in pairs)


def all_methods() -> list[str]:
    """Return the names of all that can be compared: mechanisms first, then the methods for comparison only."""
    return [*list_names(), *COMPARISON_ONLY]


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


def make_trials(question: ComparisonQuestion, bounds: TrialBounds, steps: int) -> list[Trial]:
    """Return the trials: repeat by repeat, so that processes share what they prepare, and a part is worth something."""
    public = bounds.common or bounds.of_steps
    clip = question.clip if question.clip is not None else public.window / steps / WH_PER_KWH
    trials = []
    for repeat in range(question.repeats):
        for mechanism, parameters in map(parse_method, question.mechanisms):
            for epsilon in question.epsilons:
                trial = Trial(
                    dataset=NAME,
                    placement=question.placement or AS_GIVEN,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    bound=public,
                    clip=max(1, round(clip * WH_PER_KWH)),
                    repeat=repeat,
                    parameters=parameters,
                )
                trials += under_both_bounds(trial, steps) if bounds.common else []
                trials += [replace(trial, bound=bounds.of_steps, bound_names=(AUTO,))] if bounds.auto else []
    return trials


def under_both_bounds(trial: Trial, steps: int) -> list[Trial]:
    """Return a trial under the common bound, which it has, and one under the method's own; or one for both."""
    own = own_bound(trial.mechanism, trial.epsilon, trial.bound, steps)
    if own == trial.bound:
        return [replace(trial, bound_names=("common", "own"))]
    return [replace(trial, bound_names=("common",)), replace(trial, bound=own, bound_names=("own",))]
