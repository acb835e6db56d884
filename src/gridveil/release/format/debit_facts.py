"""What a ledger's debit says of its release: public settings, which its label repeats once the release is there."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pydantic import ValidationError

from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import GridveilError
from gridveil.release.format.attack_rates import Facts, FactsModel, Text
from gridveil.release.format.label import GridFacts, Label, WindowFacts
from gridveil.trusted.kernel.bound import Bound


class StatedBound(FactsModel):
    """The bound as it was stated before anything was read; without a window's, one is chosen privately."""

    step_kwh: float
    window_kwh: float | None
    origin: Text


class DebitFacts(FactsModel):
    """The settings of a publication that are public. Nothing of the input: no path, name, digest or count."""

    title: Text
    publisher: Text
    choices: Text
    gridveil_version: Text
    mechanism: Text
    parameters: Facts
    grid: GridFacts
    window: WindowFacts
    training_window: WindowFacts | None
    bound: StatedBound

    def body(self) -> dict[str, Any]:
        """Return them as an entry of a ledger holds them."""
        return self.model_dump(mode="json")


def differing(body: dict[str, Any], label: Label) -> list[str]:
    """Return the settings of a debit that are not those of a label."""
    facts = label.model_dump(mode="json")
    facts.update(mechanism=facts["mechanism"]["name"], parameters=facts["mechanism"]["parameters"])
    apart = [name for name in DebitFacts.model_fields if name != "bound" and body.get(name) != facts[name]]
    return apart if _bounds_follow(body.get("bound"), label) else [*apart, "bound"]


def _bounds_follow(stated: object, label: Label) -> bool:
    """Whether a label's bounds follow from what a debit says was stated.

    The step's never changes. The window's is carried over to other windows pro rata; where its origin is not that of
    the stated one, a mechanism has chosen one, and none that is higher. If none was stated, it is at most what
    the steps add up to.
    """
    try:
        given = StatedBound.model_validate(stated)
        step = _watt_hours(given.step_kwh)
        window = step * label.window.steps if given.window_kwh is None else _watt_hours(given.window_kwh)
        bound = Bound(step, window)
    except (ValidationError, GridveilError):
        return False
    for used in label.bounds:
        most, here = bound.over(label.window.steps, used.steps).window, _watt_hours(used.window_kwh)
        as_stated = given.window_kwh is not None and used.origin.startswith(given.origin)
        if _watt_hours(used.step_kwh) != step or here > most or (as_stated and here != most):
            return False
    return True


def _watt_hours(kwh: float) -> int:
    return round(Fraction(kwh) * WH_PER_KWH)  # which no float is too large for
