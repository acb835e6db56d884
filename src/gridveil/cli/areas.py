"""Areas that are named on the command line: limits in coordinates, and files of polygons."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gridveil.geography.area import Area
from gridveil.model.errors import InputError, UsageError
from gridveil.model.files import read_small
from gridveil.release.query.open import Release

NAMES = ("name", "id")
"""Properties of a feature that are its name, whatever their case."""
LARGEST = 2**26
"""Bytes of a file; one with as many corners as are taken has a tenth."""


def from_limits(release: Release, text: str) -> Area:
    """Return the area between WEST,SOUTH,EAST,NORTH."""
    grid = release.grid
    extent = f"{grid.x0:g},{grid.y0:g},{grid.x1:g},{grid.y1:g}"
    try:
        west, south, east, north = (float(limit) for limit in text.split(","))
    except ValueError as error:
        msg = f"--bbox {text}: write WEST,SOUTH,EAST,NORTH, e.g. {extent} for all"
        raise UsageError(msg, code="bbox-syntax") from error
    if west >= grid.x1 or east <= grid.x0 or south >= grid.y1 or north <= grid.y0:
        msg = (
            f"--bbox {text} covers nothing of the map: give limits in the map's own coordinates, which are "
            f"{_system(grid.crs)} and go from {grid.x0:g},{grid.y0:g} to {grid.x1:g},{grid.y1:g}"
        )
        raise UsageError(msg, code="area-outside-map")
    return Area.rectangle(grid, west, south, east, north)


def _system(crs: str) -> str:
    """Return what the map's coordinates are, and what to do with others."""
    if crs == "local":
        return "its own (local)"
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        system = CRS.from_user_input(crs)
    except CRSError:
        return crs
    unit = f"{crs} (in units of a {system.axis_info[0].unit_name})"
    return unit if system.is_geographic else f"{unit}, not longitude and latitude (for these, --area FILE)"


def read(file: Path) -> Any:  # noqa: ANN401 - whatever JSON there is; Area looks at it
    """Return the content of a GeoJSON file."""
    try:
        return json.loads(read_small(file, LARGEST))
    except FileNotFoundError as error:
        msg = f"{file}: there is no such file"
        raise InputError(msg, code="file-missing") from error
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{file}: not a GeoJSON file that can be read ({error})"
        raise InputError(msg, code="geojson-unreadable") from error


def features(content: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - anybody's JSON
    """Return names and geometries of what a file holds; what has no name is numbered from 1.

    >>> features({"type": "FeatureCollection", "features": [{"properties": {"Name": "F1"}}, {"id": 7}, {}]})
    [('F1', {'properties': {'Name': 'F1'}}), ('7', {'id': 7}), ('3', {})]
    """
    inside = content.get("features") if isinstance(content, Mapping) else None
    several = inside if isinstance(inside, list) else [content]
    return [(_name(feature) or str(number), feature) for number, feature in enumerate(several, 1)]


def _name(feature: Any) -> str | None:  # noqa: ANN401 - anybody's JSON
    if not isinstance(feature, Mapping):
        return None
    properties = feature.get("properties")
    known = {str(key).lower(): value for key, value in properties.items()} if isinstance(properties, Mapping) else {}
    for found in (*(known.get(name) for name in NAMES), feature.get("id")):
        if isinstance(found, str | int | float) and str(found).strip():
            return "".join(letter if letter.isprintable() else "?" for letter in str(found))
    return None
