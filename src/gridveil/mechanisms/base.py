"""The interface of a mechanism, and mechanisms by name. Third parties add one through `gridveil.mechanisms`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple, NoReturn, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError, quote_setting
from gridveil.model.registry import Registry
from gridveil.model.running import Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

# The interface of a mechanism, and the check of its settings before anything is read or spent.

__all__ = ["Mechanism", "Progress", "silent"]


@runtime_checkable
class Mechanism(Protocol):
    """A plan of measurements and a reconstruction. Its parameters are the fields of a frozen dataclass.

    A mechanism whose field or property `train_steps` is positive may also measure that many steps before the window.
    One with the class attribute `chooses_bounds` chooses window bounds itself where none is given; for all others
    `publishing.run.release_with_private_bound` does.
    """

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure through the kernel's session and reconstruct the cube."""


class _FirstQuestion(Exception):  # noqa: N818  # how a rehearsal ends, and nothing wrong
    """The mechanism was content with its settings, and asked."""


def check_settings(mechanism: Mechanism, grid: Grid, window: Window, bound: Bound, epsilon: float) -> None:
    """Let a mechanism refuse settings that do not fit the grid or window: run it until it asks its first question.

    What it was handed up to there is public, so that its refusal tells nothing; after the histogram of a private bound
    it would cost the whole budget.
    """

    def ask(*_: Any, **__: Any) -> NoReturn:  # noqa: ANN401  # whatever the question
        raise _FirstQuestion

    with suppress(_FirstQuestion):
        mechanism.release(Session(grid, window, bound, epsilon, ask, lambda: epsilon))


# Mechanisms by name. A third party adds one through the entry-point group `gridveil.mechanisms`.

GROUP = "gridveil.mechanisms"

_BUILT_IN = {
    "mosaic": "gridveil.mechanisms.mosaic:Mosaic",
    "stpt": "gridveil.mechanisms.stpt:Stpt",
    "stpt-paper": "gridveil.mechanisms.stpt:Stpt",
    "outer": "gridveil.mechanisms.literature.outer:Outer",
    "pgm": "gridveil.mechanisms.literature.pgm:Pgm",
    "even": "gridveil.mechanisms.literature.even:Even",
    "identity": "gridveil.mechanisms.literature.identity:Identity",
    "fourier": "gridveil.mechanisms.literature.fourier:FourierPerturbation",
    "fourier-20": "gridveil.mechanisms.literature.fourier:FourierPerturbation",
    "wavelet": "gridveil.mechanisms.literature.wavelet:WaveletPerturbation",
    "wavelet-20": "gridveil.mechanisms.literature.wavelet:WaveletPerturbation",
    "fast": "gridveil.mechanisms.literature.fast:Fast",
    "ar1": "gridveil.mechanisms.literature.ar1:Ar1",
    "ug": "gridveil.mechanisms.literature.ug:UniformGrid",
    "ag": "gridveil.mechanisms.literature.ag:AdaptiveGrid",
    "granularity": "gridveil.mechanisms.literature.granularity:Granularity",
    "dpcube": "gridveil.mechanisms.literature.dpcube:DpCube",
    "htf": "gridveil.mechanisms.literature.htf:Htf",
    "dawa": "gridveil.mechanisms.literature.dawa:Dawa",
    "hb": "gridveil.mechanisms.literature.hb:Hb",
    "privelet": "gridveil.mechanisms.literature.privelet:Privelet",
    "hdmm": "gridveil.mechanisms.literature.hdmm:Hdmm",
}
_MECHANISMS = Registry[Any]("mechanism", GROUP, _BUILT_IN)  # dataclasses that are a `Mechanism`
_PRESETS = {
    "stpt-paper": "gridveil.mechanisms.stpt:STPT_PAPER",
    "fourier-20": "gridveil.mechanisms.literature.fourier:PRESET_20",
    "wavelet-20": "gridveil.mechanisms.literature.wavelet:PRESET_20",
}
_WORDS = {
    "stpt-paper": "STPT as the paper describes it, made private: for comparison.",
    "fourier-20": "Fourier perturbation with the 20 lowest frequencies.",
    "wavelet-20": "Wavelet perturbation with the 20 coarsest coefficients.",
}


class ComparisonOnly(NamedTuple):
    """Words on a method that may be compared with and never published: what it does, and what it promises."""

    summary: str
    promise: str


_EXACT = "no guarantee: it publishes exact sums, and two of them can reveal one household's whole curve"
COMPARISON_ONLY = {
    "count-rule": ComparisonOnly("Exact sums of cells with 15 households or more, none above 15 % of the use.", _EXACT),
    "count-rule-5": ComparisonOnly("Exact sums of cells with 5 households or more.", _EXACT),
    "markov-quilt": ComparisonOnly(
        "Pufferfish's Markov quilt mechanism: noise on every cell and step, by how fast a Markov model forgets.",
        "single readings, and only if a Markov model holds: weaker than the protection of whole households",
    ),
    "stpt-leaky": ComparisonOnly(
        "STPT as its authors' code runs it.", "no guarantee: its partition is computed from the raw readings"
    ),
}
"""These look at true values or promise less than the others. They have no class here: the evaluation runs them."""


def list_names() -> list[str]:
    """Return the names of all mechanisms that may be published with, ours first."""
    return [name for name in _MECHANISMS.names() if name not in COMPARISON_ONLY]


def describe(name: str) -> str:
    """Return a mechanism's description in one line."""
    return _WORDS.get(name) or (_class(name).__doc__ or "").strip().splitlines()[0]


def list_defaults(name: str) -> dict[str, Any]:
    """Return a mechanism's parameters with their values."""
    mechanism = make(name, {})
    return {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}  # type: ignore[arg-type]  # a mechanism is a dataclass


def make(name: str, parameters: dict[str, Any]) -> Mechanism:
    """Return a mechanism; parameters may be text, as typed on a command line.

    >>> make("stpt", {"depth": "4"}).depth
    4
    """
    kind = _class(name)
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(parameters) - known)
    if unknown:
        has = ", ".join(sorted(known)) or "none"
        msg = f"mechanism {name} has no parameter {', '.join(unknown)}; it has: {has}"
        raise UsageError(msg, code="parameter-unknown")
    preset = EntryPoint(name, _PRESETS[name], GROUP).load() if name in _PRESETS else {}
    try:
        mechanism: Mechanism = TypeAdapter(kind).validate_python({**preset, **parameters})
    except ValidationError as error:
        complaints = [
            f"{fault['loc'][0]}: {fault['msg']} (given: {quote_setting(fault['input'])})" for fault in error.errors()
        ]
    else:
        return mechanism
    # Not from within the handler: pydantic's error repeats what was given, rows of a table perhaps.
    msg = f"mechanism {name}: {'; '.join(complaints)}"
    raise UsageError(msg, code="parameter-invalid")


def train_steps(mechanism: Mechanism) -> int:
    """Return how many steps before the window a mechanism measures."""
    return int(getattr(mechanism, "train_steps", 0))


def _class(name: str) -> Any:  # noqa: ANN401  # a dataclass that is a Mechanism; Python has no type for both
    if name in COMPARISON_ONLY:
        promise = COMPARISON_ONLY[name].promise
        msg = (
            f"{name} is for comparisons only and cannot be published ({promise}):"
            " see how it does beside the others with `gridveil compare`"
        )
        raise UsageError(msg, code="comparison-only")
    return _MECHANISMS.load(name)
