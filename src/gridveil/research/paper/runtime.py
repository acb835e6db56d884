"""How long each method takes, with the noise of a publication, one after another."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gridveil.mechanisms.registry import COMPARISON_ONLY, make
from gridveil.research import nonprivate as yardsticks
from gridveil.research.compare.scoring import Record
from gridveil.research.compare.trial import Towns
from gridveil.research.paper.towns import LONDON, clip_of, common_bound
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.kernel import Kernel

PLACEMENT = "uniform"
LEARNING = "learn the pattern"
"""The stage of STPT that the paper calls a one-time process."""


@dataclass(frozen=True)
class RuntimeTrial:
    """One method, timed once on London."""

    mechanism: str
    epsilon: float
    repeat: int


@dataclass(frozen=True)
class RunRuntime:
    """Times methods. To be run one at a time, in a process that does nothing else."""

    towns: Towns

    def __call__(self, trial: RuntimeTrial) -> list[Record]:
        """Return the one record of a trial. `learning` is until a pattern is learnt, for methods that learn one.

        Loading libraries is not timed. A yardstick has no kernel and draws its noise with numpy.
        """
        placed = self.towns(LONDON, PLACEMENT, trial.repeat)
        bound, clip, learnt = common_bound(LONDON), clip_of(LONDON), 0.0
        _load_torch(trial.mechanism)
        started = time.perf_counter()
        if trial.mechanism in COMPARISON_ONLY:
            yardsticks.make(trial.mechanism).release(placed, trial.epsilon, bound, clip, trial.repeat)
        else:
            kernel = Kernel(placed.source(), placed.dataset.window, budget=PureDP(trial.epsilon), bound=bound)

            def tell(stage: str, done: float) -> None:
                nonlocal learnt
                if stage == LEARNING and done == 1.0:
                    learnt = time.perf_counter()

            make(trial.mechanism, {}).release(kernel.session(), tell)
        seconds = time.perf_counter() - started
        learning = learnt - started if learnt else None
        facts = {"mechanism": trial.mechanism, "epsilon": trial.epsilon, "repeat": trial.repeat}
        return [{**facts, "seconds": seconds, "learning": learning}]


def _load_torch(mechanism: str) -> None:
    if mechanism.startswith("stpt"):
        import torch  # noqa: F401  # loaded, not used: the method will find it
