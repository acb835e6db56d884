"""Axes and coordinate reference system as the CF conventions want them, and as GDAL reads them."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import numpy as np

from gridveil.geography.grid import Grid, edges
from gridveil.model.errors import UsageError
from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window
from gridveil.release.format.files import Stored

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
