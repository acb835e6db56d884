"""One page about a release: all that a planner needs, in one file that loads nothing."""

from __future__ import annotations

import json
import shlex
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from gridveil.model.files import new_file
from gridveil.model.running import Progress, silent
from gridveil.release.format import wording
from gridveil.release.format.documents import bibtex, cite
from gridveil.release.format.files import VALUES
from gridveil.release.format.label import Label, attacks_in_words, bounds_in_words, warnings
from gridveil.release.query.open import Release
from gridveil.release.series.series_label import SeriesLabel
from gridveil.report.formatting import day_of, html_list, per, span, steps_of
from gridveil.report.when import parts_of, when
from gridveil.report.where import highest_table, rank_cells, where

READABLE = 0o644
STAGE = "draw the report"

METHOD = (
    "The method is called differential privacy. It is a mathematical promise about what this release can reveal, "
    "for any reader, whatever else they know."
)
NOISE = (
    "Random noise was added to every number that was taken from the readings, before anything was published. What you "
    "see was computed from those noisy numbers, and from what is public anyway."
)
EPSILON = "It says how much a release may depend on any one household: the smaller, the stronger the protection."

FILES = (
    "the files <code>consumption.nc</code> (every cell and step with its standard error; opens in Python and QGIS), "
    "<code>label.json</code> (the privacy statement) and <code>README.md</code>"
)
PASSING_ON = "This page may be passed on as the release may: it has nothing in it that the release does not have."


class PageSection(NamedTuple):
    """A section that a caller adds to the page, as HTML, and the warning that comes first because of it."""

    warning: str
    html: str


def write_report(
    release: Release,
    path: Path,
    *,
    name: str,
    zone: str = "UTC",
    section: PageSection | None = None,
    progress: Progress = silent,
) -> None:
    """Write the page about a release, whose folder has this name, to a new file."""
    page = make_page(release, name=name, zone=zone, section=section, progress=progress)
    with new_file(path) as aside:
        aside.write_text(page, "utf-8")
        aside.chmod(READABLE)


def make_page(
    release: Release,
    *,
    name: str,
    zone: str = "UTC",
    section: PageSection | None = None,
    progress: Progress = silent,
) -> str:
    """Return the page about a release. zone: of typical days and parts of the day."""
    label, grid, window = release.label, release.grid, release.window
    parts = parts_of(window, zone)
    progress(STAGE, 0.0)
    ranked = rank_cells(release)
    progress(STAGE, 1 / 3)
    maps = where(release, parts, ranked)
    progress(STAGE, 2 / 3)
    curves = when(release, zone)
    progress(STAGE, 1.0)
    corrected = label.correction is not None
    fields = {
        "title": escape(label.heading),
        "publisher": escape(label.publisher),
        "published": day_of(label.published),
        "warnings": "".join(f'<p class="warning">{escape(words)}</p>' for words in _warnings(label, section)),
        "section": "" if section is None else section.html,
        "passing_on": PASSING_ON if section is None else escape(section.warning),
        "period": span(window.start, window.end),
        "size": f"{grid.nx:,} by {grid.ny:,}",
        "steps": steps_of(window.steps, window.step),
        "step": per(window.step),
        "error_bars": escape(wording.error_bars(corrected=corrected, about_the_truth=release.about_the_truth)),
        "zone": escape(zone),
        "parts_of": _parts_in_words([part.name for part in parts], zone),
        "highest": highest_table(ranked, grid),
        "cite": escape(cite(label)),
        "bibtex": escape(bibtex(label)),
        "contents": _contents(label, escape(name)),
        "quoted": escape(shlex.quote(name)),
        "file": escape(json.dumps(_values(label, name))),
        **_noise(label),
        "version": escape(label.gridveil_version),
        "mechanism": escape(label.mechanism.name),
        **maps,
        **curves,
        **_promise(label),
    }
    return Template((files("gridveil.report") / "page.html").read_text("utf-8")).substitute(fields)


def _values(label: Label, name: str) -> str:
    """Return a file of values: of a series, the latest release's."""
    return "/".join([name, *([label.parts[-1].path] if isinstance(label, SeriesLabel) else []), VALUES])


def _noise(label: Label) -> dict[str, str]:
    """Return what the noise is for."""
    kind = "Household electricity consumption"
    if not label.private:
        return {
            "kicker": f"{kind}: a test, nobody is protected",
            "noise_why": "Test noise was added; it protects nobody.",
        }
    return {
        "kicker": f"{kind}, published with privacy protection",
        "noise_why": "Noise was added to protect single households.",
    }


def _warnings(label: Label, section: PageSection | None) -> list[str]:
    own = [str(warning) for warning in warnings(label)]
    return own if section is None else [section.warning, *own]


def _parts_in_words(names: list[str], zone: str) -> str:
    if not names:
        return ""
    what = "parts of the day" if len(names) > len(("weekdays", "weekends")) else "parts of the week"
    return f"The small maps show {what} by the clock in {escape(zone)}, with the colours and hatching of the large one."


def _promise(label: Label) -> dict[str, str]:
    """Return the fields of the page about privacy: plain words, and no promise stronger than the label's."""
    return {
        "method": METHOD if label.private else "This is a test of the method: nobody is protected.",
        "protected": html_list(_protected(label)),
        "strength": html_list(_strength(label)),
        "not_covered": html_list(label.not_covered_in_words()),
        "bounds": html_list(bounds_in_words(label)),
    }


def _protected(label: Label) -> list[str]:
    if not label.private:
        return [label.promise]
    unit = wording.UNITS[label.privacy.unit]
    return [
        f"{unit[:1].upper()}{unit[1:]}.",
        NOISE,
    ]


def _strength(label: Label) -> list[str]:
    epsilon = label.privacy.epsilon
    if not label.private:
        return [f"Not at all. It imitates a release with epsilon {wording.exact(epsilon)}."]
    return [
        f"Epsilon is {wording.exact(epsilon)}. {EPSILON}",
        label.promise,
        *attacks_in_words(label),
        *map(str, warnings(label)),
    ]


def _contents(label: Label, folder: str) -> str:
    """Return what is in the folder with this (escaped) name: a release, or a series of them."""
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
