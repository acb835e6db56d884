"""Reading a series: the releases that a catalogue lists, as one release with a long time axis.

Where a window was not published there is a gap, and nothing spans it: a series with gaps is several runs of releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from gridveil.model.errors import InputError
from gridveil.model.files import read_regular
from gridveil.release.format.files import LABEL, MAX_SUMS_BYTES, SUMS, VALUES, digest, load_label, read_sums
from gridveil.release.format.label import Label
from gridveil.release.format.read import Content, about_the_truth, read_content
from gridveil.release.series.catalogue import CATALOGUE, Catalogue, Listed, Shelf, ShelfPlace, read_catalogue
from gridveil.release.series.joined import JoinedErrors, JoinedPrefix, JoinedValues
from gridveil.release.series.series_label import GapFacts, SeriesFacts, series_facts, series_label


@dataclass(frozen=True)
class JoinedContent:
    """What a query needs of releases one after the other."""

    path: Path
    values: JoinedValues
    prefix: JoinedPrefix
    errors: JoinedErrors

    @property
    def files(self) -> list[Path]:
        """The files of all releases' values."""
        return self.errors.shelf.files


@dataclass(frozen=True)
class SeriesPart:
    """A release of a series, as its catalogue and its label have it."""

    listed: Listed
    folder: Path
    label: Label


Run = list[SeriesPart]


def read_runs(folder: Path) -> list[tuple[Label, Content | JoinedContent]]:
    """Return label and content of every run of releases without a gap, in order of time."""
    catalogue = read_catalogue(folder)
    parts = read_parts(folder, catalogue)
    if not parts:
        msg = f"{folder / CATALOGUE}: it lists no release yet"
        raise InputError(msg, code="series-empty")
    check_alike(folder, parts)
    runs = runs_of(parts)
    series = None if len(runs) == 1 else series_facts([part.label for part in parts])
    return [_joined(folder, catalogue, run, _gaps(runs), series) for run in runs]


def read_parts(folder: Path, catalogue: Catalogue) -> list[SeriesPart]:
    """Read the labels of all releases, and check that they are those that the catalogue lists."""
    return [read_part(folder, listed) for listed in catalogue.releases]


def read_part(folder: Path, listed: Listed) -> SeriesPart:
    """Read the label of one release of a series, and check it against the digest that the catalogue vouches for."""
    place = folder / listed.path
    try:
        _check_there(place)
        if sha256(read_regular(place / SUMS, MAX_SUMS_BYTES)).hexdigest() != listed.sha256:
            raise _other(place, SUMS)
        label = load_label(place / LABEL)
        if read_sums(place / SUMS).get(LABEL) != digest(place / LABEL):
            raise _other(place, LABEL)
    except FileNotFoundError as error:
        msg = f"{error.filename}: it is missing, and {CATALOGUE} lists it: get a fresh copy of the series"
        raise InputError(msg, code="series-file-missing") from error
    except (OSError, ValueError) as error:
        msg = f"{place}: {error}; get a fresh copy of the series"
        raise InputError(msg, code="series-file-unreadable") from error
    window = label.window.window()
    if (window.start, window.end) != (listed.start, listed.end):
        raise _other(place, "window")
    return SeriesPart(listed, place, label)


def _other(place: Path, what: str) -> InputError:
    return InputError(
        f"{place}: its {what} is not the one that {CATALOGUE} knows; get a fresh copy of the series",
        code="series-file-changed",
    )


def runs_of(parts: Sequence[SeriesPart]) -> list[Run]:
    """Split releases where one does not begin as the one before it ends."""
    runs: list[Run] = [[parts[0]]]
    for before, after in pairwise(parts):
        if after.listed.start == before.listed.end:
            runs[-1].append(after)
        else:
            runs.append([after])
    return runs


def _check_there(place: Path) -> None:
    """Refuse what is not a folder in this folder: a link could lead anywhere."""
    if place.is_symlink() or not place.is_dir():
        if not place.exists():
            raise FileNotFoundError(2, "no such folder", str(place))
        msg = "it is no folder beside the catalogue"
        raise ValueError(msg)


def check_alike(folder: Path, parts: Sequence[SeriesPart]) -> None:
    """Refuse releases on different grids, or with steps of different length."""
    for part in parts:
        label = part.label
        for what, is_so in (
            ("grid", label.grid == parts[0].label.grid),
            ("step", label.window.step_seconds == parts[0].label.window.step_seconds),
        ):
            if not is_so:
                msg = (
                    f"{folder}: {part.listed.path} has another {what} than {parts[0].listed.path}, so they make no one "
                    "time axis; open them one by one"
                )
                raise InputError(msg, code="series-parts-differ")


def _joined(
    folder: Path, catalogue: Catalogue, run: Run, gaps: list[GapFacts], series: SeriesFacts | None
) -> tuple[Label, Content | JoinedContent]:
    if len(run) == 1 and not gaps:
        return run[0].label, read_content(run[0].folder / VALUES, run[0].label)
    truths = [about_the_truth(part.folder / VALUES) for part in run]
    labels = [(part.listed.path, part.label) for part in run]
    label = series_label(catalogue.title, labels, truths=truths, gaps=gaps, series=series)
    shelf = Shelf([ShelfPlace(part.folder / VALUES, part.label) for part in run])
    cells = label.grid.ny, label.grid.nx
    return label, JoinedContent(
        folder / CATALOGUE,
        JoinedValues(shelf, cells),
        JoinedPrefix(shelf, cells),
        JoinedErrors(shelf, about_the_truth=all(truths)),
    )


def _gaps(runs: Sequence[Run]) -> list[GapFacts]:
    """Return where nothing was published between runs."""
    return [GapFacts(start=before[-1].listed.end, end=after[0].listed.start) for before, after in pairwise(runs)]
