"""The readers that are fuzzed byte by byte, guided by coverage: from bytes to whatever they make of them."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
from tests.release.conftest import make_label

from gridveil.convert.convert import LOADERS
from gridveil.convert.loader import WrongLayoutError
from gridveil.convert.members import find_members
from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.mechanisms.mosaic.time import read_shape
from gridveil.publishing.spec import make_spec, read_spec
from gridveil.release.format.files import dump_label, load_label
from gridveil.trusted.engines.duckdb.csv_table import to_batch

FOLDER = Path(tempfile.mkdtemp(prefix="gridveil-fuzz-"))
GRIDS = (Grid(-1, -1, 3, 2, nx=4, ny=3, crs="EPSG:4326"), Grid(0, 0, 4, 3, nx=4, ny=3))
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 0]]]}
HALVES = ",".join(f"{half // 2 % 24}:{half % 2 * 30:02}" for half in range(1, 49))
TOPS = {
    "cer": b"1392 19503 0.14\n",
    "lcl": b"LCLid,stdorToU,DateTime,KWH/hh (per half hour) \nMAC000002,Std,2012-10-12 00:30:00.0000000, 0 \n",
    "uci": b'"";"MT_001"\n"2011-01-01 00:15:00";1,5\n',
    "ausgrid": b"note\nCustomer,Generator Capacity,Postcode,Consumption Category,date," + HALVES.encode() + b"\n",
}


def of_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return what reads bytes through a file."""

    def run(data: bytes) -> object:
        path = FOLDER / name
        path.write_bytes(data)
        return read(path)

    return run


def area(data: bytes) -> None:
    """Read an outline."""
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError):
        return
    for grid in GRIDS:
        Area.polygon(grid, content)


def loader(name: str) -> Callable[[bytes], object]:
    """Return what reads lines of an official format, whatever their layout."""

    def run(data: bytes) -> None:
        with duckdb.connect() as con:
            made = LOADERS[name](con)
            top = data.decode(errors="replace").splitlines() or [""]
            try:
                made.layout(top)
            except WrongLayoutError:
                made.layout(TOPS[name].decode().splitlines())
            list(made.read(to_batch(data + b"\n")))
            list(made.end_of_file())

    return run


def zipped() -> bytes:
    """Return a small zip with a zip in it."""
    content = b"1392 19503 0.14\n"
    for name in ("File1.txt", "File1.zip"):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, content)
        content = file.getvalue()
    return content


def members(path: Path) -> None:
    """List a zip's files, and read the top of each."""
    for member in find_members([path]):
        member.top()


SPEC = b"""readings = "r.csv"
households = "h.csv"
extent = [0, 0, 1, 1]
grid = "2x2"
steps = 3
step = "15min"
epsilon = 1
"""
PROFILE = b"hour,kwh\n" + b"".join(b"%d,1\n" % hour for hour in range(24))

TARGETS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "label": (of_file("label.json", load_label), dump_label(make_label()).encode()),
    "spec": (of_file("spec.toml", lambda path: make_spec(read_spec(path))), SPEC),
    "profile": (of_file("profile.csv", read_shape), PROFILE),
    "area": (area, json.dumps(SQUARE).encode()),
    "zip": (of_file("a.zip", members), zipped()),
    **{name: (loader(name), top) for name, top in TOPS.items()},
}
"""By name: what reads, and bytes that it reads without complaint, to start from."""
