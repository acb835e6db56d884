"""How to cite a release."""

from __future__ import annotations

from gridveil.release.format import wording
from gridveil.release.format.label import Label

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
