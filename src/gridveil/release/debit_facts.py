"""What a ledger's debit says of its release: public settings, which its label repeats once the release is there."""

from __future__ import annotations

from typing import Any

from gridveil.release.facts import Facts, FactsModel, Text
from gridveil.release.label import GridFacts, Label, WindowFacts


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
    """Return the settings of a debit that are not those of a label, which does not repeat the bound that was stated."""
    facts = label.model_dump(mode="json")
    facts.update(mechanism=facts["mechanism"]["name"], parameters=facts["mechanism"]["parameters"])
    return [name for name in DebitFacts.model_fields if name != "bound" and body.get(name) != facts[name]]
