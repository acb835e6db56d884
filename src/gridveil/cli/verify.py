"""`gridveil verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.errors import InputError


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release")],
    ledger: Annotated[
        str | None, typer.Option(help="The ledger that debited it, to see that the entry is there")
    ] = None,
) -> None:
    """Check that a release is whole and says of itself what is true: label, digests, values, README, ledger entry.

    Exit code 3 if anything is at fault.
    """
    from rich.table import Table
    from rich.text import Text

    from gridveil.cli import show
    from gridveil.release.verify import NOT_SHOWN, verify

    book = None
    if ledger is not None:
        from gridveil.privacy.ledger.book import open_ledger

        book = open_ledger(ledger)
    if not release.is_dir():
        msg = f"{release}: there is no such folder; give the folder of a release"
        raise InputError(msg)
    checks = verify(release, book)
    table = Table("what", "", "what it means")
    styles = {"ok": "green", "FAULT": "bold red", "not checked": "dim"}
    for check in checks:
        table.add_row(check.what, Text(check.verdict, style=styles[check.verdict]), Text(check.told))
    show.out.print(table)
    show.out.print(NOT_SHOWN)
    faults = sum(check.verdict == "FAULT" for check in checks)
    if faults:
        msg = (
            f"{release}: {faults} fault{'s' if faults > 1 else ''}; do not rely on it, get a fresh copy of the release"
        )
        raise InputError(msg)
