"""A label as a record of OpenDP's registry of differential privacy deployments (registry.opendp.org)."""

from __future__ import annotations

import re
from typing import Any, Literal

from gridveil.model.errors import UsageError
from gridveil.release.format import wording
from gridveil.release.format.label import Label, attacks_in_words

CuratorType = Literal["Government", "Industry", "Nonprofit"]


def to_registry(label: Label, *, curator_type: CuratorType = "Industry") -> dict[str, Any]:
    """Return the record to propose to the registry, as a draft.

    The publisher is its author and should complete it; what the label does not say is not made up here.
    """
    if not label.private:
        msg = "this release is not private (test noise): it cannot be registered as a deployment"
        raise UsageError(msg, code="registry-not-private")
    parts = [line for section in label.of_parts() for line in section.lines]
    return {
        "url_slug": _slug(f"{label.title} {label.publisher} {label.published.year}"),
        "deployment": {
            "basic": _basic(label, curator_type),
            "dp_variant": {
                "variant_name": "Pure DP",
                "data_domain": "Electricity meter readings of any set of households with their locations.",
                "unprotected_quantities": "None. Extent, grid, windows and bounds are public or were paid for.",
            },
            "privacy_loss": {
                "privacy_unit": wording.UNITS[label.privacy.unit],
                "privacy_unit_details": f"Neighbouring data sets: {wording.NEIGHBOURS[label.privacy.neighbours]}.",
                "privacy_parameters": {"epsilon": label.privacy.epsilon},
                "privacy_parameters_details": (
                    f"Accounted for, worst-off cell: {label.privacy.epsilon_accounted:g}."
                    f"{_list(attacks_in_words(label))}"
                ),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": "The publisher, trusted with the readings. Whoever reads the release, trusted with nothing.",
                "release_type": "Many releases" if parts else "One release",
                "release_type_details": f"Ledger: {label.ledger}{_list(parts)}",
                "data_source_type": "Dynamic" if parts else "Static",
                "access_type": "Non-interactive",
            },
            "implementation": _implementation(label),
            "administrative": {"status": "Draft", "registry_authors": [label.publisher], "tier": 3},
        },
    }


def _basic(label: Label, curator_type: CuratorType) -> dict[str, Any]:
    grid, window = label.grid, label.window
    return {
        "name": label.title,
        "data_curators": [{"data_curator_name": label.publisher, "data_curator_type": curator_type}],
        "description": (
            f"Electricity consumption of households on a grid of {grid.nx} x {grid.ny} cells and {window.steps} steps "
            f"of {window.step_seconds} s from {window.start.isoformat()}, with standard errors."
        ),
        "intended_use": "Sums of consumption over regions and periods, with error bars.",
        "data_product_type": "Dataset",
        "data_product_region": f"{grid.x0:g},{grid.y0:g} to {grid.x1:g},{grid.y1:g} ({grid.crs})",
        "data_product_sector": "Energy",
        "publication_date": label.published.isoformat(),
    }


def _implementation(label: Label) -> dict[str, str]:
    bounds = [
        f"{bound.window} window: {bound.step_kwh:g} kWh a step, {bound.window_kwh:g} kWh in {bound.steps} steps "
        f"({label.origin_in_words(bound)})"
        for bound in label.bounds
    ]
    measured = [
        f"{m.kind}, {m.labels} numbers, epsilon {m.epsilon:g}, {m.noise} noise, {m.window} window"
        + ("" if m.bound_kwh is None else f", bound {m.bound_kwh:g} kWh")
        for m in label.measurements
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": f"Contributions are bounded. {_list(bounds)}",
        "mechanisms": (
            f"{label.mechanism.name}, gridveil {label.gridveil_version}. Noise: {label.noise_in_words()}. "
            f"Sums are exact integers. {_list(measured)}"
        ),
        "composition": (
            "For each cell: weights of measurements under the same bound are added up, and give the most that a "
            "household can lose there; these losses are added up over bounds. A histogram of household totals and "
            "every measurement with staircase noise are fixed charges, added in full in all cells. "
            "The cell that lost most counts."
        ),
        "post_processing": "Values of cells and steps are estimated from the measurements alone.",
        "justification": label.choices,
        "additional_information": f"Not covered by the guarantee: {_list(label.not_covered_in_words())}",
    }


def _list(items: list[str]) -> str:
    return "".join(f"\n- {item}" for item in items)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
