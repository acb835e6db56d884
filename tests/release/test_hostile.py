"""Files that are not what they seem are refused with a message, and nothing else happens."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, make_label

from gridveil.model.errors import InputError
from gridveil.release.format.facts import GridFacts
from gridveil.release.format.files import dump_label
from gridveil.release.query.open import open_release

Publish = Callable[..., Path]
Change = Callable[[h5py.File], object]


def replace_with(name: str, **how: object) -> Change:
    def change(file: h5py.File) -> None:
        shape = file[name].shape
        del file[name]
        file.create_dataset(name, **({"shape": shape, "dtype": "f8"} | how))

    return change


def link_away(file: h5py.File) -> None:
    del file["consumption"]
    file["consumption"] = h5py.ExternalLink("elsewhere.h5", "/consumption")


def virtual(file: h5py.File) -> None:
    shape = file["consumption"].shape
    del file["consumption"]
    layout = h5py.VirtualLayout(shape, "f4")
    layout[...] = h5py.VirtualSource("elsewhere.h5", "consumption", shape)
    file.create_virtual_dataset("consumption", layout)


CHANGES: dict[str, tuple[Change, str]] = {
    "no format": (lambda file: file.attrs.__delitem__("gridveil_format"), "gridveil_format"),
    "text format": (lambda file: file.attrs.__setitem__("gridveil_format", "new"), "new"),
    "missing": (lambda file: file.__delitem__("consumption"), "consumption"),
    "no group": (lambda file: file.__delitem__("gridveil"), "gridveil"),
    "shape": (replace_with("consumption", shape=(2, 2, 2)), "shape (2, 2, 2)"),
    "absurd": (replace_with("gridveil/prefix_sums", shape=(2**40, 6, 9), chunks=(8, 6, 9)), "shape"),
    "external": (replace_with("consumption", external=[("/etc/hostname", 0, 2**20)]), "another file"),
    "link": (link_away, "not a release"),
    "virtual": (virtual, "another file"),
    "vast chunks": (replace_with("consumption", chunks=(2**16, 64, 64), maxshape=(None,) * 3), "stored in a way"),
    "text": (replace_with("gridveil/part_shares", dtype="S3"), "stored in a way"),
    "other axis": (lambda file: file["x_bnds"].__setitem__((0, 0), 99.0), "not of one release"),
    "other model": (lambda file: file["gridveil"].attrs.__setitem__("error_model", "trust me"), "trust me"),
    "bad labels": (lambda file: file["gridveil/part_labels"].__setitem__((0, 0, 0), 99), "labels"),
    "bad scales": (lambda file: file["gridveil/part_scales"].__setitem__(0, np.nan), "not finite"),
    "two axes": (replace_with("gridveil/part_labels", shape=(5, 8)), "2 axes"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(publish: Publish, name: str) -> None:
    path = publish("parts")
    change, message = CHANGES[name]
    with h5py.File(path / "consumption.nc", "r+") as file:
        change(file)
    with pytest.raises(InputError, check=has_code("values-unreadable", "consumption.nc", message)):
        open_release(path).query()


@pytest.mark.parametrize("version", [0, 2])
def test_another_format_is_refused(publish: Publish, version: int) -> None:
    path = publish("parts")
    with h5py.File(path / "consumption.nc", "r+") as file:
        file.attrs["gridveil_format"] = version
    with pytest.raises(InputError, check=has_code("values-version-unknown", "consumption.nc", f"format {version}")):
        open_release(path).query()


def test_a_label_of_absurd_size_is_refused(publish: Publish) -> None:
    path = publish()
    vast = make_label().model_copy(update={"grid": GridFacts.of(GRID).model_copy(update={"nx": 2**40})})
    (path / "label.json").write_text(dump_label(vast), encoding="utf-8")
    with pytest.raises(InputError, check=has_code("values-unreadable", "larger than any release")):
        open_release(path)


def test_missing_files_are_named(publish: Publish, tmp_path: Path) -> None:
    with pytest.raises(InputError, check=has_code("label-missing")):
        open_release(tmp_path / "nowhere")
    path = publish()
    (path / "consumption.nc").unlink()
    with pytest.raises(InputError, check=has_code("values-missing")):
        open_release(path)


def test_damaged_bytes_never_escape_as_another_error(publish: Publish) -> None:
    """Truncated and overwritten copies either are refused or still answer."""
    path = publish("parts")
    file = path / "consumption.nc"
    whole = file.read_bytes()
    dice = random.Random(7)  # noqa: S311 - which bytes are damaged protects nothing
    for _ in range(150):
        damaged = bytearray(whole[: dice.choice([len(whole), len(whole), dice.randrange(len(whole))])])
        for _ in range(dice.randrange(1, 40)):
            damaged[dice.randrange(min(len(damaged), dice.choice([4096, len(whole)])))] = dice.randrange(256)
        file.write_bytes(damaged)
        try:
            open_release(path).query(x=(0, 4))
        except InputError as error:
            assert "consumption.nc" in str(error)  # noqa: PT017 - both outcomes are right
