"""Areas: outlines of GeoJSON, and what share of each cell of the map they cover."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid, edges, index_range
from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError

# Outlines of places: polygons of GeoJSON, and the share of each cell that they cover.

# What share of each cell an outline covers, exactly, by the rule that font rasterisers use.
#
# An outline is a set of directed segments, its inside on their left. The area of a cell that lies inside is a sum
# over segments: each covers, with the sign of its direction, everything east of it. So a segment is cut where it
# crosses the grid's lines, each piece gives a trapezium to its own cell and a whole strip to all cells east of it,
# and the strips are added up by one cumulative sum along each row. No cell is intersected with anything, however many
# corners there are.

Segments = tuple[Floats, Floats]  # where they start and where they end, (n, 2)
MAX_PIECES = 2**20
ROUNDING = 1e-9  # of a cell: rounding


def compute_coverage(outline: Segments, nx: int, ny: int) -> Floats:
    """Return the share (y, x) of each cell of an `nx` x `ny` grid inside an outline, in units of cells.

    >>> corners = np.array([[0.5, 0.0], [3.0, 0.0], [3.0, 1.0], [0.5, 1.0]])
    >>> compute_coverage((corners, np.roll(corners, -1, axis=0)), 3, 2).tolist()
    [[0.5, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    start, end = cut_segments(outline, nx, ny)
    strip = start[:, 1] - end[:, 1]  # southward is positive: what lies east of it is inside
    middle = (start + end) / 2
    column, row = (
        np.minimum(np.floor(middle[:, axis]), last).astype(np.int64) for axis, last in ((0, nx), (1, ny - 1))
    )
    east = strip * (middle[:, 0] - column)
    place = row * (nx + 2) + column
    room = ny * (nx + 2)
    strips = np.bincount(place, strip - east, room) + np.bincount(place + 1, east, room)[:room]
    shares = strips.reshape(ny, nx + 2).cumsum(axis=1)[:, :nx]
    shares[shares < ROUNDING] = 0.0
    shares[shares > 1 - ROUNDING] = 1.0
    return np.asarray(shares)


def cut_segments(segments: Segments, nx: int, ny: int) -> Segments:
    """Cut segments at all lines x = 0 to nx and y = 0 to ny, and move what lies outside to the nearest point inside.

    Moving changes nothing inside: no line between a point outside and the nearest one inside goes through the inside.
    """
    start, end = segments
    counts, firsts = zip(
        *(_count_crossings(start[:, axis], end[:, axis], size) for axis, size in enumerate((nx, ny))), strict=True
    )
    if len(start) + sum(int(count.sum()) for count in counts) > MAX_PIECES:
        msg = "the area's outline is too intricate: simplify it"
        raise UsageError(msg, code="outline-too-intricate")
    owners, shares = [np.arange(len(start))], [np.zeros(len(start))]
    for axis, (count, first) in enumerate(zip(counts, firsts, strict=True)):
        owner = np.repeat(np.arange(len(start)), count)
        line = np.arange(len(owner)) - np.repeat(count.cumsum() - count, count) + first[owner]
        owners.append(owner)
        shares.append((line - start[owner, axis]) / (end[owner, axis] - start[owner, axis]))
    owner, share = np.concatenate(owners), np.concatenate(shares)
    order = np.lexsort((share, owner))
    owner, share = owner[order], share[order]
    points = start[owner] + share[:, None] * (end[owner] - start[owner])
    last = np.append(owner[1:] != owner[:-1], [True] * bool(len(owner)))
    following = np.where(last[:, None], end[owner], np.roll(points, -1, axis=0))
    corner = np.array([nx, ny], dtype=float)
    return np.clip(points, 0.0, corner), np.clip(following, 0.0, corner)


def _count_crossings(start: Floats, end: Floats, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many of the lines 0 to `size` lie strictly between two numbers, and the first of them."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    first = np.clip(np.floor(low) + 1, 0, size + 1)
    last = np.clip(np.ceil(high) - 1, -1, size)
    return np.maximum(last - first + 1, 0).astype(np.int64), first.astype(np.int64)


# From GeoJSON to an outline on the grid: directed segments in units of cells, the inside on their left.

MAX_CORNERS = 100_000
MAX_MEETINGS = 40_000  # of edges that may cross; cutting them up takes half a second then
USUAL_MEETINGS = 8  # of an edge and others that lie beside it
MAX_DISTANCE = 1e6  # sizes of the map away
CUTS = 64  # an edge is cut into pieces of this part of the map before it is bent into another coordinate system
MARGIN = 1 / 8
CIRCLE, POLE = 360, 90
CONVERT = (
    "`ogr2ogr -t_srs EPSG:4326 out.geojson in.geojson` converts a file (with -s_srs EPSG:... if the file does not say "
    "what it is in)"
)
EXAMPLE = '{"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]]}'


def parse_outline(grid: Grid, geometry: Mapping[str, Any]) -> Segments:
    """Return the outline of a GeoJSON geometry, in units of cells from the grid's south-west corner."""
    rings = [[_parse_ring(ring) for ring in _require_list(polygon)] for polygon in _list_polygons(geometry)]
    if not any(rings):
        _refuse("it has no polygon")
    if sum(len(ring) for polygon in rings for ring in polygon) > MAX_CORNERS:
        msg = f"the area has more than {MAX_CORNERS:,} corners: simplify it"
        raise UsageError(msg, code="polygon-too-large")
    _check_places(grid, np.concatenate([ring for polygon in rings for ring in polygon]))
    start, end = _orient_edges(rings)
    if grid.crs != "local":
        start, end = _project_segments(grid, (start, end))
    origin, size = np.array([grid.x0, grid.y0]), np.array([grid.cell_width, grid.cell_height])
    return (start - origin) / size, (end - origin) / size


def _list_polygons(geometry: Any) -> list[Any]:  # noqa: ANN401 - anybody's JSON
    """Return the coordinates of all polygons."""
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind == "FeatureCollection":
        features = _require_list(geometry.get("features"))
        return [polygon for feature in features for polygon in _list_polygons(_geometry_of(feature))]
    if kind == "Feature":
        return _list_polygons(_geometry_of(geometry))
    if kind == "Polygon":
        return [geometry.get("coordinates")]
    if kind == "MultiPolygon":
        return _require_list(geometry.get("coordinates"))
    return _refuse(f"its type is {kind if isinstance(kind, str) else 'missing'}")


def _geometry_of(feature: Any) -> Any:  # noqa: ANN401 - anybody's JSON
    inner = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(inner, Mapping) or inner.get("type") not in [
        "Polygon",
        "MultiPolygon",
    ]:  # anything may be there: no set
        _refuse("a feature of it is no polygon")
    return inner


def _parse_ring(positions: Any) -> Floats:  # noqa: ANN401 - anybody's JSON
    """Return the corners of a ring, the first one again at the end."""
    table = [_require_list(position)[:2] for position in _require_list(positions)]
    if any(len(pair) != len("xy") or not all(isinstance(number, int | float) for number in pair) for pair in table):
        _refuse("a position of it is not two numbers")
    try:
        ring = np.array(table, dtype=float).reshape(-1, 2)
    except OverflowError:
        _refuse("a number of it is too large")
    if len(ring) == 0 or not np.isfinite(ring).all():
        _refuse("a ring of it is empty, or has numbers that are not finite")
    if (ring[0] != ring[-1]).any():
        ring = np.concatenate([ring, ring[:1]])
    if len(ring) < len("abca"):
        _refuse("a ring of it has fewer than three corners")
    return ring


def _require_list(value: Any) -> list[Any]:  # noqa: ANN401 - anybody's JSON
    if not isinstance(value, list | tuple):
        _refuse("its coordinates are not lists of rings of positions")
    return list(value)


def _refuse(why: str) -> NoReturn:
    msg = f"the area is not a GeoJSON polygon ({why}); give for instance {EXAMPLE}"
    raise UsageError(msg, code="polygon-syntax")


def _check_places(grid: Grid, corners: Floats) -> None:
    """Refuse coordinates of another system, and those that would overflow."""
    if grid.crs != "local":
        if (np.abs(corners) > [1.5 * CIRCLE, POLE]).any():
            corner = _format_farthest(corners)
            msg = f"the area has the corner {corner}: give longitude and latitude, in degrees. {CONVERT}"
            raise UsageError(msg, code="polygon-not-lonlat")
        return
    middle = np.array([grid.x0 + grid.x1, grid.y0 + grid.y1]) / 2
    if (np.abs(corners / MAX_DISTANCE - middle / MAX_DISTANCE) > [grid.x1 - grid.x0, grid.y1 - grid.y0]).any():
        msg = f"the area has the corner {_format_farthest(corners)}, far away from the map"
        raise UsageError(msg, code="polygon-far-away")


def _format_farthest(corners: Floats) -> str:
    x, y = corners[np.abs(corners).max(axis=1).argmax()]
    return f"{x:g}, {y:g}"


def _orient_edges(rings: list[list[Floats]]) -> Segments:
    """Return the edges of polygons so that what is inside lies on their left, and once."""
    import shapely

    try:
        shapes = [shapely.Polygon(polygon[0], polygon[1:]) for polygon in rings if polygon]
        shapes = [shape if shape.is_valid else _mend(shape) for shape in shapes]
        if len(shapes) > 1:
            shapes = [_join(shapes)]
        parts = shapely.get_parts(shapely.get_parts(shapes))
        oriented = shapely.orient_polygons(parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON])
        lines = [shapely.get_coordinates(ring) for ring in shapely.get_rings(oriented)]
    except (shapely.errors.ShapelyError, ValueError) as error:
        msg = f"the area's outline makes no sense ({error}); draw it anew"
        raise UsageError(msg, code="polygon-invalid") from error
    if not lines:
        msg = "the area is a line or a point: it covers nothing"
        raise UsageError(msg, code="polygon-empty")
    return np.concatenate([line[:-1] for line in lines]), np.concatenate([line[1:] for line in lines])


def _mend(shape: Any) -> Any:  # noqa: ANN401 - a shapely geometry
    """Return all that a self-crossing drawing encircles, without what its holes do, wherever these lie."""
    import shapely

    _check_meetings([shape])
    outer, *holes = (
        # A hundred times faster than the other method; by itself, because it would add holes that lie outside.
        shapely.make_valid(shapely.Polygon(ring), method="structure", keep_collapsed=False)
        for ring in shapely.get_rings(shape)
    )
    return shapely.difference(outer, shapely.union_all(holes)) if holes else outer


def _join(shapes: list[Any]) -> Any:  # noqa: ANN401 - a shapely geometry
    import shapely

    _check_meetings(shapes)
    return shapely.union_all(shapes)


def _check_meetings(shapes: list[Any]) -> None:
    """Refuse edges that may cross so often that cutting them up would take minutes: n edges can cross n^2 times."""
    import shapely

    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(shapes))]
    both = np.concatenate([np.stack([ring[:-1], ring[1:]], axis=1) for ring in rings])
    edges = shapely.linestrings(both)
    tree = shapely.STRtree(edges)
    met = 0
    for some in np.array_split(edges, len(edges) // 64 + 1):
        met += tree.query(some).shape[1]
        if met > MAX_MEETINGS + USUAL_MEETINGS * len(edges):
            msg = "the area's outline crosses itself too often: simplify it"
            raise UsageError(msg, code="polygon-crosses-itself")


def _project_segments(grid: Grid, segments: Segments) -> Segments:
    """Return segments in longitude and latitude as segments of the grid's system.

    They are cut to the surroundings of the grid first, where its system is meant to be used, and into pieces that are
    short enough to be straight in either.
    """
    forward, low, high = _load_system(grid)
    _check_turn(segments, low[0], high[0])
    margin = (high - low) * MARGIN
    poles = np.array([2 * CIRCLE, POLE])
    low, high = np.maximum(low - margin, -poles), np.minimum(high + margin, poles)
    unit = (high - low) / CUTS
    start, end = cut_segments(((segments[0] - low) / unit, (segments[1] - low) / unit), CUTS, CUTS)
    ends = np.concatenate([start, end]) * unit + low
    placed = np.stack(forward.transform(*ends.T), axis=1)
    if not np.isfinite(placed).all():
        msg = f"the area reaches where {grid.crs} has no coordinates"
        raise UsageError(msg, code="polygon-beyond-crs")
    return placed[: len(start)], placed[len(start) :]


def _check_turn(segments: Segments, west: float, east: float) -> None:
    """Refuse longitudes that lie on the map after a turn around the globe: the map reaches beyond 180 degrees."""
    places = segments[0][:, 0]
    for turn in (-CIRCLE, CIRCLE):
        turned = places + turn
        lost = places[(west < turned) & (turned < east) & ((places < west) | (places > east))]
        if lost.size:
            msg = (
                f"the area has the longitude {lost[0]:g}, and the map counts from {west:g} to {east:g}: "
                f"write {lost[0] + turn:g} instead"
            )
            raise UsageError(msg, code="polygon-wrong-longitude")


@lru_cache(maxsize=32)
def _load_system(grid: Grid) -> tuple[Any, Floats, Floats]:
    """Return the way from longitude and latitude to the grid, and its limits."""
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    try:
        forward = Transformer.from_crs("OGC:CRS84", grid.crs, always_xy=True)
        west, south, east, north = forward.transform_bounds(
            grid.x0, grid.y0, grid.x1, grid.y1, direction="INVERSE", densify_pts=21
        )
    except ProjError as error:
        msg = f"coordinate system {grid.crs}: not one that PROJ knows, so no polygon can be placed on the map"
        raise UsageError(msg, code="crs-unknown") from error
    low, high = np.array([west, south]), np.array([east, north])
    if west > east:
        msg = "the map lies across 180 degrees of longitude, where no polygon can be placed on it: give ranges x and y"
        raise UsageError(msg, code="map-across-antimeridian")
    if not (np.isfinite([low, high]).all() and (low < high).all()):
        msg = f"the map's limits have no longitude and latitude in {grid.crs}, so no polygon can be placed on it"
        raise UsageError(msg, code="map-without-lonlat")
    return forward, low, high


# Areas: which cells of the map, and what share of each.

Range = tuple[int, int]
CORNERS = ("west", "south", "east", "north")


@dataclass(frozen=True)
class Area:
    """What share of each cell is meant: weights (y, x) from 0 to 1, index 0 in the south-west."""

    weights: Floats

    @classmethod
    def box(cls, grid: Grid, x: Range | None = None, y: Range | None = None) -> Area:
        """Return the cells of two half-open ranges; what is left out is all.

        >>> Area.box(Grid(0, 0, 4, 2, nx=4, ny=2), x=(1, 3)).weights.tolist()
        [[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
        """
        weights = np.zeros((grid.ny, grid.nx))
        weights[slice(*index_range("y", y, grid.ny)), slice(*index_range("x", x, grid.nx))] = 1.0
        return cls(weights)

    @classmethod
    def rectangle(cls, grid: Grid, west: float, south: float, east: float, north: float) -> Area:
        """Return what lies between coordinates of the grid's own system; cells at the border count in part.

        >>> Area.rectangle(Grid(0, 0, 4, 2, nx=4, ny=2), 0.5, -3, 2, 1).weights.tolist()
        [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        """
        limits = dict(zip(CORNERS, (west, south, east, north), strict=True))
        for name, limit in limits.items():
            if not isinstance(limit, int | float) or not math.isfinite(limit):
                msg = f"{name} {limit!r}: give a coordinate, a finite number"
                raise UsageError(msg, code="limit-not-finite")
        if not (west < east and south < north):
            msg = (
                f"limits {west:g},{south:g},{east:g},{north:g}: give west,south,east,north; west < east, south < north"
            )
            raise UsageError(msg, code="limits-order")
        columns = _compute_shares(edges(grid.x0, grid.x1, grid.nx), west, east)
        rows = _compute_shares(edges(grid.y0, grid.y1, grid.ny), south, north)
        return cls._inside(grid, np.outer(rows, columns))

    @classmethod
    def polygon(cls, grid: Grid, geometry: Mapping[str, Any]) -> Area:
        """Return what a GeoJSON polygon covers: Polygon, MultiPolygon, a Feature or a FeatureCollection of such.

        Coordinates are longitude and latitude where the grid has a coordinate system, else the grid's own. Several
        polygons are taken together; what several cover counts once.

        >>> triangle = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]]}
        >>> Area.polygon(Grid(0, 0, 4, 2, nx=4, ny=2), triangle).weights.tolist()
        [[1.0, 0.5, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]]
        """
        return cls._inside(grid, compute_coverage(parse_outline(grid, geometry), grid.nx, grid.ny))

    @classmethod
    def _inside(cls, grid: Grid, weights: Floats) -> Area:
        if not weights.any():
            limits = f"{grid.x0:g},{grid.y0:g} to {grid.x1:g},{grid.y1:g}"
            msg = f"the area covers nothing of the map, which goes from {limits} ({grid.crs})"
            raise UsageError(msg, code="area-outside-map")
        return cls(weights)

    @property
    def cells(self) -> float:
        """How many cells it covers, parts of cells added up."""
        return float(self.weights.sum())


def _compute_shares(limits: Floats, first: float, last: float) -> Floats:
    """Return the share of each interval between `limits` that lies between two numbers."""
    shared = np.minimum(limits[1:], last) - np.maximum(limits[:-1], first)
    return np.asarray(np.clip(shared / np.diff(limits), 0.0, 1.0))
