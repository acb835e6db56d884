"""Write a release, whole or not at all: `consumption.nc` with values, prefix sums and error model, label, README."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import h5netcdf
import h5py
import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import HELD_BYTES, Floats, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.model.files import new_folder
from gridveil.model.running import Progress, silent
from gridveil.model.window import Window
from gridveil.release.format import hdf5_file as cf
from gridveil.release.format import wording
from gridveil.release.format.documents import readme
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.files import ENTRY, FORMAT, GROUP, LABEL, README, VALUES, Stored, dump_label, write_sums
from gridveil.release.format.hdf5_file import COMPRESSED, Hdf5File, packed, write_packed
from gridveil.release.format.label import Label
from gridveil.uncertainty.model import AXES, KWH, ErrorModel, Estimate, Shape, StoredArray

# Writing `consumption.nc`: values, standard errors, prefix sums and the error model.

EDGES = ("time_edge", "y_edge", "x_edge")
CHUNK = (8, 64, 64)  # a map of 256 x 256 cells reads sixteen of these for a step, 128 KB each
PREFIX_CHUNK = (8, 32, 32)  # a query reads eight of these, 64 KB each
MODEL_CHUNKS = {1: (2**14,), 2: (64, 256), 3: (24, 64, 64)}
SLAB_CELLS = 2**22  # in memory at a time: about 32 MB, and a few times that while they are added up
MAX_THREADS = 4
STAGE = "write the release"


def write_netcdf(
    path: Path, *, grid: Grid, window: Window, estimate: Estimate, label: Label, progress: Progress = silent
) -> bool:
    """Write an estimate as CF NetCDF-4, and return whether any value is negative.

    The same arguments give the same bytes.
    """
    if estimate.cube.shape != (grid.nx, grid.ny, window.steps):
        cube = (grid.nx, grid.ny, window.steps)
        msg = f"an estimate of shape {estimate.cube.shape} does not fit a cube of {cube} (x, y, t)"
        raise UsageError(msg, code="estimate-shape")
    shape = (window.steps, grid.ny, grid.nx)
    model = estimate.errors.to_release(shape, window.step / timedelta(hours=1))

    def values(steps: slice) -> Floats:
        on_disk.check()
        progress(STAGE, steps.start / window.steps)
        return estimate.to_release(steps)

    with Hdf5File(path) as on_disk:
        with h5netcdf.File(on_disk, "w") as file:
            file.attrs.update(
                {
                    "Conventions": cf.CONVENTIONS,
                    "title": label.heading,
                    "institution": label.publisher,
                    "gridveil_format": np.int32(FORMAT),
                    "epsilon": np.float64(label.privacy.epsilon),
                    "comment": wording.QUADRATURE,
                }
            )
            file.dimensions = {**dict(zip(AXES, shape, strict=True)), "bounds": 2}
            cf.write_axes(file, grid, window)
            if grid.crs != "local":
                cf.write_crs(file, grid)
            group = file.create_group(GROUP)
            _create_prefix(group, shape)
            _create_cube(file, shape, grid, truth=model.about_the_truth)
            group.attrs["error_model"] = model.kind
            for stored in model.store():
                _store(group, stored)
        on_disk.check()
        with h5py.File(on_disk, "r+") as file:  # h5netcdf has no way to write a chunk that is packed already
            negative = _write_cube(file, values, model)
        on_disk.check()
    progress(STAGE, 1.0)
    return negative


def _create_prefix(group: Stored, shape: Shape) -> None:
    """Create the prefix sums: what is too large to be held in memory is stored plainly, so that any part can be read.

    A period is then the difference of two planes, each in one place, whatever the area. Compressed, it would be smaller
    by a quarter, and take ten times longer to read.
    """
    sizes = tuple(size + 1 for size in shape)
    group.dimensions = dict(zip(EDGES, sizes, strict=True))
    if np.prod(sizes) * np.dtype(np.float64).itemsize > HELD_BYTES:
        group.create_variable("prefix_sums", EDGES, np.float64)
    else:
        group.create_variable("prefix_sums", EDGES, np.float64, chunks=_chunks(PREFIX_CHUNK, sizes), **COMPRESSED)


def _create_cube(file: Stored, shape: Shape, grid: Grid, *, truth: bool) -> None:
    """Create the variables that maps and tables are made of."""
    values, errors = (
        file.create_variable(name, AXES, np.float32, chunks=_chunks(CHUNK, shape), **COMPRESSED)
        for name in ("consumption", "consumption_se")
    )
    values.attrs.update(
        {
            "long_name": "electricity consumption of households",
            "cell_methods": "time: sum area: sum",
            "ancillary_variables": "consumption_se",
            "comment": wording.NEGATIVE,
        }
    )
    errors.attrs["long_name"] = (
        "standard error of consumption" if truth else "standard error of consumption due to the noise"
    )
    for variable in (values, errors):
        variable.attrs["units"] = KWH
        if grid.crs != "local":
            variable.attrs["grid_mapping"] = "crs"


def _write_cube(file: Stored, cube: Callable[[slice], Floats], model: ErrorModel) -> bool:
    """Write values, standard errors and prefix sums, some steps at a time. What is summed is what is published.

    Returns whether any value is negative.
    """
    values, errors, prefix = file["consumption"], file["consumption_se"], file[f"{GROUP}/prefix_sums"]
    steps, ny, nx = values.shape
    before = np.zeros((1, ny + 1, nx + 1))
    prefix[:1] = before
    rows, negative = CHUNK[0] * max(1, SLAB_CELLS // (CHUNK[0] * nx * ny)), False
    with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as threads:
        for first in range(0, steps, rows):
            some = slice(first, min(first + rows, steps))
            published = cube(some).astype(np.float32)
            if not np.isfinite(published).all():
                msg = "an estimate has values that are not finite; this is a fault of its mechanism"
                raise UsageError(msg, code="estimate-not-finite")
            negative = negative or bool((published < 0).any())
            of_values = packed(values, first, published, threads)
            of_errors = packed(errors, first, model.cell_errors(some, (steps, ny, nx)), threads)
            sums = prefix_sums(published.astype(float), axes=(0, 1, 2))[1:]
            sums += before
            prefix[some.start + 1 : some.stop + 1] = sums
            before = sums[-1:].copy()
            write_packed(values, of_values)
            write_packed(errors, of_errors)
    return negative


def _store(group: Stored, stored: StoredArray) -> None:
    """Write an array of the error model."""
    for axis, size in zip(stored.axes, stored.array.shape, strict=True):
        if axis not in group.dimensions and axis not in AXES:
            group.dimensions[axis] = size
    packed = {"chunks": _chunks(MODEL_CHUNKS[stored.array.ndim], stored.array.shape), **COMPRESSED}
    variable = group.create_variable(stored.name, stored.axes, data=stored.array, **({} if stored.plain else packed))
    variable.attrs["units"] = stored.units
    if stored.long_name is not None:
        variable.attrs["long_name"] = stored.long_name


def _chunks(largest: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(min, largest, shape))


# Write a release, whole or not at all, where the disk has space for it.

# How much disk space a release may take: from public numbers, before a row is read or budget is spent.

VALUE_BYTES = 18
"""A value and its standard error, 4 bytes each if noise leaves nothing to compress; a prefix sum, 8; and an eighth more
for labels of parts, which compress well."""
MAX_DRAWS, MAX_REGIONS, DRAW_BYTES = 200, 64, 4
"""Of an error model that has draws of every cell, and of every step in each region."""


def max_bytes(grid: Grid, window: Window) -> int:
    """Return what a release of this grid and window takes at most, but for texts and the matrix of a linear filter.

    >>> from datetime import UTC, datetime, timedelta
    >>> year = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 8760)
    >>> max_bytes(Grid(0, 0, 1, 1, nx=256, ny=256), year) // 10**9
    10
    """
    edges = (grid.nx + 1) * (grid.ny + 1) * (window.steps + 1)
    return VALUE_BYTES * edges + DRAW_BYTES * MAX_DRAWS * (grid.cells + MAX_REGIONS * window.steps)


def check_disk_space(out: Path, grid: Grid, window: Window) -> None:
    """Refuse a place whose disk has too little free space for a release of this grid and window."""
    above = next(folder for folder in out.absolute().parents if folder.exists())
    free, needed = shutil.disk_usage(above).free, max_bytes(grid, window)
    if free < needed:
        msg = (
            f"{out}: a release of {grid.nx} x {grid.ny} cells and {window.steps} steps may take {_to_text(needed)}, "
            f"and the disk has {_to_text(free)} free; free some space, or give another --out"
        )
        raise UsageError(msg, code="disk-too-full")


def _to_text(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 10**9 else f"{count / 1e6:.1f} MB"


# Writing a release: a folder that is there whole, or not at all.


def write_release(
    path: Path,
    *,
    grid: Grid,
    window: Window,
    estimate: Estimate,
    label: Label,
    entry: str | None = None,
    progress: Progress = silent,
) -> dict[str, str]:
    """Write a release to a new folder at `path`, and return the SHA-256 of its files.

    It is written aside and renamed when every byte is on disk. On a failure nothing is left. The same arguments
    give the same bytes and times, and nothing is written that is not in them. `entry` is the text of the ledger's
    entry whose hash the label has.
    """
    if label.grid != GridFacts.of(grid) or label.window != WindowFacts.of(window):
        msg = "the label describes another grid or window than those of the release"
        raise UsageError(msg, code="label-other-cube")
    stated = None if label.ledger_entry is None else label.ledger_entry.hash
    if stated != (None if entry is None else sha256(entry.encode()).hexdigest()):
        msg = "the label names another entry of a ledger than that of the release"
        raise UsageError(msg, code="label-other-entry")
    with new_folder(path, label.published) as aside:
        negative = write_netcdf(
            aside / VALUES, grid=grid, window=window, estimate=estimate, label=label, progress=progress
        )
        (aside / LABEL).write_text(dump_label(label), encoding="utf-8")
        truth = estimate.errors.about_the_truth
        (aside / README).write_text(readme(label, about_the_truth=truth, negative=negative), encoding="utf-8")
        if entry is not None:
            (aside / ENTRY).write_bytes(entry.encode())
        digests = write_sums(aside, progress)
        aside.chmod(0o755)
    return digests
