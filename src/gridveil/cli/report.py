"""`gridveil report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or of a series")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page: a new file")] = Path("report.html"),
    timezone: Annotated[
        str | None,
        typer.Option(help="Whose clock typical days go by, e.g. Europe/London", show_default="a series' own, or UTC"),
    ] = None,
) -> None:
    """Write one self-contained page about a release, to be mailed: maps, curves, highest cells, label."""
    from gridveil.cli import show
    from gridveil.release.query.open import open_release
    from gridveil.report.page import write_report

    opened = open_release(release)
    show.note(opened.label)
    with show.bars() as tell:
        write_report(opened, out, name=release.resolve().name, zone=timezone or _own(release), progress=tell)
    typer.echo(f"{out} (open it in a browser, or mail it: it loads nothing)")


def _own(folder: Path) -> str:
    """Return the clock by which a series is published, or UTC; that of a stranger's catalogue may be none."""
    from contextlib import suppress

    from gridveil.model.errors import UsageError
    from gridveil.release.series.catalogue import is_series, read_catalogue
    from gridveil.trusted.ledger.population import load_zone

    if is_series(folder):
        with suppress(UsageError):
            return load_zone(read_catalogue(folder).timezone).key
    return "UTC"
