"""The files of a release, and how its label is written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from gridveil.errors import GridveilError, InputError
from gridveil.release.distrust import check_content, check_label, read_regular
from gridveil.release.label import Label

VALUES = "consumption.nc"
LABEL = "label.yaml"
README = "README.md"
ENTRY = "ledger-entry.json"  # the debit as its ledger has it, byte for byte; only if there is a ledger
SUMS = "SHA256SUMS"  # of all others, as sha256sum writes and checks them
FORMAT = 2  # of consumption.nc: the newest that is read; files are written in the oldest that has all they need
GROUP = "gridveil"  # in consumption.nc: what queries need
Stored = Any  # a file, group, variable or dataset: h5py and h5netcdf have no types
LARGEST_LABEL = 2**22
VERSION = 3  # of label.yaml; 2 has private bounds, and noise and bound of every measurement; 3 has the ledger's entry


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's signature
        """Write everything out."""
        return True


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - PyYAML's signature
        """Refuse aliases: a few lines of them can stand for more text than memory holds."""
        if self.check_event(yaml.AliasEvent):
            msg = "aliases are not allowed"
            raise yaml.YAMLError(msg)
        return super().compose_node(parent, index)

    def construct_yaml_int(self, node: Any) -> int:  # noqa: ANN401 - PyYAML's signature
        """Read an integer."""
        return super().construct_yaml_int(self._decimal(node))

    def construct_yaml_float(self, node: Any) -> float:  # noqa: ANN401 - PyYAML's signature
        """Read a number."""
        return super().construct_yaml_float(self._decimal(node))

    def _decimal(self, node: Any) -> Any:  # noqa: ANN401 - PyYAML's signature
        """Refuse numbers to the base of 60, which take time that grows with the square of their length."""
        if ":" in self.construct_scalar(node):
            msg = "a number with colons: put texts in quotes"
            raise yaml.YAMLError(msg)
        return node


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def dump_label(label: Label) -> str:
    """Return a label as YAML."""
    return yaml.dump(label.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def load_label(path: Path) -> Label:
    """Read a label; strict, so that nothing is shown that was not understood."""
    try:
        content = _parse(path)
        _check_version(path, content)
        check_content(content)
        label = Label.model_validate(content)
        check_label(label)
    except InputError:
        raise
    except FileNotFoundError as error:
        msg = f"{path}: no such file; a release is a folder with {VALUES}, {LABEL} and {README}"
        raise InputError(msg) from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise _unreadable(path, f"{where}: {fault['msg']}") from error
    except (OSError, RecursionError, ValueError, OverflowError, yaml.YAMLError, GridveilError) as error:
        raise _unreadable(path, str(error)) from error
    return label


def _parse(path: Path) -> object:
    raw = read_regular(path, LARGEST_LABEL)
    if len(raw) > LARGEST_LABEL:
        raise _unreadable(path, "it is larger than any label")
    return yaml.load(raw.decode("utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader


def _check_version(path: Path, content: object) -> None:
    version = content.get("schema_version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > VERSION:
        msg = f"{path}: schema version {version} is newer than this gridveil; upgrade it: pip install -U gridveil"
        raise InputError(msg)


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(f"{path}: not a release's label ({why}); get a fresh copy of the release")
