"""The HDF5 file of a release: safe writing, compression in several threads, CF axes that GDAL reads."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor
from datetime import UTC, timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid, edges
from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.format.files import Stored

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


# Writing compressed chunks in several threads: HDF5 itself packs one after the other, most of the time it takes.

LEVEL = 4
COMPRESSED = {"compression": "gzip", "compression_opts": LEVEL, "shuffle": True}
"""How a dataset is created whose chunks are written here."""

Place = tuple[int, ...]
Packed = Iterator[tuple[Place, bytes]]


def packed(dataset: Stored, first: int, slab: NDArray[Any], threads: Executor) -> Packed:
    """Begin to pack the chunks of a slab, and return them in order with their places.

    The slab begins at index `first` of the first axis, where chunks begin, and is whole along all others.
    """
    chunk = dataset.chunks
    corners = list(product(*(range(0, length, size) for length, size in zip(slab.shape, chunk, strict=True))))

    def pack(corner: Place) -> bytes:
        part = slab[tuple(slice(start, start + size) for start, size in zip(corner, chunk, strict=True))]
        whole = np.zeros(chunk, dtype=dataset.dtype)
        whole[tuple(map(slice, part.shape))] = part
        # HDF5's shuffle: the first bytes of all numbers, then the second ones, and so on.
        shuffled = whole.reshape(-1).view(np.uint8).reshape(-1, whole.itemsize).T.tobytes()
        return zlib.compress(shuffled, LEVEL)

    # `map` begins at once: the caller may do something else meanwhile.
    return zip(((first + at, *others) for at, *others in corners), threads.map(pack, corners), strict=True)


def write_packed(dataset: Stored, chunks: Packed) -> None:
    """Write packed chunks to their places."""
    for place, data in chunks:
        dataset.id.write_direct_chunk(place, data)


# A file for HDF5 to write: HDF5 crashes the process when a write fails, as it does on a full disk.


class Hdf5File(io.RawIOBase):
    """A new file whose writes never fail in HDF5's sight: what the disk does not take is kept in memory.

    Whoever writes looks at `check` after every part and at the end: it raises the first failure. So no more than a part
    is ever kept.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._at = self._end = 0
        self._kept: list[tuple[int, bytes]] = []
        self._failure: OSError | None = None

    def check(self) -> None:
        """Raise the first failure, if there was any."""
        if self._failure is not None:
            raise self._failure

    def readable(self) -> bool:
        """HDF5 reads what it wrote."""
        return True

    def writable(self) -> bool:
        """Return true, always."""
        return True

    def seekable(self) -> bool:
        """Return true: writes come in any order."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set where the file ends."""
        self._end = self._at if size is None else size
        try:
            os.ftruncate(self._handle, self._end)
        except OSError as error:
            self._failure = self._failure or error
        return self._end

    def write(self, data: ReadableBuffer) -> int:
        """Write all of it, or keep it."""
        whole = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(whole):
                done += os.pwrite(self._handle, whole[done:], self._at + done)
        except OSError as error:
            self._failure = self._failure or error
            self._kept.append((self._at, bytes(whole)))
        self._at += len(whole)
        self._end = max(self._end, self._at)
        return len(whole)

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what was written, kept parts over those on disk."""
        whole = memoryview(buffer).cast("B")
        size = max(0, min(len(whole), self._end - self._at))
        found = os.pread(self._handle, size, self._at)
        whole[:size] = found + bytes(size - len(found))
        for start, part in self._kept:
            first, last = max(start, self._at), min(start + len(part), self._at + size)
            if first < last:
                whole[first - self._at : last - self._at] = part[first - start : last - start]
        self._at += size
        return size

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            os.close(self._handle)
        super().close()


# Axes and coordinate reference system as the CF conventions want them, and as GDAL reads them.

CONVENTIONS = "CF-1.11"
TIME_UNITS = "seconds since 1970-01-01 00:00:00"


def time_edges(window: Window) -> Ints:
    """Return where steps begin and end, seconds since 1970 UTC."""
    start = round(window.start.astimezone(UTC).timestamp())
    return start + window.step // timedelta(seconds=1) * np.arange(window.steps + 1, dtype=np.int64)


def write_axes(file: Stored, grid: Grid, window: Window) -> None:
    """Write the coordinates of time, y and x with their bounds."""
    horizontal, vertical = _horizontal(grid.crs)
    steps = time_edges(window)
    time_attributes = {"standard_name": "time", "long_name": "start of the step", "units": TIME_UNITS}
    _write_axis(file, "time", steps[:-1], steps, {**time_attributes, "calendar": "standard", "axis": "T"})
    for name, attributes, limits in (
        ("y", vertical, edges(grid.y0, grid.y1, grid.ny)),
        ("x", horizontal, edges(grid.x0, grid.x1, grid.nx)),
    ):
        _write_axis(file, name, (limits[:-1] + limits[1:]) / 2, limits, {**attributes, "axis": name.upper()})


def write_crs(file: Stored, grid: Grid) -> None:
    """Write the grid mapping; GDAL places the map by `spatial_ref` and `GeoTransform`."""
    crs = known_system(grid.crs)
    attributes = crs.to_cf()
    transform = (grid.x0, grid.cell_width, 0.0, grid.y1, 0.0, -grid.cell_height)
    variable = file.create_variable("crs", (), np.int32, data=0)
    variable.attrs.update(attributes)
    variable.attrs["spatial_ref"] = attributes["crs_wkt"]
    variable.attrs["GeoTransform"] = " ".join(repr(number) for number in transform)


def _write_axis(
    file: Stored, name: str, values: Floats | Ints, limits: Floats | Ints, attributes: dict[str, str]
) -> None:
    variable = file.create_variable(name, (name,), data=values)
    variable.attrs.update({**attributes, "bounds": f"{name}_bnds"})
    file.create_variable(f"{name}_bnds", (name, "bounds"), data=np.stack([limits[:-1], limits[1:]], axis=1))


def _horizontal(crs: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the attributes of x and y."""
    if crs == "local":
        return {"long_name": "x of the cell's centre"}, {"long_name": "y of the cell's centre"}
    known = known_system(crs)
    if known.is_geographic:
        return (
            {"standard_name": "longitude", "units": "degrees_east"},
            {"standard_name": "latitude", "units": "degrees_north"},
        )
    unit = known.axis_info[0].unit_name
    return tuple({"standard_name": f"projection_{axis}_coordinate", "units": unit} for axis in "xy")  # type: ignore[return-value] # two axes


def known_system(name: str) -> Any:  # noqa: ANN401 - imported only when there is a map to place
    """Return the coordinate system of this name."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(name)
    except CRSError as error:
        msg = f'coordinate system {name}: not one that PROJ knows; give e.g. EPSG:4326, or "local" for none'
        raise UsageError(msg, code="crs-unknown") from error
