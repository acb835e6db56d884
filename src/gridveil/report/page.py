"""The page: all of a release that a planner needs, in one file that loads nothing."""

from __future__ import annotations

import json
import shlex
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from gridveil.model.files import new_file
from gridveil.model.progress import Progress, silent
from gridveil.release.format import wording
from gridveil.release.format.files import VALUES
from gridveil.release.format.label import Label, warnings
from gridveil.release.format.readme import bibtex, cite
from gridveil.release.query.open import Release
from gridveil.release.series.series_label import SeriesLabel
from gridveil.report import high
from gridveil.report.contents import contents
from gridveil.report.parts import parts_of
from gridveil.report.promise import promise
from gridveil.report.when import when
from gridveil.report.where import where
from gridveil.report.words import day_of, per, span, steps_of

READABLE = 0o644
STAGE = "draw the report"


def write_report(release: Release, path: Path, *, name: str, zone: str = "UTC", progress: Progress = silent) -> None:
    """Write the page about a release, whose folder has this name, to a new file."""
    page = make_page(release, name=name, zone=zone, progress=progress)
    with new_file(path) as aside:
        aside.write_text(page, "utf-8")
        aside.chmod(READABLE)


def make_page(release: Release, *, name: str, zone: str = "UTC", progress: Progress = silent) -> str:
    """Return the page about a release. zone: whose clock typical days go by."""
    label, grid, window = release.label, release.grid, release.window
    parts = parts_of(window, zone)
    progress(STAGE, 0.0)
    ranked = high.told_apart(release)
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
        "warnings": "".join(f'<p class="warning">{escape(words)}</p>' for words in _warnings(label)),
        "period": span(window.start, window.end),
        "size": f"{grid.nx:,} by {grid.ny:,}",
        "steps": steps_of(window.steps, window.step),
        "step": per(window.step),
        "error_bars": escape(wording.error_bars(corrected=corrected, about_the_truth=release.about_the_truth)),
        "zone": escape(zone),
        "parts_of": _parts_in_words([part.name for part in parts], zone),
        "highest": high.table(ranked, grid),
        "cite": escape(cite(label)),
        "bibtex": escape(bibtex(label)),
        "contents": contents(label, escape(name)),
        "quoted": escape(shlex.quote(name)),
        "file": escape(json.dumps(_values(label, name))),
        **_noise(label),
        "version": escape(label.gridveil_version),
        "mechanism": escape(label.mechanism.name),
        **maps,
        **curves,
        **promise(label),
    }
    return Template((files("gridveil.report") / "page.html").read_text("utf-8")).substitute(fields)


def _values(label: Label, name: str) -> str:
    """Return a file of values: of a series, the latest release's."""
    return "/".join([name, *([label.parts[-1].path] if isinstance(label, SeriesLabel) else []), VALUES])


def _noise(label: Label) -> dict[str, str]:
    """Say what the noise is for."""
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


def _warnings(label: Label) -> list[str]:
    return warnings(label) if label.private else [wording.NOT_PRIVATE_WHY]


def _parts_in_words(names: list[str], zone: str) -> str:
    if not names:
        return ""
    what = "parts of the day" if len(names) > len(("weekdays", "weekends")) else "parts of the week"
    return f"The small maps show {what} by the clock in {escape(zone)}, with the colours and hatching of the large one."
