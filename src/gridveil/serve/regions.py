"""What a request may ask for: a region and a period, as parameters of an address or as a body."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import from_json

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid, index_range
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.times import step_range
from gridveil.serve.refusals import EXAMPLES

Range = tuple[int, int]

MOST_VERTICES = 10_000
MOST_RANGES = 100_000
MOST_HIGHEST = 1_000
FEW, SOME, MOST_POLYGON = 60, 100, 40_000  # letters of a parameter
LARGEST_INDEX = 2**31 - 1
COLUMNS = 6  # of a range: three pairs
RANGE = re.compile(r"([0-9]{1,10})(?::([0-9]{1,10}))?")
WRITTEN: dict[str, Any] = {"pattern": f"^{RANGE.pattern}$"}  # told in the document only: our sentence says it better

CELLS = "Cells A:B without B, counted from 0 in the south-west; one number is one cell"
TIME = "Steps A:B without B, or FROM/TO in UTC at which steps begin or end; left out: all"

Index = Annotated[int, Field(ge=0, le=LARGEST_INDEX)]
Cells = tuple[Index, Index]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Instant = Annotated[str, Field(max_length=FEW)]
Every = Annotated[
    int | None, Field(ge=1, le=LARGEST_INDEX, description="Steps summed into a point; left out: at most 2,000 points")
]
Zone = Annotated[str, Field(max_length=FEW, description="Whose clock: an IANA name", examples=["Europe/London"])]
Form = Literal["json", "float32"]
RANGES = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_RANGES,
    "items": {
        "type": "array",
        "minItems": COLUMNS,
        "maxItems": COLUMNS,
        "items": {"type": "integer", "minimum": 0, "maximum": LARGEST_INDEX},
    },
}


@dataclass(frozen=True)
class Wanted:
    """A region: x and y, or bbox, or polygon; what is left out is all."""

    x: Range | None
    y: Range | None
    bbox: tuple[float, float, float, float] | None
    polygon: dict[str, Any] | None

    def box(self, grid: Grid) -> tuple[Range, Range] | None:
        """Return the cells wanted, if they are wanted by number: such questions are quick."""
        by_number = self.x is not None or self.y is not None
        if by_number + (self.bbox is not None) + (self.polygon is not None) > 1:
            msg = "give a region by x and y, or by bbox, or by polygon: one of these"
            raise UsageError(msg, code="region-given-twice")
        if self.bbox is not None or self.polygon is not None:
            return None
        return index_range("x", self.x, grid.nx), index_range("y", self.y, grid.ny)

    def key(self, grid: Grid) -> Hashable:
        """Return what is the same for the same region."""
        return self.box(grid) or hashlib.sha256(repr((self.bbox, self.polygon)).encode()).digest()

    def area(self, grid: Grid) -> Area:
        """Return the area wanted."""
        box = self.box(grid)
        if box is not None:
            return Area.box(grid, *box)
        if self.bbox is not None:
            return Area.rectangle(grid, *self.bbox)
        polygon = self.polygon or {}
        _check_vertices(polygon)
        return Area.polygon(grid, polygon)


class AskedPeriod(BaseModel):
    """A period in an address."""

    model_config = ConfigDict(extra="forbid")
    time: str | None = Field(None, max_length=SOME, description=TIME, examples=["0:24"])

    def steps(self, window: Window) -> Range:
        """Return the steps asked for."""
        if self.time is None:
            return 0, window.steps
        start, slash, end = self.time.partition("/")
        if slash:
            return step_range((start, end), window)
        return step_range(_numbers("time", self.time, "0:24, or FROM/TO, e.g. 2013-02-04T00/2013-02-05T00"), window)


class AskedArea(BaseModel):
    """A region in an address: x and y, or bbox, or polygon; what is left out is all."""

    model_config = ConfigDict(extra="forbid")
    x: str | None = Field(
        None, max_length=FEW, description=f"{CELLS}, west to east", examples=["0:10"], json_schema_extra=WRITTEN
    )
    y: str | None = Field(
        None, max_length=FEW, description=f"{CELLS}, south to north", examples=["0:10"], json_schema_extra=WRITTEN
    )
    bbox: str | None = Field(
        None, max_length=SOME, description="west,south,east,north in the grid's own coordinates; cells in part count so"
    )
    polygon: str | None = Field(
        None, max_length=MOST_POLYGON, description="GeoJSON; longitude and latitude where the grid has them"
    )

    def wanted(self) -> Wanted:
        """Return what was asked for, read."""
        x, y = (None if text is None else _numbers(axis, text, "0:10") for axis, text in (("x", self.x), ("y", self.y)))
        return Wanted(x, y, None if self.bbox is None else _corners(self.bbox), _geojson(self.polygon))


class AskedRegion(AskedArea, AskedPeriod):
    """A region and a period in an address."""


class AskedSeries(AskedRegion):
    """A region, a period, and how fine."""

    every: Every = None


class AskedProfile(AskedArea):
    """A region, and by whose clock."""

    timezone: Zone = "UTC"


class GivenArea(BaseModel):
    """A region in a body: x and y, or bbox, or polygon; what is left out is all."""

    model_config = ConfigDict(extra="forbid")
    x: Cells | None = Field(None, description="First cell and the one after the last, west to east", examples=[[0, 10]])
    y: Cells | None = Field(
        None, description="First cell and the one after the last, south to north", examples=[[0, 10]]
    )
    bbox: tuple[Finite, Finite, Finite, Finite] | None = Field(None, description="West, south, east, north")
    polygon: dict[str, Any] | None = Field(
        None, description="GeoJSON Polygon, MultiPolygon or Feature; longitude and latitude where the grid has them"
    )

    def wanted(self) -> Wanted:
        """Return what was asked for."""
        return Wanted(self.x, self.y, self.bbox, self.polygon)


class GivenRegion(GivenArea):
    """A region and a period in a body."""

    time: Cells | tuple[Instant, Instant] | None = Field(
        None, description="Two steps, or two instants in UTC at which steps begin or end", examples=[[0, 24]]
    )

    def steps(self, window: Window) -> Range:
        """Return the steps asked for."""
        return step_range(self.time, window)


class GivenSeries(GivenRegion):
    """A region, a period, and how fine."""

    every: Every = None


class GivenProfile(GivenArea):
    """A region, and by whose clock."""

    timezone: Zone = "UTC"


class AskedSlice(AskedPeriod):
    """A period, and in which form."""

    format: Form = "json"


class AskedHighest(AskedPeriod):
    """A period, and how many cells."""

    count: int = Field(10, ge=1, le=MOST_HIGHEST, description="How many cells")


class GivenRanges(BaseModel):
    """Many ranges."""

    model_config = ConfigDict(extra="forbid")
    # Rows are checked by `table`: pydantic would collect every mistake in them, which takes time and memory.
    ranges: Annotated[list[Any], Field(min_length=1, max_length=MOST_RANGES), WithJsonSchema(RANGES)] = Field(
        description="Rows x0, x1, y0, y1, t0, t1; ends are not included",
        examples=[[[0, 10, 0, 10, 0, 24], [0, 1, 0, 1, 0, 1]]],
    )

    def table(self) -> NDArray[np.int64]:
        """Return the rows, or tell the first that is none."""
        for number, row in enumerate(self.ranges):
            if not (type(row) is list and len(row) == COLUMNS and all(map(_is_index, row))):
                msg = f"ranges: row {number} is not {COLUMNS} whole numbers from 0 up; write {EXAMPLES['ranges']}"
                raise UsageError(msg, code="ranges-syntax")
        return np.array(self.ranges).astype(np.int64)


def _is_index(number: object) -> bool:
    return type(number) in {int, float} and 0 <= number <= LARGEST_INDEX and number % 1 == 0  # type: ignore[operator] # a number


def _numbers(axis: str, text: str, example: str) -> tuple[int, int]:
    found = RANGE.fullmatch(text)
    if found is None:
        msg = f"{axis} is not understood; write {axis}={example}"
        raise UsageError(msg, code="region-syntax")
    first = int(found[1])
    return first, first + 1 if found[2] is None else int(found[2])


def _corners(text: str) -> tuple[float, float, float, float]:
    try:
        west, south, east, north = map(float, text.split(","))
    except ValueError as error:
        msg = "bbox is not understood; write bbox=west,south,east,north"
        raise UsageError(msg, code="bbox-syntax") from error
    return west, south, east, north


def _geojson(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        geometry = from_json(text)
    except ValueError as error:
        msg = "polygon is not JSON; write a GeoJSON Polygon or MultiPolygon"
        raise UsageError(msg, code="polygon-syntax") from error
    if not isinstance(geometry, dict):
        msg = "polygon is not a GeoJSON object; write a Polygon or MultiPolygon"
        raise UsageError(msg, code="polygon-syntax")
    return geometry


def _check_vertices(geometry: dict[str, Any]) -> None:
    """Refuse a polygon with more points than its share of each cell is worth."""
    todo: list[Any] = [geometry]
    points = 0
    while todo:
        item = todo.pop()
        points += isinstance(item, (list, dict))
        if points > MOST_VERTICES:
            msg = f"a polygon may have {MOST_VERTICES:,} points; simplify it"
            raise UsageError(msg, code="polygon-too-large")
        todo.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
