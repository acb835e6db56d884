"""Reading `consumption.nc` with h5py alone, trusting nothing in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import h5py
import numpy as np

from gridveil.geography.grid import edges
from gridveil.model.arrays import StoredPrefix
from gridveil.model.errors import InputError
from gridveil.model.files import check_regular
from gridveil.release.format import hdf5_file as cf
from gridveil.release.format.files import FORMAT, GROUP, Stored, check_size
from gridveil.release.format.label import Label
from gridveil.uncertainty import KINDS
from gridveil.uncertainty.model import DOUBLE, FLOAT, ErrorModel, Shape

TIGHTEST = 2048  # bytes that one in the file can stand for; gzip packs up to 1,032
MAX_CHUNK_BYTES = 2**20  # bytes, packed or not: unpacking one, whatever it says, takes about a thousand times as many
FILTERS = (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_FLETCHER32)  # that HDF5 itself has
HELD_BYTES = 2**25
CACHED_BYTES = 2**24  # of each variable's chunks: all that hold one step of 256 x 256 cells, so that the next is there
CACHED_SLOTS = 10_007


@dataclass(frozen=True)
class Content:
    """What a query needs: stored values and prefix sums (time, y, x), and the error model."""

    path: Path
    values: Stored
    prefix: StoredPrefix
    errors: ErrorModel

    @property
    def files(self) -> list[Path]:
        """The files of values."""
        return [self.path]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say which file is damaged; h5py answers one with whatever error its first bad byte leads to.

    Numbers that overflow on the way are not warned of: the answer is then not finite, and refused.
    """
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            yield
    except FileNotFoundError as error:
        msg = f"{path}: it is missing; get a fresh copy of the release"
        raise InputError(msg, code="values-missing") from error
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        RuntimeError,
        AttributeError,
        MemoryError,
    ) as error:
        msg = f"{path}: not a release's values, or damaged ({error}); get a fresh copy of the release"
        raise InputError(msg, code="values-unreadable") from error


def read_content(path: Path, label: Label, most_held: int | None = None) -> Content:
    """Open the file and check it against its label; of prefix sums, at most so many bytes are ever held in memory."""
    with reading(path):
        check_regular(path.stat())
        file = h5py.File(path, "r", rdcc_nbytes=CACHED_BYTES, rdcc_nslots=CACHED_SLOTS)
        _check_version(path, file)
        shape = (label.window.steps, label.grid.ny, label.grid.nx)
        check_size(shape)
        values = _dataset(file, "consumption", shape, FLOAT)
        prefix = _dataset(file, f"{GROUP}/prefix_sums", tuple(size + 1 for size in shape), DOUBLE)
        _check_axes(file, label)
        return Content(
            path,
            values=values,
            prefix=StoredPrefix(prefix, most_held),
            errors=_error_model(file, shape, label.window.window().step / timedelta(hours=1)),
        )


def about_the_truth(path: Path) -> bool:
    """Whether a release's error bars are about the consumption itself; its file is only peeked into."""
    with reading(path):
        check_regular(path.stat())
        with h5py.File(path, "r") as file:
            _check_version(path, file)
            kind = _inside(file, GROUP).attrs["error_model"]
            return kind in KINDS and KINDS[kind].about_the_truth


def standard_errors(values: Stored) -> Stored:
    """Return the standard errors that are stored beside values."""
    return _dataset(values.file, "consumption_se", values.shape, FLOAT)


def _check_version(path: Path, file: Stored) -> None:
    version = int(np.asarray(file.attrs["gridveil_format"]).item())
    if version != FORMAT:
        msg = f"{path}: format {version} is not known here, only {FORMAT}; get a newer gridveil"
        raise InputError(msg, code="values-version-unknown")


def _check_axes(file: Stored, label: Label) -> None:
    """Refuse a cube whose axes are not those of the label."""
    grid = label.grid
    for name, limits in (
        ("time", cf.time_edges(label.window.window())),
        ("y", edges(grid.y0, grid.y1, grid.ny)),
        ("x", edges(grid.x0, grid.x1, grid.nx)),
    ):
        bounds = _dataset(file, f"{name}_bnds", (len(limits) - 1, 2))[()]
        if not (np.array_equal(bounds[:, 0], limits[:-1]) and np.array_equal(bounds[:, 1], limits[1:])):
            msg = f"its {name} axis is not that of label.json: they are not of one release"
            raise ValueError(msg)


def _error_model(file: Stored, shape: Shape, hours: float) -> ErrorModel:
    group = _inside(file, GROUP)
    kind = group.attrs["error_model"]
    if kind not in KINDS:
        msg = f"error model {kind!r} is not known"
        raise ValueError(msg)
    return KINDS[kind].load(UntrustedArrays(group), shape, hours)


@dataclass(frozen=True)
class UntrustedArrays:
    """The arrays of an error model in a file that anybody may have written; see `StoredArrays`."""

    group: Stored

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return _has(self.group, name)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that an array claims to have."""
        shape: tuple[int, ...] = _inside(self.group, name).shape
        return shape

    def dataset(self, name: str, shape: tuple[int, ...], kind: str | None = None) -> Stored:
        """Return the dataset of an array that must have this shape and type."""
        return _dataset(self.group, name, shape, kind)

    def broadcastable(self, name: str, shape: Shape, kind: str) -> Stored:
        """Return an array that broadcasts to the cube; a large one stays in the file, and is sliced there."""
        stored = self.shape(name)
        if len(stored) != len(shape):
            msg = f"{name} has {len(stored)} axes"
            raise ValueError(msg)
        sizes = tuple(1 if size == 1 else full for size, full in zip(stored, shape, strict=True))
        dataset = _dataset(self.group, name, sizes, kind)
        return dataset[()] if dataset.nbytes <= HELD_BYTES else dataset


def _dataset(group: Stored, name: str, shape: tuple[int, ...], kind: str | None = None) -> Stored:
    """Return a dataset that has the expected shape and kind of number, and whose bytes are in this file."""
    dataset = _inside(group, name)
    if dataset.shape != shape:
        msg = f"{name} has shape {dataset.shape} instead of {shape}"
        raise ValueError(msg)
    if dataset.file != group.file or dataset.external or dataset.is_virtual:
        msg = f"{name} points to another file"
        raise ValueError(msg)
    strange = dataset.dtype.kind not in "if" if kind is None else dataset.dtype.newbyteorder("=") != np.dtype(kind)
    vast = np.prod(dataset.chunks or 1) * dataset.dtype.itemsize > MAX_CHUNK_BYTES
    unwritten = dataset.nbytes > TIGHTEST * dataset.id.get_storage_size()
    if strange or vast or unwritten or _has_unexpected_filters(dataset):
        msg = f"{name} is stored in a way that no release is"
        raise ValueError(msg)
    return dataset


def _inside(group: Stored, path: str) -> Stored:
    """Return what has this name, and is there itself: following a link could wait for a pipe, or open another file."""
    for name in path.split("/"):
        if not _has(group, name):
            msg = f"{path} is missing"
            raise ValueError(msg)
        if group.get(name, getclass=True, getlink=True) is not h5py.HardLink:
            msg = f"{path} points to another file or place"
            raise ValueError(msg)
        group = group[name]
    return group


def _has(group: Stored, name: str) -> bool:
    """Whether there is a link of this name; it is not followed."""
    return bool(group.id.links.exists(name.encode()))


def _has_unexpected_filters(dataset: Stored) -> bool:
    """Whether chunks went through other filters, or one twice, or one of them is larger than it could be."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    if len(set(filters)) < len(filters) or not set(filters) <= set(FILTERS):
        return True
    if dataset.chunks is None or dataset.id.get_storage_size() <= MAX_CHUNK_BYTES:
        return False
    return dataset.id.chunk_iter(lambda chunk: True if chunk.size > MAX_CHUNK_BYTES else None) is not None
