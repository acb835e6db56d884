"""Documents made from a label: the README of a release, its citation, and a record for OpenDP's registry."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any, Literal

from gridveil.model.errors import UsageError
from gridveil.release.format import wording
from gridveil.release.format.label import Label, attack_statements, attacks_in_words, bounds_in_words, warnings
from gridveil.release.format.wording import weak_guarantee

# How to cite a release.

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}


def cite(label: Label) -> str:
    """Return a reference in one sentence."""
    return f"{label.publisher} ({label.published.year}): {label.heading}. Data set, {_describe_data_kind(label)}."


def bibtex(label: Label) -> str:
    """Return a reference for BibTeX."""
    slug = "".join(sign for sign in label.publisher.lower() if sign.isascii() and sign.isalnum())
    fields = {
        "title": f"{{{_latex(label.heading)}}}",
        "author": f"{{{_latex(label.publisher)}}}",
        "year": f"{label.published.year}",
        "month": f"{label.published.month}",
        "howpublished": "Data set",
        "note": _latex(_describe_data_kind(label)[0].upper() + _describe_data_kind(label)[1:]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{slug[:20] or 'gridveil'}{label.published.year},", *lines, "}"])


def _describe_data_kind(label: Label) -> str:
    """Say what kind of data it is, so that nobody takes it for readings."""
    window = label.window.window()
    when = f"{window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"
    how = (
        f"differentially private with epsilon {wording.exact(label.privacy.epsilon)}"
        if label.private
        else wording.NOT_PRIVATE
    )
    return (
        f"household electricity consumption {when}, {how}, published {label.published} "
        f"with gridveil {label.gridveil_version}"
    )


def _latex(text: str) -> str:
    """Return text as TeX takes it."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


# The README, for those who get the folder without these pages.

_TEXT = """\
# {heading}

Electricity consumption of households in kWh, with noise added to protect every single household.
Published by {publisher} on {published}.

- Where: x {x0:g} to {x1:g} in {nx} cells, y {y0:g} to {y1:g} in {ny} cells ({crs}). Cell (0, 0) is the south-west one.
- When: {steps} steps of {length} from {start} to {end} (UTC).
{bounds}

{promise}
{ledger}

{attacks}

- `consumption.nc`: the values and their standard errors (NetCDF-4, CF conventions)
- `label.json`: the privacy statement, for people and machines: what is promised, and what is not
{entry}- `SHA256SUMS`: digests, for `sha256sum -c SHA256SUMS`; `gridveil verify .` checks more

## Opening it

With gridveil, which also gives error bars for any region and period (in this folder):

    gridveil serve . --open      # a map in your browser
    gridveil query . --x 0:1 --y 0:1
    gridveil info .              # the privacy statement in words

    import gridveil
    gridveil.open(".").query(x=(0, 1), y=(0, 1))

With Python and xarray (`pip install xarray h5netcdf h5py`):

    import xarray
    xarray.open_dataset("consumption.nc").consumption.sum(["x", "y"])

With QGIS: Layer > Add Raster Layer, choose `consumption.nc` and in it `consumption`; a band is a step.

## Reading it

- A value is an estimate, and `consumption_se` its standard error. `gridveil query` gives 95 % intervals for any range:
  prefer them to two standard errors.
- {quadrature}
{negative}- {error_bars} See `not_covered` in the label.
"""


def readme(label: Label, *, about_the_truth: bool = False, negative: bool = True) -> str:
    """Return the text of a release's README.md.

    about_the_truth: error bars are not of the noise alone. negative: there are values below zero to explain.
    """
    grid, window = label.grid, label.window
    promise = [label.promise, *(map(str, warnings(label)) if label.private else [])]
    return _TEXT.format(
        heading=label.heading,
        x0=grid.x0,
        x1=grid.x1,
        y0=grid.y0,
        y1=grid.y1,
        nx=grid.nx,
        ny=grid.ny,
        crs="no coordinate system" if grid.crs == "local" else grid.crs,
        steps=window.steps,
        length=str(timedelta(seconds=window.step_seconds)),
        start=f"{window.start:%Y-%m-%d %H:%M}",
        end=f"{window.window().end:%Y-%m-%d %H:%M}",
        bounds="\n".join(f"- {sentence}" for sentence in bounds_in_words(label)),
        publisher=label.publisher,
        published=label.published,
        promise="\n".join(promise),
        ledger="Ledger: " + label.ledger,
        attacks=_attacks(label) if label.private else "",
        entry="" if label.ledger_entry is None else "- `ledger-entry.json`: how the publisher's ledger debited it\n",
        quadrature=wording.QUADRATURE,
        negative=f"- {wording.NEGATIVE}\n" if negative else "",
        error_bars=wording.error_bars(corrected=label.correction is not None, about_the_truth=about_the_truth),
    )


def _attacks(label: Label) -> str:
    """Return the attacker's rates as lists below the sentences that introduce them."""
    statements = attack_statements(label)
    parts = []
    for lead, *rates in (statement.sentences() for statement in statements):
        parts += [lead, "\n".join(f"- {rate}" for rate in rates)]
    return "\n\n".join([*parts, *map(str, weak_guarantee(statements))])


# A record of OpenDP's registry of differential privacy deployments (registry.opendp.org).

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
                "actors": "The publisher, trusted with the readings. Readers of the release, trusted with nothing.",
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
