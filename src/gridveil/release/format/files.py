"""The files of a release: their names, label and digests. Anyone may have written them, so all of it is checked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gridveil.geography.grid import Grid
from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.model.files import ASIDE_PREFIX, check_regular, read_regular, read_small
from gridveil.model.running import Progress, silent
from gridveil.model.window import Window
from gridveil.release.format.facts import UNSEEN, attack_rates, rates_agree
from gridveil.release.format.label import Label, MechanismFacts
from gridveil.trusted.budget import FALSE_POSITIVES

# Checks of files that anyone may have written, before they are believed.

# Limits on what is read. Anyone may have written a label, and it is shown in terminals, pages and HTTP headers.

INTEGER_LIMIT = 2**63
MAX_DEPTH = 32
MAX_VALUES = 2**19  # thirty thousand measurements have fewer
MAX_TEXT_LENGTH = 2**16
MAX_PATH_LENGTH = 200  # characters that an error says where it is in
MIN_YEAR, MAX_YEAR = 1000, 9000  # years; near the ends of the calendar clocks overflow
ROUNDING = 1e-9
MAP_AXES = 2
MAX_CELLS, MAX_AXIS = 2**34, 2**22  # of a cube
KNOWN_SYSTEMS = {"local", "EPSG:4326"}  # need no look at PROJ's tables, which takes a tenth of a second


def read_json(path: Path, largest: int) -> object:
    """Return the content of a JSON file of at most `largest` bytes: `OSError`, `RecursionError` or `ValueError`.

    Values are counted before anything is built: a few megabytes of empty lists would take a hundred times as many.
    """
    text = read_small(path, largest)
    if sum(map(text.count, "[{,")) > MAX_VALUES:
        msg = f"it has more than {MAX_VALUES:,} values"
        raise ValueError(msg)
    return json.loads(text, object_pairs_hook=_refuse_duplicates)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with two values of one name: readers would differ in which they believe."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            msg = f"{name[:60]!r} occurs twice"
            raise ValueError(msg)
        found[name] = value
    return found


def check_content(value: object, where: str = "", depth: int = 0) -> None:
    """Refuse numbers that JSON has not, texts with characters that are not seen, and what is nested too deeply.

    >>> check_content({"title": ["a town", 3, None]})
    >>> check_content({"title": f"a{chr(13)}town"})
    Traceback (most recent call last):
        ...
    ValueError: title: it has control characters
    """
    if depth > MAX_DEPTH:
        msg = f"it is nested more than {MAX_DEPTH} deep"
        raise ValueError(msg)
    if isinstance(value, dict):
        for key, item in value.items():
            check_content(str(key), where)
            check_content(item, f"{where}.{key}".strip(".")[:MAX_PATH_LENGTH], depth + 1)
    elif isinstance(value, list):
        for item in value:
            check_content(item, where, depth + 1)
    elif fault := _find_fault(value):
        msg = f"{where}: {fault}"
        raise ValueError(msg)


def _find_fault(value: object) -> str | None:
    if isinstance(value, str):
        if len(value) > MAX_TEXT_LENGTH:
            return "it is longer than any text of a label"
        return "it has control characters" if UNSEEN.search(value) else None
    if isinstance(value, bool | date) or value is None:
        return None
    if isinstance(value, int):
        return None if abs(value) < INTEGER_LIMIT else "it is larger than any number of a label"
    if isinstance(value, float):
        return None if math.isfinite(value) else "it is not a finite number"
    return f"it is {type(value).__name__}, neither text nor number"


def check_label(label: Label) -> None:
    """Refuse a label whose figures do not follow from each other, or whose place or time make no sense."""
    privacy = label.privacy
    if privacy.epsilon_accounted > privacy.epsilon * (1 + ROUNDING):
        msg = f"epsilon_accounted {privacy.epsilon_accounted} is more than epsilon {privacy.epsilon}"
        raise ValueError(msg)
    right = attack_rates(privacy.epsilon)
    if privacy.attacker_false_positive_rate != FALSE_POSITIVES or not rates_agree(privacy.attack_rates, right):
        msg = f"attack_rates: they do not follow from epsilon {privacy.epsilon} and {FALSE_POSITIVES} false positives"
        raise ValueError(msg)
    if label.ledger_entry is not None and (fault := label.ledger_entry.find_fault(privacy.epsilon)):
        msg = f"ledger_entry: {fault}"
        raise ValueError(msg)
    for window in filter(None, (label.window, label.training_window)):
        check_window(window.window())
    label.grid.grid()
    check_system(label.grid.crs)


def check_window(window: Window) -> None:
    """Refuse a window near the ends of the calendar."""
    if not (window.start.year >= MIN_YEAR and window.end.year <= MAX_YEAR):
        msg = (
            f"a window from {window.start.isoformat()} to {window.end.isoformat()}: not in the years {MIN_YEAR} "
            f"to {MAX_YEAR}"
        )
        raise ValueError(msg)


def check_size(shape: tuple[int, ...]) -> None:
    """Refuse a cube of absurd size."""
    if math.prod(shape) > MAX_CELLS or max(shape) > MAX_AXIS:
        msg = f"a cube of {shape} (time, y, x) is larger than any release"
        raise ValueError(msg)


@lru_cache(maxsize=64)
def check_system(crs: str) -> None:
    """Refuse a coordinate system that PROJ does not know, or that is not one of maps.

    >>> check_system("EPSG:4978")
    Traceback (most recent call last):
        ...
    gridveil.model.errors.UsageError: coordinate system EPSG:4978 (Geocentric CRS): not one of a flat map
    """
    if crs in KNOWN_SYSTEMS:
        return
    from gridveil.release.format.hdf5_file import known_system

    system = known_system(crs)
    if not (system.is_projected or system.is_geographic) or len(system.axis_info) != MAP_AXES:
        msg = f"coordinate system {crs} ({system.type_name}): not one of a flat map"
        raise UsageError(msg, code="crs-not-a-map")


# What a release must keep to so that it opens again: asked of public settings, before a row is read or a bit spent.


def check_openable(
    grid: Grid, windows: Iterable[Window], texts: Mapping[str, str], parameters: Mapping[str, Any]
) -> None:
    """Refuse what a label could hold but no reader would take; the published window comes first.

    >>> from datetime import UTC, datetime, timedelta
    >>> window = Window(datetime(9500, 1, 1, tzinfo=UTC), timedelta(hours=1), 24)
    >>> check_openable(Grid(0, 0, 1, 1, nx=2, ny=2), [window], {}, {})
    Traceback (most recent call last):
        ...
    gridveil.model.errors.UsageError: no release could be opened with these settings: a window from
    9500-01-01T00:00:00+00:00 to 9500-01-02T00:00:00+00:00: not in the years 1000 to 9000
    """
    published, *others = windows
    try:
        check_size((published.steps, grid.ny, grid.nx))
        for window in (published, *others):
            check_window(window)
        check_system(grid.crs)
        check_content({name: UNSEEN.sub(" ", text) for name, text in texts.items()})
        check_content(MechanismFacts(name="", parameters=dict(parameters)).parameters, "parameters")
    except (ValueError, OverflowError, GridveilError) as error:
        msg = f"no release could be opened with these settings: {error}"
        raise UsageError(msg, code="release-unopenable") from error


# The files of a release: their names, the label as JSON, and the digests in SHA256SUMS.

VALUES = "consumption.nc"
LABEL = "label.json"
README = "README.md"
ENTRY = "ledger-entry.json"  # the debit as its ledger has it, byte for byte; only if there is a ledger
SUMS = "SHA256SUMS"  # of all others, as sha256sum writes and checks them
FORMAT = 1  # of consumption.nc
GROUP = "gridveil"  # in consumption.nc: what queries need
Stored = Any  # a file, group, variable or dataset: h5py and h5netcdf have no types
MAX_LABEL_BYTES = 2**23  # bytes: thirty thousand measurements take about 5 MB
VERSION = 1  # of label.json


def dump_label(label: Label) -> str:
    """Return a label as JSON text."""
    return json.dumps(label.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_label(path: Path) -> Label:
    """Read a label; strict, so that nothing is shown that was not understood."""
    try:
        _refuse_unfinished(path)
        content = read_json(path, MAX_LABEL_BYTES)
        _check_version(path, content)
        check_content(content)
        label = Label.model_validate_json(json.dumps(content), strict=True)
        check_label(label)
    except InputError:
        raise
    except FileNotFoundError as error:
        msg = f"{path}: no such file; a release is a folder with {VALUES}, {LABEL} and {README}"
        raise InputError(msg, code="label-missing") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise _unreadable(path, f"{where}: {fault['msg']}") from error
    except (OSError, RecursionError, ValueError, OverflowError, GridveilError) as error:
        raise _unreadable(path, str(error)) from error
    return label


def _refuse_unfinished(path: Path) -> None:
    """Refuse what a publication that was killed left aside, be it whole: nobody knows that it is."""
    folder = path.resolve().parent
    if folder.name.startswith(ASIDE_PREFIX):
        msg = f"{folder}: a publication that was stopped left this; it is no release, and can be deleted"
        raise InputError(msg, code="release-unfinished")


def _check_version(path: Path, content: object) -> None:
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, int) and version != VERSION:
        msg = f"{path}: version {version} of labels is not known here, only {VERSION}; get a newer gridveil"
        raise InputError(msg, code="label-version-unknown")


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: not a release's label ({why}); get a fresh copy of the release", code="label-unreadable"
    )


# SHA256SUMS: the digests of a release's files, as `sha256sum -c` checks them.

SUMMED = (VALUES, LABEL, README, ENTRY)
BLOCK = 2**20
STAGE = "sum up its files"
MAX_SUMS_BYTES = 2**12
MAX_FILE_BYTES = 2**38  # more than the largest cube that is read can take
LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def digest(path: Path, progress: Progress = silent) -> str:
    """Return a file's SHA-256; devices, pipes and what is larger than any release are refused, and never waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        check_regular(status)
        if status.st_size > MAX_FILE_BYTES:
            msg = "it is larger than any release"
            raise ValueError(msg)
        known = hashlib.sha256()
        for done in range(0, status.st_size, BLOCK):  # and no more, should it grow meanwhile
            known.update(file.read(BLOCK))
            progress(STAGE, min(1.0, (done + BLOCK) / status.st_size))
    return known.hexdigest()


def write_sums(folder: Path, progress: Progress = silent) -> dict[str, str]:
    """Write the digests of the files of a folder into it, and return them."""
    others = {name: digest(folder / name) for name in SUMMED[1:] if (folder / name).exists()}
    digests = {VALUES: digest(folder / VALUES, progress), **others}
    lines = (f"{known}  {name}\n" for name, known in digests.items())
    (folder / SUMS).write_text("".join(lines), encoding="ascii")
    return digests


def read_sums(path: Path) -> dict[str, str]:
    """Return the digests that are listed; only names of a release's files are believed."""
    raw = read_regular(path, MAX_SUMS_BYTES)
    if len(raw) > MAX_SUMS_BYTES:
        msg = "it is longer than any list of a release's files"
        raise ValueError(msg)
    digests: dict[str, str] = {}
    for line in raw.decode("ascii").splitlines():
        match = LINE.fullmatch(line)
        if match is None or match[2] not in SUMMED or match[2] in digests:
            msg = f"a line is not a digest and the name of one of {', '.join(SUMMED)}, each once"
            raise ValueError(msg)
        digests[match[2]] = match[1]
    return digests
