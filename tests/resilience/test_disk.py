"""Disks that are full, and places that may not be written."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.resilience.conftest import Publish, new_ledger
from tests.resilience.kills import check

MEGABYTE = 2**20
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={MEGABYTE}".encode()):
        pytest.skip(f"no disk can be mounted here ({os.strerror(ctypes.get_errno())})")
    yield place
    libc.umount2(os.fsencode(place), 2)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes of a disk."""
    (disk / "filling").unlink(missing_ok=True)
    with (disk / "filling").open("wb") as file:
        file.write(b"0" * (shutil.disk_usage(disk).free - free))


@pytest.mark.parametrize("free", [0, 4096, 16384, 40960])
def test_a_disk_that_is_full_from_the_beginning_costs_nothing(
    publisher: Publish, disk: Path, tmp_path: Path, free: int
) -> None:
    ledger = new_ledger(str(tmp_path / "ledger.db"), 1)
    fill(disk, free)
    told = publisher(disk / "release", ledger.where)
    assert told["ended"] == "UsageError", told
    assert "give another --out" in told["said"]
    assert ledger.standing("town").spent == 0
    assert [place.name for place in disk.iterdir()] == ["filling"]


@pytest.mark.parametrize("free", [0, 4096, 16384, 40960])
def test_a_disk_that_is_full_when_the_release_is_written(
    publisher: Publish, disk: Path, tmp_path: Path, free: int
) -> None:
    ledger = new_ledger(str(tmp_path / "ledger.db"), 2)
    told = publisher(disk / "release", ledger.where, fill=(str(disk), free))
    assert told["ended"] == "UsageError", told
    assert "nothing is there" in told["said"]
    assert "epsilon 1 stays debited" in told["said"]
    assert [place.name for place in disk.iterdir()] == ["filling"]
    (disk / "filling").unlink()
    assert publisher(disk / "release", ledger.where)["ended"] == "published"
    assert ledger.standing("town").spent == 2
    check(ledger, [disk / "release"])


@pytest.mark.parametrize("free", [0, 4096, 8192, 16384])
def test_a_full_disk_for_the_ledger(publisher: Publish, disk: Path, tmp_path: Path, free: int) -> None:
    ledger = new_ledger(str(disk / "ledger.db"), 100)
    (tmp_path / "out").mkdir()
    fill(disk, free)
    published = 0
    for i in range(30):
        told = publisher(tmp_path / "out" / str(i), ledger.where)
        if told["ended"] != "published":
            break
        published += 1
    assert told["ended"] == "GridveilError", told
    assert "the disk is full" in told["said"]
    assert {place.name for place in (tmp_path / "out").iterdir()} == set(map(str, range(published)))
    assert ledger.standing("town").spent == published
    (disk / "filling").unlink()
    assert publisher(tmp_path / "out" / "again", ledger.where)["ended"] == "published"
    check(ledger, (tmp_path / "out").iterdir())


def test_a_disk_that_may_only_be_read(publisher: Publish, disk: Path, tmp_path: Path) -> None:
    """For root too, unlike permissions: refused before anything is debited or read."""
    kept, other = new_ledger(str(disk / "ledger.db"), 2), new_ledger(str(tmp_path / "ledger.db"), 2)
    read_only, again = 1, 32
    assert not libc.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", read_only | again, None)
    told: list[dict[str, Any]] = [
        publisher(disk / "release", other.where),
        publisher(tmp_path / "release", kept.where),
    ]
    assert [one["ended"] for one in told] == ["UsageError", "GridveilError"], told
    assert "give another --out" in told[0]["said"]
    assert "cannot be written" in told[1]["said"]
    assert [ledger.standing("town").spent for ledger in (kept, other)] == [0, 0]
    assert not (tmp_path / "release").exists()
    assert [ledger.verify() for ledger in (kept, other)] == [[], []]
