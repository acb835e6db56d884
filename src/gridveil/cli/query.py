"""`gridveil query`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridveil.errors import InputError, UsageError

if TYPE_CHECKING:
    from gridveil.release.area import Area
    from gridveil.release.open import Release


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release")],
    x: Annotated[str | None, typer.Option(help="Cells west to east, A:B without B, counted from 0 [all]")] = None,
    y: Annotated[str | None, typer.Option(help="Cells south to north [all]")] = None,
    bbox: Annotated[
        str | None, typer.Option(help="Or WEST,SOUTH,EAST,NORTH in the map's own coordinates; cells count in part")
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="Or a GeoJSON file with polygons; longitude and latitude where the map has them")
    ] = None,
    time: Annotated[str | None, typer.Option(help="FROM/TO in UTC, or steps A:B [all]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Ask how much a region used over a period, and how sure that is."""
    from gridveil.release.open import open_release
    from gridveil.release.wording import error_bars

    opened = open_release(release)
    covered = _area(opened, bbox, area)
    answer = opened.query(x=_range(x, "x"), y=_range(y, "y"), time=_period(time), area=covered)
    share = None if covered is None else covered.cells / opened.grid.cells
    if as_json:
        about = {} if covered is None else {"area": {"cells": covered.cells, "share": share}}
        typer.echo(json.dumps(asdict(answer) | about))
        return
    typer.echo(f"{answer.value:,.1f} kWh")
    interval = f"95 % interval: {answer.low:,.1f} to {answer.high:,.1f} kWh"
    # An interval about the truth is lopsided: a standard error beside it would tempt to add and subtract two of them.
    exact = "" if opened.about_the_truth else f" (standard error {answer.standard_error:,.1f})"
    typer.echo(interval + exact)
    if covered is not None:
        typer.echo(f"{covered.cells:,.2f} cells, {share:.2%} of the map".replace("%", " %"))
    corrected = opened.label.correction is not None
    typer.echo(error_bars(corrected=corrected, about_the_truth=opened.about_the_truth))


def _area(release: Release, bbox: str | None, file: Path | None) -> Area | None:
    from gridveil.release.area import Area

    grid = release.grid
    if bbox is not None and file is not None:
        msg = "give --bbox or --area, not both"
        raise UsageError(msg)
    if file is not None:
        return Area.polygon(grid, _read(file))
    if bbox is None:
        return None
    try:
        west, south, east, north = (float(limit) for limit in bbox.split(","))
    except ValueError as error:
        msg = (
            f"--bbox {bbox}: write WEST,SOUTH,EAST,NORTH, e.g. {grid.x0:g},{grid.y0:g},{grid.x1:g},{grid.y1:g} for all"
        )
        raise UsageError(msg) from error
    return Area.rectangle(grid, west, south, east, north)


def _read(file: Path) -> Any:  # noqa: ANN401 - whatever JSON there is; Area looks at it
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{file}: not a GeoJSON file that can be read ({error})"
        raise InputError(msg) from error


def _range(text: str | None, axis: str) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        return int(first), int(last) if colon else int(first) + 1
    except ValueError as error:
        msg = f"--{axis} {text}: counted from 0, not in coordinates; write 0:10 for the first ten, 3 for one"
        raise UsageError(msg) from error


def _period(text: str | None) -> tuple[int, int] | tuple[str, str] | None:
    if text is None:
        return None
    start, slash, end = text.partition("/")
    if slash:
        return start, end
    if re.fullmatch(r"-?\d+(:-?\d+)?", text):
        return _range(text, "time")
    msg = f"--time {text}: write FROM/TO, e.g. 2013-02-04T00/2013-02-05T00, or steps 0:24"
    raise UsageError(msg)
