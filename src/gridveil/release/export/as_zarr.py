"""Zarr 3: a folder of arrays (time, y, x) with the same names and CF attributes as the release's NetCDF."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gridveil.geography.grid import Grid
from gridveil.model.files import new_folder
from gridveil.model.running import Progress
from gridveil.release.export import Exporter
from gridveil.release.export.table import about, slabs
from gridveil.release.format import hdf5_file as cf
from gridveil.release.format import wording
from gridveil.release.query.open import Release
from gridveil.uncertainty.model import AXES, KWH

SLAB = 2**23  # cells times steps: four arrays of 32 MB
MAX_STEPS = 128
CHUNK = 2**19  # numbers, 2 MB: a year of 256 x 256 cells is about 4,400 files
VARIABLES = {
    "consumption": ("value", "electricity consumption of households"),
    "consumption_se": ("standard_error", "standard error of consumption"),
    "consumption_low": ("low", "lower end of the 95 % interval of consumption"),
    "consumption_high": ("high", "upper end of the 95 % interval of consumption"),
}
"""What the arrays are called, what they are in a `Slab`, and in words."""


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write arrays chunk by chunk; the label is an attribute of the group."""
    import zarr

    grid = release.grid
    shape = (release.window.steps, grid.ny, grid.nx)
    chunks = chunks_of(shape)
    with new_folder(path, release.label.published) as aside:
        group = zarr.create_group(aside, zarr_format=3, overwrite=True, attributes=_attributes(release))
        file = _LikeNetcdf(group)
        cf.write_axes(file, grid, release.window)
        if grid.crs != "local":
            cf.write_crs(file, grid)
        arrays = {part: _cube(group, name, words, shape, grid) for name, (part, words) in VARIABLES.items()}
        for slab in slabs(release, progress, chunks[0] * grid.cells):
            for part, array in arrays.items():
                array[slab.steps] = getattr(slab, part)
        aside.chmod(0o755)
    return [path]


EXPORTER = Exporter(".zarr", "application/zip", "Zarr store", write, folder=True)


def chunks_of(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return chunks that are good for maps and for curves: a few days of a part of the map.

    >>> chunks_of((8760, 256, 256))
    (128, 64, 64)
    >>> chunks_of((120, 32, 32))
    (120, 32, 32)
    """
    steps, ny, nx = shape
    some = min(steps, MAX_STEPS, max(1, SLAB // (ny * nx)))
    side = 2 ** round(math.log2(CHUNK / some) / 2)
    return some, min(side, ny), min(side, nx)


class _LikeNetcdf:
    """A Zarr group that coordinates are written to as to a NetCDF file; see `cf`."""

    def __init__(self, group: Any) -> None:  # noqa: ANN401 - zarr is imported when it is used
        self._group = group

    def create_variable(
        self, name: str, axes: tuple[str, ...], dtype: DTypeLike | None = None, *, data: ArrayLike
    ) -> Any:  # noqa: ANN401 - as above
        values = np.asarray(data, dtype)
        array = self._group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=values.shape or "auto", dimension_names=axes
        )
        array[...] = values
        return array


def _cube(group: Any, name: str, words: str, shape: tuple[int, int, int], grid: Grid) -> Any:  # noqa: ANN401 - as above
    """Create one of the large arrays, with its attributes."""
    from zarr.codecs import BloscCodec

    attributes = {"long_name": words, "units": KWH}
    if grid.crs != "local":
        attributes["grid_mapping"] = "crs"
    if name == "consumption":
        attributes["cell_methods"] = "time: sum area: sum"
        attributes["ancillary_variables"] = " ".join(other for other in VARIABLES if other != name)
        attributes["comment"] = wording.NEGATIVE
    return group.create_array(
        name,
        shape=shape,
        dtype=np.float32,
        chunks=chunks_of(shape),
        dimension_names=AXES,
        compressors=BloscCodec(cname="zstd", clevel=5, shuffle="shuffle"),
        fill_value=math.nan,
        attributes=attributes,
    )


def _attributes(release: Release) -> dict[str, Any]:
    """Return the attributes of the whole: those of the NetCDF, and the label."""
    label = release.label
    whole = {"Conventions": cf.CONVENTIONS, "institution": label.publisher, "epsilon": label.privacy.epsilon}
    return {**whole, **about(release)}
