"""What is in the folder that a page is about: a release, or a series of them."""

from __future__ import annotations

from html import escape

from gridveil.release.format import wording
from gridveil.release.format.label import Label
from gridveil.release.series.series_label import SeriesLabel

FILES = (
    "the files <code>consumption.nc</code> (every cell and step with its standard error; opens in Python and QGIS), "
    "<code>label.json</code> (the privacy statement) and <code>README.md</code>"
)


def contents(label: Label, folder: str) -> str:
    """Return sentences about the folder with this (escaped) name."""
    if not isinstance(label, SeriesLabel):
        return f"The release itself is the folder <code>{folder}</code>, with {FILES}."
    latest = escape(label.parts[-1].path)
    each = sorted({part.epsilon for part in label.parts})
    one = wording.exact(each[0])
    epsilons = f"of epsilon {one} each" if len(each) == 1 else f"of epsilon {one} to {wording.exact(each[-1])} each"
    several = len(label.parts) > 1
    how_many = f"{len(label.parts):,} releases {epsilons}" if several else f"one release of epsilon {one}"
    total = f" (their sum is {wording.exact(label.privacy.epsilon)})" if several else ""
    return (
        f"The folder <code>{folder}</code> is a series; this page is about {how_many}{total}. Every release is a "
        f"folder of its own in it, <code>{folder}/{latest}</code> for example, with {FILES}. "
        f"<code>{folder}/catalogue.json</code> lists them, and gridveil reads them as one."
    )
