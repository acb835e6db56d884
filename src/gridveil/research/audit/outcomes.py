"""One run of the real path, from the kernel to the label and the files, and its replay in the other world."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.mechanisms.base import list_defaults
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import GridveilError
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import make_label, release_with_private_bound
from gridveil.publishing.spec import make_spec
from gridveil.release.format.label import Label
from gridveil.release.format.netcdf import write_release
from gridveil.research.audit.canaries import TRAIN, Worlds
from gridveil.research.audit.transcript import Recorder, Repeater, TranscriptEntry, TranscriptPair
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel import kernel as trusted
from gridveil.trusted.kernel.kernel import Kernel, Record, Source
from gridveil.trusted.kernel.noise import Noise
from gridveil.uncertainty import Estimate

TODAY = date(2026, 1, 1)
SMALL = {"train_steps": TRAIN, "epochs": 1, "depth": 2, "buckets": 6}
"""Parameters that fit the small grid, of mechanisms that have them."""


@dataclass(frozen=True)
class AuditCase:
    """What is attacked: a mechanism with its budget, on a pair of worlds."""

    plan: Plan
    budget: PureDP
    worlds: Worlds

    @classmethod
    def of(cls, mechanism: str, epsilon: float | str, worlds: Worlds, **parameters: Any) -> AuditCase:  # noqa: ANN401  # of a mechanism
        """Return the case of a registered mechanism."""
        grid, window, bound = worlds.grid, worlds.window, worlds.bound
        stated = {} if worlds.private_bound else {"bound_window": bound.window / WH_PER_KWH}
        fitting = {key: SMALL[key] for key in list_defaults(mechanism) if key in SMALL}
        spec = make_spec(
            {
                "extent": (grid.x0, grid.y0, grid.x1, grid.y1),
                "grid": (grid.nx, grid.ny),
                "start": window.start,
                "steps": window.steps,
                "bound_step": bound.step / WH_PER_KWH,
                "epsilon": str(epsilon),
                "mechanism": mechanism,
                "parameters": {**fitting, **parameters},
                **stated,
            }
        )
        return cls(Plan.of(spec), PureDP(str(epsilon)), worlds)


@dataclass(frozen=True)
class Outcome:
    """All that came of a run, and what passed between kernel and noise if that was recorded."""

    estimate: Estimate
    label: Label
    records: tuple[Record, ...]
    transcript: tuple[TranscriptEntry, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)


def run_once(case: AuditCase, *, canary: bool, noise: Noise | None = None, write: bool = False) -> Outcome:
    """Publish once, with or without the canary in the data.

    noise: the kernel's own by default, which is exact and drawn from the system.
    write: also write the release, to a folder that is gone afterwards, and return its files.
    """
    plan = case.plan
    source: Source = case.worlds.with_canary if canary else case.worlds.without
    kernel = Kernel(source, plan.window, budget=case.budget, bound=case.worlds.bound, noise=noise)
    if plan.spec.private_bound:
        estimate = release_with_private_bound(kernel, plan.mechanism)
    else:
        estimate = plan.mechanism.release(kernel.session())
    label = make_label(plan, kernel, estimate, TODAY)
    return Outcome(estimate, label, kernel.records, files=_write_files(plan, estimate, label) if write else {})


def run_recorded(case: AuditCase, *, canary: bool, noise: Noise | None = None, write: bool = False) -> Outcome:
    """Publish once with the kernel's noise, or another, and record the transcript.

    The label then says that the noise is a test's, because the kernel believes no wrapper; nothing else differs.
    """
    # Looked up where the kernel does: a test may have planted another.
    own: Noise = trusted.ExactNoise()  # type: ignore[attr-defined]  # the kernel's import of it
    recorder = Recorder(own if noise is None else noise)
    outcome = run_once(case, canary=canary, noise=recorder, write=write)
    return Outcome(outcome.estimate, outcome.label, outcome.records, tuple(recorder.entries), outcome.files)


def _write_files(plan: Plan, estimate: Estimate, label: Label) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        path = Path(folder) / "release"
        write_release(path, grid=plan.grid, window=plan.window, estimate=estimate, label=label)
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def replay_run(case: AuditCase, *, canary: bool) -> TranscriptPair:
    """Record a run, and replay its noisy answers in the other world; refuse if that leads to another release."""
    first = run_recorded(case, canary=canary)
    repeater = Repeater(first.transcript)
    second = run_once(case, canary=not canary, noise=repeater)
    if len(repeater.entries) < len(first.transcript) or not is_same(first, second):
        msg = "the same noisy answers led to another release: something beside them depends on the data"
        raise GridveilError(msg, code="replay-differs")
    here, there = first.transcript, tuple(repeater.entries)
    return TranscriptPair(here, there) if canary else TranscriptPair(there, here)


def is_same(first: Outcome, second: Outcome) -> bool:
    """Whether two runs came to the same: values, error bars and label, bit by bit."""
    return _equal(first.estimate, second.estimate) and first.label == second.label and first.records == second.records


def _equal(one: object, other: object) -> bool:
    """Whether two values, or dataclasses of arrays, are the same."""
    if is_dataclass(one):
        parts = (field.name for field in fields(one))
        return type(one) is type(other) and all(_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other), equal_nan=True)
    return one == other
