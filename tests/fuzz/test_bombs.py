"""Files that are small and stand for much: commands refuse them, or get through, in bounded time and memory."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.fuzz.oracle import command
from tests.fuzz.releases import write

HOMES = "household,x,y\na,0.5,0.5\n"
PLACE = ("--extent", "0,0,2,2", "--grid", "2x2", "--start", "2013-02-04", "--steps", 4)
MEGABYTE = 2**20


def check(folder: Path, readings: str) -> str:
    (folder / "households.csv").write_text(HOMES, encoding="utf-8")
    return command("check", readings, "--households", "households.csv", *PLACE, folder=folder).said


def many_columns(folder: Path) -> str:
    (folder / "readings.csv").write_text(",".join(f"c{i}" for i in range(10**6)) + "\n", encoding="utf-8")
    return check(folder, "readings.csv")


def endless_line(folder: Path) -> str:
    with gzip.open(folder / "readings.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"household,timestamp,kwh\na,2013-02-04T01:00,1\n")
        for _ in range(256):
            file.write(b'"' * MEGABYTE)
    return check(folder, "readings.csv.gz")


def pipe(folder: Path) -> str:
    os.mkfifo(folder / "readings.csv")
    return check(folder, "readings.csv")


def device(folder: Path) -> str:
    (folder / "readings.csv").symlink_to("/dev/zero")
    return check(folder, "readings.csv")


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def convert(folder: Path, content: bytes) -> str:
    (folder / "a.zip").write_bytes(content)
    return command("convert", "cer", "a.zip", "--out", "out", folder=folder).said


def zip_of_zeros(folder: Path) -> str:
    return convert(folder, zipped("File1.txt", bytes(100 * MEGABYTE)))


def zip_in_zip_of_zeros(folder: Path) -> str:
    return convert(folder, zipped("File1.zip", bytes(100 * MEGABYTE)))


def zips_without_end(folder: Path) -> str:
    content = zipped("File1.txt", b"1392 19503 0.14\n")
    for _ in range(200):
        content = zipped("File1.zip", content)
    return convert(folder, content)


def name_of_digits(folder: Path) -> str:
    return convert(folder, zipped("9" * 5000 + ".txt", b"no readings\n"))


def query(folder: Path, change: Callable[[h5py.File], object]) -> str:
    write(folder / "release", "parts")
    with h5py.File(folder / "release" / "consumption.nc", "r+") as file:
        change(file)
    return command("query", "release", folder=folder).said


def chunk_of_zeros(folder: Path) -> str:
    """HDF5 unpacks a chunk to whatever it says, not to the size of a chunk."""

    def change(file: h5py.File) -> None:
        shape = file["gridveil/prefix_sums"].shape
        del file["gridveil/prefix_sums"]
        data = file.create_dataset("gridveil/prefix_sums", shape, dtype="f8", chunks=shape, compression="gzip")
        packed = zlib.compress(bytes(300 * MEGABYTE), level=1)
        assert len(packed) > MEGABYTE
        data.id.write_direct_chunk((0, 0, 0), packed)

    return query(folder, change)


def packed_twice(folder: Path) -> str:
    def change(file: h5py.File) -> None:
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        shape = file["gridveil/prefix_sums"].shape
        del file["gridveil/prefix_sums"]
        settings.set_chunk(shape)
        for _ in range(3):
            settings.set_deflate(9)
        space = h5py.h5s.create_simple(shape)
        data = h5py.h5d.create(file.id, b"gridveil/prefix_sums", h5py.h5t.NATIVE_DOUBLE, space, settings)
        data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(shape))

    return query(folder, change)


def link_to_a_pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")

    def change(file: h5py.File) -> None:
        del file["gridveil/part_labels"]
        file["gridveil/part_labels"] = h5py.ExternalLink(str(folder / "pipe"), "/x")

    return query(folder, change)


BOMBS = {
    many_columns: "it names 1,000,000",
    endless_line: "1 of them counted",
    pipe: "pipe or a device",
    device: "pipe or a device",
    zip_of_zeros: "unpacks to 104,857,600 bytes",
    zip_in_zip_of_zeros: "unpacks to 104,857,600 bytes",
    zips_without_end: "deep inside each other",
    name_of_digits: "line 1 is not as it should be",
    chunk_of_zeros: "stored in a way that no release is",
    packed_twice: "stored in a way that no release is",
    link_to_a_pipe: "points to another file",
}


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_bombs(tmp_path: Path, bomb: Callable[[Path], str]) -> None:
    assert BOMBS[bomb] in bomb(tmp_path)
