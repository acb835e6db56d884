from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, KINDS, WINDOW, make_estimate, make_label
from tests.work import wait_for_next_second

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.release.format import netcdf as write
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import open_release
from gridveil.uncertainty import Estimate, NoisyParts, Replicates

Publish = Callable[..., Path]


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def test_the_same_arguments_give_the_same_bytes(publish: Publish) -> None:
    first = {kind: contents(publish(kind, name=f"one {kind}")) for kind in KINDS}
    wait_for_next_second()
    assert {kind: contents(publish(kind, name=f"two {kind}")) for kind in KINDS} == first
    assert all(set(files) == {"consumption.nc", "label.json", "README.md", "SHA256SUMS"} for files in first.values())


def test_no_path_or_temporary_name_is_in_a_release(tmp_path: Path) -> None:
    path = tmp_path / "veryspecialname"
    aside: list[str] = []
    write_netcdf = write.write_netcdf

    def spy(file: Path, **arguments: object) -> None:
        aside.append(file.parent.name)
        write_netcdf(file, **arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "write_netcdf", spy)
        write_release(path, grid=GRID, window=WINDOW, estimate=make_estimate("parts"), label=make_label())
    every = b"".join(contents(path).values())
    for name in (
        str(tmp_path),
        tmp_path.name,
        path.name,
        aside[0],
        aside[0].rsplit(".", maxsplit=1)[-1],
        str(Path.home()),
    ):
        assert name.encode() not in every


def test_an_existing_path_is_never_overwritten(publish: Publish, tmp_path: Path) -> None:
    before = contents(publish())
    with pytest.raises(UsageError, check=has_code("out-exists")):
        publish()
    assert contents(tmp_path / "release") == before
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, check=has_code("out-exists")):
        publish(name="dangling")


@pytest.mark.parametrize(
    "broken",
    [
        "release.format.netcdf.write_netcdf",
        "release.format.netcdf.dump_label",
        "release.format.netcdf.readme",
        "model.files.sync",
    ],
)
def test_a_failure_leaves_nothing(
    publish: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        msg = "disk full"
        raise OSError(msg)

    monkeypatch.setattr(f"gridveil.{broken}", fail)
    with pytest.raises(OSError, match="disk full"):
        publish()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_in_the_middle_of_the_values_leaves_nothing(publish: Publish, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gridveil.uncertainty.parts.NoisyParts.cell_errors", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish("parts")
    assert list(tmp_path.iterdir()) == []


def test_every_file_and_folder_is_synced_before_the_rename(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def spy(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def renamed(self: Path, target: Path) -> Path:
        synced.append("renamed")
        return rename(self, target)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(Path, "rename", renamed)
    path = publish()
    assert set(synced[:4]) == {"consumption.nc", "label.json", "README.md", "SHA256SUMS"}
    assert synced[4].startswith(".gridveil-")
    assert synced[5:] == ["renamed", path.parent.name]


def test_a_release_can_be_read_by_others(publish: Publish) -> None:
    path = publish()
    assert path.stat().st_mode & 0o777 == 0o755


def test_the_label_must_be_of_the_release(tmp_path: Path) -> None:
    other = make_label(replace(GRID, crs="local"))
    with pytest.raises(UsageError, check=has_code("label-other-cube")):
        write_release(tmp_path / "r", grid=GRID, window=WINDOW, estimate=make_estimate("parts"), label=other)


SHAPE = (GRID.nx, GRID.ny, WINDOW.steps)
ONES = np.ones(SHAPE)
ONE = np.array(1.0)


@pytest.mark.parametrize(
    "estimate",
    [
        Estimate(np.ones((2, 2, 2)), NoisyParts(None, ONE, ONE)),
        Estimate(ONES * np.nan, NoisyParts(None, ONE, ONE)),
        Estimate(ONES, NoisyParts(None, -ONE, ONE)),
        Estimate(ONES, NoisyParts(None, ONE, ONE * np.inf)),
        Estimate(ONES, NoisyParts(None, np.ones((7, 1, 1)), ONE)),
        Estimate(ONES, NoisyParts(np.full(SHAPE, 3), np.ones(3), ONE)),
        Estimate(ONES, Replicates(np.ones((9, 2, 2)), np.ones((9, WINDOW.steps)))),
        Estimate(ONES, Replicates(np.full((9, GRID.nx, GRID.ny), np.nan), np.ones((9, WINDOW.steps)))),
        Estimate(ONES, Replicates(np.ones((1, GRID.nx, GRID.ny)), np.ones((1, WINDOW.steps)))),
    ],
    ids=["shape", "nan", "negative", "infinite", "broadcast", "label", "replicates", "nan replicates", "one replicate"],
)
def test_an_estimate_that_makes_no_sense_is_refused(tmp_path: Path, estimate: Estimate) -> None:
    with pytest.raises(UsageError):
        write_release(tmp_path / "r", grid=GRID, window=WINDOW, estimate=estimate, label=make_label())
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_coordinate_system_is_refused(publish: Publish) -> None:
    with pytest.raises(UsageError, check=has_code("crs-unknown", "EPSG:1 ")):
        publish(grid=Grid(0, 0, 1, 1, nx=2, ny=2, crs="EPSG:1 "))


def test_writing_in_slabs_changes_nothing(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = open_release(publish("replicates", name="whole"))
    monkeypatch.setattr("gridveil.release.format.netcdf.SLAB_CELLS", 1)
    slabs = open_release(publish("replicates", name="slabs"))
    np.testing.assert_array_equal(whole.values(), slabs.values())
    np.testing.assert_allclose(whole._prefix.dataset[()], slabs._prefix.dataset[()], rtol=1e-13)


def test_arrays_are_stored_as_small_as_they_are(publish: Publish) -> None:
    with h5py.File(publish("pillars") / "consumption.nc") as file:
        assert file["gridveil/part_labels"].shape == (1, GRID.ny, GRID.nx)
        assert file["gridveil/part_shares"].shape == (WINDOW.steps, 1, 1)
    with h5py.File(publish("identity", name="other") / "consumption.nc") as file:
        assert file["gridveil/part_scales"].shape == (1, 1, 1)
        assert file["consumption"].dtype == np.float32
