"""The README of a release's folder, and how to cite the release."""

from __future__ import annotations

from datetime import timedelta

from gridveil.release.format import wording
from gridveil.release.format.label import Label, attack_statements, bounds_in_words, warnings
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
    return f"{label.publisher} ({label.published.year}): {label.heading}. Data set, {_made(label)}."


def bibtex(label: Label) -> str:
    """Return a reference for BibTeX."""
    slug = "".join(sign for sign in label.publisher.lower() if sign.isascii() and sign.isalnum())
    fields = {
        "title": f"{{{_latex(label.heading)}}}",
        "author": f"{{{_latex(label.publisher)}}}",
        "year": f"{label.published.year}",
        "month": f"{label.published.month}",
        "howpublished": "Data set",
        "note": _latex(_made(label)[0].upper() + _made(label)[1:]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{slug[:20] or 'gridveil'}{label.published.year},", *lines, "}"])


def _made(label: Label) -> str:
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


# The text for whoever gets the folder by mail.

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
{entry}- `SHA256SUMS`: whether the files arrived whole, `sha256sum -c SHA256SUMS` tells; `gridveil verify .` checks more

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
