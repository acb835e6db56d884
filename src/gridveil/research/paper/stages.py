"""The stages of the whole run, the most telling first, and about how long each trial of them takes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gridveil.research.compare.scoring import Record
from gridveil.research.compare.trial import RunTrial
from gridveil.research.paper import experiments
from gridveil.research.paper.experiments import PAPER_EPSILON, PAPER_PLACEMENTS, SLOW, ExperimentSize
from gridveil.research.paper.pattern import PatternTrial, RunPattern
from gridveil.research.paper.runtime import RunRuntime
from gridveil.research.paper.towns import PaperTowns
from gridveil.simulate.workloads import expand_workloads

SECONDS = {"stpt": 3.0, "stpt-paper": 5.0, "stpt-leaky": 3.0, "htf": 1.0, "pgm": 1.0, "fast": 0.4, "hdmm": 0.3}
"""Of one trial on 32 x 32 x 120, on one core of a desktop computer, roughly: for the time left."""
OTHERS = 0.15
PER_DEPTH = (0.1, 0.3, 0.6, 1.0, 4.0, 9.0)
"""How much longer a plain pattern takes to learn with a deeper tree: four times the series, in a sixth of the time."""


@dataclass(frozen=True)
class Stage:
    """Trials of one kind that are run together, and written to `<file>.jsonl` together with stages of the same file."""

    file: str
    title: str
    trials: tuple[Any, ...]
    run: Callable[[Any], list[Record]]
    workers: int | None = None

    def seconds(self, trial: Any) -> float:  # noqa: ANN401  # a trial of this stage's kind
        """Return about how long a trial takes, spread over the cores that work on the stage."""
        name = trial.method if isinstance(trial, PatternTrial) else trial.mechanism
        cost = SECONDS.get(name, OTHERS)
        if isinstance(trial, PatternTrial) and trial.method != "stpt":
            cost *= PER_DEPTH[trial.depth]
        return cost / (self.workers or os.cpu_count() or 1)


def stages(size: ExperimentSize, towns: PaperTowns) -> list[Stage]:
    """Return all stages in the order in which they are run."""
    ours, all_of_them = RunTrial(towns), RunTrial(towns, expand_workloads(["authors"]))
    placements = (*PAPER_PLACEMENTS, *(["density"] if towns.points else []))
    papers = experiments.panels(size, PAPER_EPSILON)
    others = [epsilon for epsilon, _ in size.panels if epsilon != PAPER_EPSILON]
    rest = sorted(
        (trial for each in others for trial in experiments.panels(size, each)), key=lambda trial: trial.repeat
    )
    quick, slow = (tuple(trial for trial in rest if (trial.mechanism in SLOW) == learns) for learns in (False, True))
    named = ", ".join(f"{epsilon:g}" for epsilon in others)
    return [
        Stage("london", "London", tuple(experiments.london(size, placements)), ours),
        Stage("panels", f"stand-ins at epsilon {PAPER_EPSILON:g}", tuple(papers), ours),
        Stage("leak", "what the leak is worth", tuple(experiments.leak(size)), all_of_them),
        Stage("buckets", "buckets", tuple(experiments.buckets(size)), ours),
        Stage("panels", f"stand-ins at epsilon {named}", quick, ours),
        Stage("pattern", "patterns", tuple(experiments.patterns(size)), RunPattern(towns)),
        Stage("runtime", "run times", tuple(experiments.runtimes(size)), RunRuntime(towns), workers=1),
        Stage("panels", f"stand-ins at epsilon {named}, networks", slow, ours),
    ]
