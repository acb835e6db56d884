"""The files of a release: their names, the label as JSON, and the digests in SHA256SUMS."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.files import ASIDE_PREFIX, check_regular, read_regular
from gridveil.model.progress import Progress, silent
from gridveil.release.format.label import Label
from gridveil.release.format.untrusted import check_content, check_label, read_json

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
        label = Label.model_validate(content)
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
