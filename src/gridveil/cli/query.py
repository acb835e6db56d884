"""`gridveil query`: how much a region used over a period. Regions are ranges of cells, limits or polygons."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridveil.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from gridveil.geography.area import Area
    from gridveil.release.query.open import Release

Period = tuple[int, int] | tuple[str, str] | None
DAY = timedelta(days=1)

NAMES = ("name", "id")
"""Properties of a feature that are its name, whatever their case."""

MAX_BYTES = 2**26
"""Of a GeoJSON file; one with the maximum number of corners has a tenth of it."""


def query(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or of a series")],
    x: Annotated[
        str | None, typer.Option(help="Cells west to east, A:B without B, counted from 0", show_default="all")
    ] = None,
    y: Annotated[str | None, typer.Option(help="Cells south to north", show_default="all")] = None,
    bbox: Annotated[
        str | None, typer.Option(help="Or WEST,SOUTH,EAST,NORTH in the map's own coordinates; cells count in part")
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="Or a GeoJSON file with polygons; longitude and latitude where the map has them")
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Of --area: every feature by itself, as a table")] = False,
    time: Annotated[
        str | None,
        typer.Option(help="A day such as 2013-02-04, or FROM/TO, both in UTC; or steps A:B", show_default="all"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Ask how much a region used over a period, and how sure that is."""
    from gridveil.cli import show
    from gridveil.release.format.wording import error_bars
    from gridveil.release.query.open import in_words, open_runs

    _check_region(x or y, bbox, area, each)
    period = _period(time)
    opened = _run_of(open_runs(release), period)
    show.note(opened.label)
    content = None if area is None else read_geojson(area)
    found = [] if area is None else list_features(content)
    covers = error_bars(corrected=opened.label.correction is not None, about_the_truth=opened.about_the_truth)
    if each:
        rows = _each(opened, found, period)
        if as_json:
            typer.echo(json.dumps(rows))
        else:
            show.out.print(_table(rows))
            typer.echo(in_words(period, opened.window))
            typer.echo(covers)
        return
    covered = _area(opened, bbox, content)
    answer = opened.query(x=_range(x, "x"), y=_range(y, "y"), time=period, area=covered)
    about = _about(opened, covered)
    if as_json:
        typer.echo(json.dumps(asdict(answer) | about))
        return
    typer.echo(f"{answer.value:,.1f} kWh")
    interval = f"95 % interval: {answer.low:,.1f} to {answer.high:,.1f} kWh"
    # An interval about the truth is asymmetric: value plus or minus two standard errors would be wrong.
    exact = "" if opened.about_the_truth else f" (standard error {answer.standard_error:,.1f})"
    typer.echo(interval + exact)
    if len(found) > 1:
        typer.echo(f"{len(found)} polygons taken together (--each: one by one)")
    if covered is not None:
        typer.echo(f"{covered.cells:,.2f} cells, {about['area']['share']:.2%} of the map".replace("%", " %"))
    typer.echo(in_words(period, opened.window))
    typer.echo(covers)


def _check_region(cells: str | None, bbox: str | None, area: Path | None, each: bool) -> None:
    if bbox is not None and area is not None:
        msg = "give --bbox or --area, not both"
        raise UsageError(msg, code="area-given-twice")
    if cells is not None and (bbox is not None or area is not None):
        msg = "give --x and --y, or an area, not both"
        raise UsageError(msg, code="area-and-range")
    if each and area is None:
        msg = "--each is for the polygons of a file: give --area FILE too"
        raise UsageError(msg, code="each-without-area")


def _run_of(runs: list[Release], period: Period) -> Release:
    """Return the run without gaps that holds the period; if none does, the longest, whose query then is refused."""
    from gridveil.release.query.open import longest, step_range

    if period is not None and isinstance(period[0], str):
        for run in runs:
            with suppress(UsageError):
                step_range(period, run.window)
                return run
    return longest(runs)


def _area(release: Release, bbox: str | None, content: Any) -> Area | None:  # noqa: ANN401 - anybody's JSON
    from gridveil.geography.area import Area

    if content is not None:
        return Area.polygon(release.grid, content)
    return None if bbox is None else _from_limits(release, bbox)


def _each(release: Release, found: list[tuple[str, Any]], period: Period) -> list[dict[str, Any]]:
    """Return an answer or an error for each feature. Raises the first error if all features have one."""
    from gridveil.geography.area import Area

    rows: list[dict[str, Any]] = []
    errors: list[UsageError] = []
    for name, geometry in found:
        try:
            covered = Area.polygon(release.grid, geometry)
        except UsageError as error:
            errors.append(error)
            rows.append({"name": name, "error": str(error)})
        else:
            rows.append({"name": name, **asdict(release.query(time=period, area=covered)), **_about(release, covered)})
    if errors and len(errors) == len(rows):
        raise errors[0]
    return rows


def _about(release: Release, covered: Area | None) -> dict[str, Any]:
    if covered is None:
        return {}
    return {"area": {"cells": covered.cells, "share": covered.cells / release.grid.cells}}


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table("area", Column("kWh", justify="right"), Column("95 % interval, kWh", justify="right"))
    for row in rows:
        name = Text(row["name"])
        if "error" in row:
            table.add_row(name, "", Text(row["error"].partition(", ")[0].partition(";")[0]))
        else:
            table.add_row(name, f"{row['value']:,.1f}", f"{row['low']:,.1f} to {row['high']:,.1f}")
    return table


def _range(text: str | None, axis: str) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        return int(first), int(last) if colon else int(first) + 1
    except ValueError as error:
        msg = f"--{axis} {text}: counted from 0, not in coordinates; write 0:10 for the first ten, 3 for one"
        raise UsageError(msg, code="range-syntax") from error


def _period(text: str | None) -> Period:
    if text is None:
        return None
    start, slash, end = text.partition("/")
    if slash:
        return start, end
    if re.fullmatch(r"-?\d+(:-?\d+)?", text):
        return _range(text, "time")
    with suppress(ValueError, OverflowError):
        day = datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  # Python would take 2013-W06 for its Monday
        return day.isoformat(), (day + DAY).isoformat()
    msg = f"--time {text}: write a day, 2013-02-04, or FROM/TO, 2013-02-04T17/2013-02-04T20 (UTC), or steps 0:24"
    raise UsageError(msg, code="time-syntax")


def _from_limits(release: Release, text: str) -> Area:
    """Return the area between WEST,SOUTH,EAST,NORTH."""
    from gridveil.geography.area import Area

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
    """Return the coordinate system in words, and what to use for longitude and latitude."""
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


def read_geojson(file: Path) -> Any:  # noqa: ANN401 - whatever JSON there is; Area looks at it
    """Return the content of a GeoJSON file."""
    from gridveil.model.files import read_small

    try:
        return json.loads(read_small(file, MAX_BYTES))
    except FileNotFoundError as error:
        msg = f"{file}: there is no such file"
        raise InputError(msg, code="file-missing") from error
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{file}: not a GeoJSON file that can be read ({error})"
        raise InputError(msg, code="geojson-unreadable") from error


def list_features(content: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - anybody's JSON
    """Return names and geometries of what a file holds; what has no name is numbered from 1.

    >>> list_features({"type": "FeatureCollection", "features": [{"properties": {"Name": "F1"}}, {"id": 7}, {}]})
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
