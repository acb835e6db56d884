"""The files of a release, its label's text and the digests in SHA256SUMS."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.files import ASIDE, check_regular, read_regular
from gridveil.model.progress import Progress, silent
from gridveil.release.format import label_yaml
from gridveil.release.format.label import Label
from gridveil.release.format.untrusted import check_content, check_label

# The files of a release, and how its label is written and read.

VALUES = "consumption.nc"
LABEL = "label.yaml"
README = "README.md"
ENTRY = "ledger-entry.json"  # the debit as its ledger has it, byte for byte; only if there is a ledger
SUMS = "SHA256SUMS"  # of all others, as sha256sum writes and checks them
FORMAT = 2  # of consumption.nc: the newest that is read; files are written in the oldest that has all they need
GROUP = "gridveil"  # in consumption.nc: what queries need
Stored = Any  # a file, group, variable or dataset: h5py and h5netcdf have no types
LARGEST_LABEL = 2**22
VERSION = 4  # of label.yaml


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's signature
        """Write everything out."""
        return True


def dump_label(label: Label) -> str:
    """Return a label as YAML."""
    return yaml.dump(label.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def load_label(path: Path) -> Label:
    """Read a label; strict, so that nothing is shown that was not understood."""
    try:
        _refuse_unfinished(path)
        content = _parse(path)
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
    except (OSError, RecursionError, ValueError, OverflowError, yaml.YAMLError, GridveilError) as error:
        raise _unreadable(path, str(error)) from error
    return label


def _refuse_unfinished(path: Path) -> None:
    """Refuse what a publication that was killed left aside, be it whole: nobody knows that it is."""
    folder = path.resolve().parent
    if folder.name.startswith(ASIDE):
        msg = f"{folder}: a publication that was stopped left this; it is no release, and can be deleted"
        raise InputError(msg, code="release-unfinished")


def _parse(path: Path) -> object:
    raw = read_regular(path, LARGEST_LABEL)
    if len(raw) > LARGEST_LABEL:
        raise _unreadable(path, "it is larger than any label")
    return label_yaml.parse(raw.decode("utf-8"))


def _check_version(path: Path, content: object) -> None:
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > VERSION:
        msg = f"{path}: schema version {version} is newer than this gridveil; upgrade it: pip install -U gridveil"
        raise InputError(msg, code="label-too-new")
    if isinstance(version, int) and version < VERSION:
        msg = f"{path}: schema version {version} was written by an earlier gridveil, and is no longer read"
        raise InputError(msg, code="label-too-old")


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: not a release's label ({why}); get a fresh copy of the release", code="label-unreadable"
    )


# SHA256SUMS: the digests of a release's files, as `sha256sum -c` checks them.

SUMMED = (VALUES, LABEL, README, ENTRY)
BLOCK = 2**20
STAGE = "sum up its files"
LARGEST_SUMS = 2**12
LARGEST_FILE = 2**38  # more than the largest cube that is read can take
LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def digest(path: Path, progress: Progress = silent) -> str:
    """Return a file's SHA-256; devices, pipes and what is larger than any release are refused, and never waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        check_regular(status)
        if status.st_size > LARGEST_FILE:
            msg = "it is larger than any release"
            raise ValueError(msg)
        known = hashlib.sha256()
        for done in range(0, status.st_size, BLOCK):  # and no more, should it grow meanwhile
            known.update(file.read(BLOCK))
            progress(STAGE, min(1.0, (done + BLOCK) / status.st_size))
    return known.hexdigest()


def write_sums(folder: Path, progress: Progress = silent) -> dict[str, str]:
    """Write the digests of the files in a folder beside them, and return them."""
    others = {name: digest(folder / name) for name in SUMMED[1:] if (folder / name).exists()}
    digests = {VALUES: digest(folder / VALUES, progress), **others}
    lines = (f"{known}  {name}\n" for name, known in digests.items())
    (folder / SUMS).write_text("".join(lines), encoding="ascii")
    return digests


def read_sums(path: Path) -> dict[str, str]:
    """Return the digests that are listed; only names of a release's files are believed."""
    raw = read_regular(path, LARGEST_SUMS)
    if len(raw) > LARGEST_SUMS:
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
