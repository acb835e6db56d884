"""Publish household electricity consumption over space and time under differential privacy.

The public API is `gridveil.__all__`; everything else is internal and may change.

>>> import gridveil
>>> answer = gridveil.open("release").query(x=(0, 10), y=(0, 10))  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridveil.geography.area import Area
    from gridveil.geography.grid import Grid
    from gridveil.mechanisms.base import Mechanism
    from gridveil.model.errors import BudgetError, GridveilError, InputError, UsageError
    from gridveil.model.window import Window
    from gridveil.publishing.check import check
    from gridveil.publishing.next_release import Waiting, publish_next
    from gridveil.publishing.run import Published, publish
    from gridveil.publishing.spec import Spec
    from gridveil.release.export import export
    from gridveil.release.format.label import Label
    from gridveil.release.query.open import Answer, Release
    from gridveil.release.query.open import open_for_python as open  # noqa: A004  # reads well as gridveil.open
    from gridveil.release.verify.series import verify_folder as verify
    from gridveil.simulate.planning import Outlook, plan
    from gridveil.trusted.budget import Bound
    from gridveil.trusted.kernel.session import Session
    from gridveil.trusted.source.report import Report
    from gridveil.uncertainty.linear import LinearNoise
    from gridveil.uncertainty.model import Estimate
    from gridveil.uncertainty.parts import NoisyParts
    from gridveil.uncertainty.posterior import Posterior
    from gridveil.uncertainty.replicates import Replicates

__all__ = [
    "Answer",
    "Area",
    "Bound",
    "BudgetError",
    "Estimate",
    "Grid",
    "GridveilError",
    "InputError",
    "Label",
    "LinearNoise",
    "Mechanism",
    "NoisyParts",
    "Outlook",
    "Posterior",
    "Published",
    "Release",
    "Replicates",
    "Report",
    "Session",
    "Spec",
    "UsageError",
    "Waiting",
    "Window",
    "check",
    "export",
    "open",
    "plan",
    "publish",
    "publish_next",
    "verify",
]

_MODULES = {
    "geography.area": ("Area",),
    "geography.grid": ("Grid",),
    "mechanisms.base": ("Mechanism",),
    "model.errors": ("BudgetError", "GridveilError", "InputError", "UsageError"),
    "model.window": ("Window",),
    "publishing.check": ("check",),
    "publishing.next_release": ("Waiting", "publish_next"),
    "publishing.run": ("Published", "publish"),
    "publishing.spec": ("Spec",),
    "release.export": ("export",),
    "release.format.label": ("Label",),
    "release.query.open": ("Answer", "Release", "open"),
    "release.verify.series": ("verify",),
    "simulate.planning": ("Outlook", "plan"),
    "trusted.budget": ("Bound",),
    "trusted.kernel.session": ("Session",),
    "trusted.source.report": ("Report",),
    "uncertainty.linear": ("LinearNoise",),
    "uncertainty.model": ("Estimate",),
    "uncertainty.parts": ("NoisyParts",),
    "uncertainty.posterior": ("Posterior",),
    "uncertainty.replicates": ("Replicates",),
}
"""Where each public name is; a test compares it with the imports above."""

_CALLED_THERE = {"open": "open_for_python", "verify": "verify_folder"}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # what is asked for
    """Import on first use: reading a release needs none of what publishing one does."""
    if name == "__version__":
        return version("gridveil")
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"gridveil.{module}"), _CALLED_THERE.get(name, name))
    msg = f"module 'gridveil' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
