"""The files of a release, and how its label is written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.folder import ASIDE
from gridveil.model.regular import read_regular
from gridveil.release.format import label_yaml
from gridveil.release.format.distrust import check_content, check_label
from gridveil.release.format.label import Label

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
