"""Coordinate systems: whether one is known, and how long its units are."""

from __future__ import annotations

import math

from gridveil.model.errors import UsageError

METRES_PER_DEGREE = 111_320.0
POLE = 90.0


def metres_per_unit(crs: str, south: float, north: float) -> tuple[float, float]:
    """Return the metres that one unit of the coordinate system is long, west-east and south-north, in mid-extent."""
    if crs == "local":
        return 1.0, 1.0
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        system = CRS.from_user_input(crs)
    except CRSError as error:
        msg = f"coordinate system {crs!r} is not known; give a name such as EPSG:4326 or EPSG:27700, or none at all"
        raise UsageError(msg, code="crs-unknown") from error
    if not (system.is_geographic or system.is_projected):
        msg = f"coordinate system {crs!r} is not one of maps: give a geographic or projected one"
        raise UsageError(msg, code="crs-not-a-map")
    if system.is_projected:
        factors = [axis.unit_conversion_factor for axis in system.axis_info[:2]]
        return factors[0], factors[1]
    if not -POLE <= south < north <= POLE:
        msg = f"extent from {south} to {north} in {crs}: give degrees as LON0,LAT0,LON1,LAT1, between the poles"
        raise UsageError(msg, code="extent-beyond-poles")
    return METRES_PER_DEGREE * math.cos(math.radians((south + north) / 2)), METRES_PER_DEGREE
