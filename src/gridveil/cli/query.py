"""`gridveil query`."""

from __future__ import annotations

import json
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,  # noqa: FBT002  # a flag
) -> None:
    """Ask how much a region used over a period, and how sure that is."""
    from gridveil.release.open import open_release  # noqa: PLC0415  # slow to import

    answer = open_release(release).query(x=_range(x), y=_range(y), time=_period(time))
    if as_json:
        typer.echo(json.dumps(asdict(answer)))
        return
    typer.echo(f"{answer.value:,.1f} kWh")
    typer.echo(
        f"95 % interval: {answer.low:,.1f} to {answer.high:,.1f} kWh (standard error {answer.standard_error:,.1f})"
    )
    typer.echo("It does not cover what the bounds cut off, nor all that spreading gets wrong: see README.md.")


def _range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        return int(first), int(last) if colon else int(first) + 1
    except ValueError as error:
        msg = f"{text!r} is not a range; write 0:10 for the first ten, or 3 for one"
        raise UsageError(msg) from error


def _period(text: str | None) -> tuple[int, int] | tuple[str, str] | None:
    if text is None or "/" not in text:
        return _range(text)
    start, _, end = text.partition("/")
    return start, end
