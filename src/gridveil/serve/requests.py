"""Requests of the API: one model each, read from the parameters of an address or from a JSON body."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from zoneinfo import available_timezones

import numpy as np
from fastapi.exceptions import RequestValidationError
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import from_json

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid, index_range
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.open import step_range

JSON = "application/json"
Range = tuple[int, int]

MAX_VERTICES = 10_000
MAX_RANGES = 100_000
MAX_HIGHEST = 1_000
MAX_INDEX = 2**31 - 1
MAX_NAME = 60  # characters of an instant or a time zone
COLUMNS = 6  # of a range: three pairs
RANGE = re.compile(r"([0-9]{1,10})(?::([0-9]{1,10}))?")
NO_PLACES = {"Factory", "localtime", "posixrules"}  # time zones: the server's own clock, or nobody's

# How each field is written in a body, for the sentences about mistakes.
EXAMPLES = {
    "x": '"x": [0, 10]',
    "y": '"y": [0, 10]',
    "bbox": '"bbox": [west, south, east, north]',
    "polygon": '"polygon": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]]}',
    "time": '"time": [0, 24] or "time": ["2013-02-04T00:00", "2013-02-05T00:00"]',
    "ranges": '"ranges": [[x0, x1, y0, y1, t0, t1]]',
}


def _check_timezone(name: str) -> str:
    """Refuse unknown time zones: only a known name reaches the files that describe them."""
    if name not in _timezones():
        msg = "timezone: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg, code="timezone-unknown")
    return name


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones() - NO_PLACES)


Index = Annotated[int, Field(ge=0, le=MAX_INDEX)]
IndexRange = tuple[Index, Index]
InstantText = Annotated[str, Field(max_length=MAX_NAME)]
TimezoneName = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_check_timezone)]
Encoding = Literal["json", "float32"]
RANGES_SCHEMA = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_RANGES,
    "items": {
        "type": "array",
        "minItems": COLUMNS,
        "maxItems": COLUMNS,
        "items": {"type": "integer", "minimum": 0, "maximum": MAX_INDEX},
    },
}


class PeriodRequest(BaseModel):
    """A period; left out: all of the window."""

    model_config = ConfigDict(extra="forbid")
    time: IndexRange | tuple[InstantText, InstantText] | None = Field(
        None, description="Two steps, or two instants in UTC at which steps begin or end", examples=[[0, 24]]
    )

    def steps(self, window: Window) -> Range:
        """Return the steps."""
        return step_range(self.time, window)


class RegionRequest(BaseModel):
    """A region: x and y, or bbox, or polygon; what is left out is all."""

    model_config = ConfigDict(extra="forbid")
    x: IndexRange | None = Field(
        default=None, description="First cell and the one after the last, west to east", examples=[[0, 10]]
    )
    y: IndexRange | None = Field(
        default=None, description="First cell and the one after the last, south to north", examples=[[0, 10]]
    )
    bbox: tuple[float, float, float, float] | None = Field(default=None, description="West, south, east, north")
    polygon: dict[str, Any] | None = Field(
        default=None,
        description="GeoJSON Polygon, MultiPolygon or Feature; longitude and latitude where the grid has them",
    )

    def box(self, grid: Grid) -> tuple[Range, Range] | None:
        """Return the cells if they are given by number: such queries are quick."""
        by_number = self.x is not None or self.y is not None
        if by_number + (self.bbox is not None) + (self.polygon is not None) > 1:
            msg = "give a region by x and y, or by bbox, or by polygon: one of these"
            raise UsageError(msg, code="region-given-twice")
        if self.bbox is not None or self.polygon is not None:
            return None
        return index_range("x", self.x, grid.nx), index_range("y", self.y, grid.ny)

    def key(self, grid: Grid) -> Hashable:
        """Return what is equal for equal regions."""
        return self.box(grid) or hashlib.sha256(repr((self.bbox, self.polygon)).encode()).digest()

    def area(self, grid: Grid) -> Area:
        """Return the share of each cell that is in the region."""
        box = self.box(grid)
        if box is not None:
            return Area.box(grid, *box)
        if self.bbox is not None:
            return Area.rectangle(grid, *self.bbox)
        polygon = self.polygon or {}
        _check_vertices(polygon)
        return Area.polygon(grid, polygon)


class QueryRequest(RegionRequest, PeriodRequest):
    """A region and a period."""


class SeriesRequest(QueryRequest):
    """A region, a period, and the length of a point."""

    every: int | None = Field(
        None, ge=1, le=MAX_INDEX, description="Steps summed into a point; left out: at most 2,000 points"
    )


class ProfileRequest(RegionRequest):
    """A region and a time zone."""

    timezone: TimezoneName = Field("UTC", description="Whose clock: an IANA name", examples=["Europe/London"])


class SliceRequest(PeriodRequest):
    """A period and an encoding."""

    format: Encoding = "json"


class HighestRequest(PeriodRequest):
    """A period and a number of cells."""

    count: int = Field(10, ge=1, le=MAX_HIGHEST, description="How many cells")


class BatchRequest(BaseModel):
    """Many ranges."""

    model_config = ConfigDict(extra="forbid")
    # Rows are checked by `table`: pydantic would collect every mistake in them, which takes time and memory.
    ranges: Annotated[list[Any], Field(min_length=1, max_length=MAX_RANGES), WithJsonSchema(RANGES_SCHEMA)] = Field(
        description="Rows x0, x1, y0, y1, t0, t1; ends are not included",
        examples=[[[0, 10, 0, 10, 0, 24], [0, 1, 0, 1, 0, 1]]],
    )

    def table(self) -> NDArray[np.int64]:
        """Return the rows, or refuse the first that is none."""
        for number, row in enumerate(self.ranges):
            if not (type(row) is list and len(row) == COLUMNS and all(map(_is_index, row))):
                msg = f"ranges: row {number} is not {COLUMNS} whole numbers from 0 up; write {EXAMPLES['ranges']}"
                raise UsageError(msg, code="ranges-syntax")
        return np.array(self.ranges).astype(np.int64)


def _is_index(number: object) -> bool:
    return type(number) in {int, float} and 0 <= number <= MAX_INDEX and number % 1 == 0  # type: ignore[operator] # a number


def _check_vertices(geometry: dict[str, Any]) -> None:
    """Refuse a polygon with more points than its share of each cell is worth.

    Rings and objects around the points count too, beyond a few: a body may nest empty ones.
    """
    todo: list[Any] = [geometry]
    points = rings = 0
    while todo:
        item = todo.pop()
        is_point = isinstance(item, list) and not any(isinstance(one, list | dict) for one in item)
        points += is_point
        rings += not is_point and isinstance(item, list | dict)
        if points > MAX_VERTICES or rings > MAX_VERTICES:
            msg = f"a polygon may have {MAX_VERTICES:,} points; simplify it"
            raise UsageError(msg, code="polygon-too-large")
        todo.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())


# In an address, regions and periods are texts.


def _parse_range(axis: str, text: str, example: str = "0:10") -> Range:
    match = RANGE.fullmatch(text)
    if match is None:
        msg = f"{axis} is not understood; write {axis}={example}"
        raise UsageError(msg, code="region-syntax")
    first = int(match[1])
    return first, first + 1 if match[2] is None else int(match[2])


def _parse_time(name: str, text: str) -> Range | tuple[str, str]:
    start, slash, end = text.partition("/")
    return (start, end) if slash else _parse_range(name, text, "0:24, or FROM/TO, e.g. 2013-02-04T00/2013-02-05T00")


def _parse_bbox(_: str, text: str) -> tuple[float, float, float, float]:
    try:
        west, south, east, north = map(float, text.split(","))
    except ValueError as error:
        msg = "bbox is not understood; write bbox=west,south,east,north"
        raise UsageError(msg, code="bbox-syntax") from error
    return west, south, east, north


def _parse_polygon(_: str, text: str) -> dict[str, Any]:
    try:
        geometry = from_json(text)
    except ValueError as error:
        msg = "polygon is not JSON; write a GeoJSON Polygon or MultiPolygon"
        raise UsageError(msg, code="polygon-syntax") from error
    if not isinstance(geometry, dict):
        msg = "polygon is not a GeoJSON object; write a Polygon or MultiPolygon"
        raise UsageError(msg, code="polygon-syntax")
    return geometry


class TextForm(NamedTuple):
    """How a field is written in an address: a parser that takes its name and text, and its schema."""

    parse: Callable[[str, str], Any]
    schema: dict[str, Any]


def _text_schema(max_length: int, description: str, **more: object) -> dict[str, Any]:
    return {"type": "string", "maxLength": max_length, "description": description, **more}


CELLS = "Cells A:B without B, counted from 0 in the south-west; one number is one cell"
BBOX = "west,south,east,north in the grid's own coordinates; cells in part count so"
POLYGON = "GeoJSON; longitude and latitude where the grid has them"
TIME = "Steps A:B without B, or FROM/TO in UTC at which steps begin or end; left out: all"
RANGE_SCHEMA = {"pattern": f"^{RANGE.pattern}$", "examples": ["0:10"]}
TEXT_FORMS = {
    "x": TextForm(_parse_range, _text_schema(60, f"{CELLS}, west to east", **RANGE_SCHEMA)),
    "y": TextForm(_parse_range, _text_schema(60, f"{CELLS}, south to north", **RANGE_SCHEMA)),
    "bbox": TextForm(_parse_bbox, _text_schema(100, BBOX)),
    "polygon": TextForm(_parse_polygon, _text_schema(40_000, POLYGON)),
    "time": TextForm(_parse_time, _text_schema(100, TIME, examples=["0:24"])),
}

RequestModel = TypeVar("RequestModel", bound=BaseModel)


def read_parameters(model: type[RequestModel], parameters: Mapping[str, str]) -> RequestModel:
    """Return the request that an address makes, or refuse its first mistake."""
    content: dict[str, Any] = dict(parameters)
    for name, (parse, schema) in TEXT_FORMS.items():
        if name not in parameters or name not in model.model_fields:
            continue
        if len(parameters[name]) > schema["maxLength"]:
            msg = f"String should have at most {schema['maxLength']} characters"
            raise RequestValidationError([{"loc": ("query", name), "msg": msg, "type": "string_too_long"}])
        content[name] = parse(name, parameters[name])
    return _validate(model, content, "query")


def read_body(model: type[RequestModel], body: bytes) -> RequestModel:
    """Return the request that a body makes, or refuse its first mistake.

    FastAPI would read bodies in the event loop, and collect every mistake of a long list before it reports the first.
    """
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        msg = "The body is not JSON."
        raise UsageError(msg, code="body-not-json") from error
    if not isinstance(content, dict):
        msg = 'The body: give an object, such as {"x": [0, 10], "y": [0, 10]}.'
        raise UsageError(msg, code="body-not-object")
    return _validate(model, content, "body")


def _validate(model: type[RequestModel], content: dict[str, Any], origin: str) -> RequestModel:
    for name in content:  # pydantic would collect all of a million unknown names
        if name not in model.model_fields:
            raise RequestValidationError([{"loc": (origin, name), "msg": "", "type": "extra_forbidden"}])
    try:
        return model.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise RequestValidationError([{**fault, "loc": (origin, *fault["loc"])}]) from error


def describe_fault(faults: Sequence[Any]) -> str:
    """Return what is wrong with a request, from the first fault that was found.

    >>> describe_fault([{"loc": ("query", "count"), "msg": "Input should be a valid integer", "type": "int_parsing"}])
    'count: input should be a valid integer.'
    >>> describe_fault([{"loc": ("query", "tme"), "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}])
    'tme: there is no such parameter.'
    >>> describe_fault([{"loc": ("body", "x", 1), "msg": "Field required", "type": "missing"}])
    'x.1: field required; write e.g. "x": [0, 10].'
    """
    fault = faults[0]
    origin, *names = fault["loc"]
    # Behind a name come places in a list, and the names of types that nobody gave.
    where = ".".join(str(name) for i, name in enumerate(names) if i == 0 or isinstance(name, int))[:60]
    mistake = "there is no such parameter" if fault["type"] == "extra_forbidden" else str(fault["msg"])
    example = EXAMPLES.get(names[0]) if origin == "body" and names else None
    hint = "" if example is None else f"; write e.g. {example}"
    return f"{where or 'The body'}: {mistake[:1].lower()}{mistake[1:]}{hint}."


def describe_parameters(model: type[BaseModel]) -> dict[str, Any]:
    """Return what the OpenAPI document says of a request in an address."""
    parameters = []
    for name, field in model.model_json_schema()["properties"].items():
        schema = TEXT_FORMS[name].schema if name in TEXT_FORMS else field
        parameter = {"name": name, "in": "query", "required": False, "schema": schema}
        if "description" in schema:
            parameter["description"] = schema["description"]
        parameters.append(parameter)
    return {"parameters": parameters}


def describe_body(model: type[BaseModel]) -> dict[str, Any]:
    """Return what the OpenAPI document says of a request in a body."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": model.model_json_schema()}}}}
