"""`gridveil query`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gridveil.errors import UsageError


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release")],
    x: Annotated[str | None, typer.Option(help="Cells west to east, A:B without B, counted from 0 [all]")] = None,
    y: Annotated[str | None, typer.Option(help="Cells south to north [all]")] = None,
    time: Annotated[str | None, typer.Option(help="FROM/TO in UTC, or steps A:B [all]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Ask how much a region used over a period, and how sure that is."""
    from gridveil.release.open import open_release
    from gridveil.release.wording import error_bars

    opened = open_release(release)
    answer = opened.query(x=_range(x, "x"), y=_range(y, "y"), time=_period(time))
    if as_json:
        typer.echo(json.dumps(asdict(answer)))
        return
    typer.echo(f"{answer.value:,.1f} kWh")
    interval = f"95 % interval: {answer.low:,.1f} to {answer.high:,.1f} kWh"
    # An interval about the truth is lopsided: a standard error beside it would tempt to add and subtract two of them.
    exact = "" if opened.about_the_truth else f" (standard error {answer.standard_error:,.1f})"
    typer.echo(interval + exact)
    corrected = opened.label.correction is not None
    typer.echo(error_bars(corrected=corrected, about_the_truth=opened.about_the_truth))


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
