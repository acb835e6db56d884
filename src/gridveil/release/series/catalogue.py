"""The catalogue of a series: its releases in order of time, and their open files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, PlainSerializer, ValidationError

from gridveil.model.errors import InputError
from gridveil.model.files import replace_file
from gridveil.release.format.facts import FactsModel, Text
from gridveil.release.format.files import check_content, read_json
from gridveil.release.format.label import Label
from gridveil.release.format.read import CACHED_BYTES, Content, read_content

# The files of a series' releases: opened when they are first needed, and let go when others are needed more.

MOST_OPEN = 256
MOST_BYTES = 2**31
MOST_PREFIX = 2**25  # bytes of one release's prefix sums that are held
PRIME = 7919
SUMS = 3  # times the size of an error model: its prefix sums are in double precision


@dataclass(frozen=True)
class ShelfPlace:
    """Where a release of a series is: its values' file, and its label."""

    path: Path
    label: Label


class Shelf:
    """The contents of releases that follow each other in time, by number; for many threads.

    `edges` are the steps at which they begin, and the end of the last. A file is closed when nobody has it any more:
    who still reads one that was let go reads on.
    """

    def __init__(self, places: Sequence[ShelfPlace]) -> None:
        self.places = tuple(places)
        self.edges: NDArray[np.int64] = np.cumsum([0, *(place.label.window.steps for place in places)])
        self._open: dict[int, Content] = {}
        self._bytes = 0
        self._let_go = 0
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> Content:
        """Return a release's content."""
        with self._lock:
            if number not in self._open:
                place = self.places[number]
                content = read_content(place.path, place.label, MOST_PREFIX)
                self._make_room(size_of(content))
                self._open[number] = content
            return self._open[number]

    def _make_room(self, wanted: int) -> None:
        """Let go of any, now here, now there: long periods take releases in turn, and need the oldest one next."""
        self._bytes += wanted
        while self._open and (len(self._open) >= MOST_OPEN or self._bytes > MOST_BYTES):
            self._let_go += 1
            chosen = list(self._open)[PRIME * self._let_go % len(self._open)]
            self._bytes -= size_of(self._open.pop(chosen))

    def __contains__(self, number: object) -> bool:
        """Whether a release is open."""
        return number in self._open

    @property
    def files(self) -> list[Path]:
        """The files of all releases' values."""
        return [place.path for place in self.places]

    def steps(self, number: int) -> int:
        """Return how many steps a release has."""
        return self.places[number].label.window.steps

    def of(self, step: int) -> int:
        """Return which release a step, or an edge at which one begins, is in; the end is in one after the last."""
        return int(np.searchsorted(self.edges, step, side="right")) - 1

    def touched(self, first: int, stop: int) -> range:
        """Return which releases a period touches."""
        return range(self.of(first), self.of(stop - 1) + 1)


def size_of(content: Content) -> int:
    """Return about how many bytes a content takes once it has answered."""
    return int(SUMS * content.errors.nbytes + min(content.prefix.dataset.nbytes, CACHED_BYTES))


# The catalogue of a series: which releases stand beside each other in a folder, in order of time.
#
# It may come from anybody, like a release: it is read strictly, and names folders beside itself only.

CATALOGUE = "catalogue.json"
FORMAT = 1
LARGEST = 2**22  # bytes
MOST_RELEASES = 2**13
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,99}")
DIGEST = re.compile(r"[0-9a-f]{64}")
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

Cadence = Literal["day", "week", "month", "year"]


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        msg = "a release is named by a folder beside the catalogue: letters, digits, dots, dashes"
        raise ValueError(msg)
    return text


def _digest(text: str) -> str:
    if not DIGEST.fullmatch(text):
        msg = "a digest is 64 hexadecimal digits"
        raise ValueError(msg)
    return text


def _instant(value: Any) -> datetime:  # noqa: ANN401 - anybody's JSON
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if not isinstance(value, str) or not INSTANT.fullmatch(value):
        msg = "an instant is written 2013-02-04T00:00:00Z"
        raise ValueError(msg)
    return datetime.fromisoformat(value)


def _written(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%S}Z"


Instant = Annotated[datetime, BeforeValidator(_instant), PlainSerializer(_written, when_used="json")]


class Listed(FactsModel):
    """A release of a series: its folder, its window, and the SHA-256 of its `SHA256SUMS`."""

    path: Annotated[str, AfterValidator(_name)]
    start: Instant
    end: Instant
    sha256: Annotated[str, AfterValidator(_digest)]


class Catalogue(FactsModel):
    """The releases of a series in order of time; between two of them there may be a gap, but no overlap."""

    gridveil_catalogue: Literal[1] = 1
    title: Text
    cadence: Cadence
    timezone: Text
    releases: tuple[Listed, ...]

    def check(self) -> None:
        """Refuse releases that are listed twice, out of order, or overlap."""
        if len(self.releases) > MOST_RELEASES:
            msg = f"{len(self.releases)} releases are more than any series has"
            raise ValueError(msg)
        names = [listed.path.lower() for listed in self.releases]  # some disks know no capitals
        if len(set(names)) < len(names):
            msg = f"{next(name for name in names if names.count(name) > 1)} is listed more than once"
            raise ValueError(msg)
        for listed in self.releases:
            if listed.start >= listed.end:
                msg = f"{listed.path}: it ends before it begins"
                raise ValueError(msg)
        for before, after in pairwise(self.releases):
            if after.start < before.end:
                msg = f"{before.path} and {after.path} overlap, or are not in the order of time"
                raise ValueError(msg)


def is_series(folder: Path) -> bool:
    """Whether a folder has a catalogue of releases."""
    return (folder / CATALOGUE).exists()


def read_catalogue(folder: Path) -> Catalogue:
    """Read a series' catalogue; strict, so that nothing outside the folder is ever opened."""
    path = folder / CATALOGUE
    try:
        content = read_json(path, LARGEST)
        _check_version(path, content)
        check_content(content)
        catalogue = Catalogue.model_validate(content)
        catalogue.check()
    except InputError:
        raise
    except FileNotFoundError as error:
        msg = f"{path}: no such file; a series is a folder with {CATALOGUE} and releases beside it"
        raise InputError(msg, code="catalogue-missing") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise _unreadable(path, f"{where}: {fault['msg']}") from error
    except (OSError, RecursionError, ValueError, OverflowError) as error:
        raise _unreadable(path, str(error)) from error
    return catalogue


def write_catalogue(folder: Path, catalogue: Catalogue) -> None:
    """Write or replace a series' catalogue: whoever reads finds the old one or the new one, whole."""
    catalogue.check()
    content = catalogue.model_dump(mode="json")
    replace_file(folder / CATALOGUE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _check_version(path: Path, content: object) -> None:
    version = content.get("gridveil_catalogue") if isinstance(content, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        msg = "it does not say which gridveil_catalogue it is"
        raise ValueError(msg)  # noqa: TRY004 - of a file, not of an argument
    if version > FORMAT:
        msg = f"{path}: format {version} is newer than this gridveil reads; upgrade it: pip install -U gridveil"
        raise InputError(msg, code="catalogue-too-new")


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: not a series' catalogue ({why}); get a fresh copy of the series", code="catalogue-unreadable"
    )
