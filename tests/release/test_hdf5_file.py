"""A disk that takes no more, at any write: HDF5 goes on as if nothing happened, and the failure is told at the end."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label

from gridveil.release.format import hdf5_file
from gridveil.release.format.hdf5_file import Hdf5File
from gridveil.release.format.netcdf import write_release

FULL = os.strerror(errno.ENOSPC)
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


class Disk:
    """Takes so many writes, the last of them in part."""

    def __init__(self, takes: int) -> None:
        self.left = takes

    def pwrite(self, handle: int, data: memoryview, at: int) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, FULL)
        return os.pwrite(handle, data[: len(data) // 2] if self.left == 0 and len(data) > 1 else data, at)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def test_a_disk_that_is_full_at_any_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"grid": GRID, "window": WINDOW, "estimate": make_estimate("parts"), "label": make_label()}
    endless = Disk(10**9)
    monkeypatch.setattr(hdf5_file, "os", endless)
    write_release(tmp_path / "release", **arguments)
    writes = 10**9 - endless.left
    assert writes > 10
    for takes in range(0, writes, 1 if LONG else 1 + writes // 24):
        monkeypatch.setattr(hdf5_file, "os", Disk(takes))
        with pytest.raises(OSError, match=FULL):
            write_release(tmp_path / "full", **arguments)
        assert [place.name for place in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("takes", [0, 1, 2, 3, 9])
def test_what_was_written_is_read_be_it_on_disk_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: int
) -> None:
    monkeypatch.setattr(hdf5_file, "os", Disk(takes))
    with Hdf5File(tmp_path / "file") as file:
        wanted = bytearray(30)
        for at, data in ((0, b"abcdef"), (20, b"uvwxyz0123"), (4, b"EFGH"), (2, b"C")):
            file.seek(at)
            assert file.write(data) == len(data)
            wanted[at : at + len(data)] = data
        for first, last in ((0, 30), (3, 5), (1, 25), (28, 99)):
            file.seek(first)
            assert file.read(last - first) == wanted[first:last]
        assert file.seek(0, os.SEEK_END) == 30
        if takes < 4:
            with pytest.raises(OSError, match=FULL):
                file.check()
        else:
            file.check()
