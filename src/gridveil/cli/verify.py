"""`gridveil verify`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.model.errors import InputError

if TYPE_CHECKING:
    from gridveil.release.verify.verify_entry import Book


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or of a series")],
    ledger: Annotated[
        str | None, typer.Option(help="The publisher's ledger, or an export of it: is the release what was debited?")
    ] = None,
) -> None:
    """Check that a release is whole and that all it says of itself fits: label, digests, values, README, ledger entry.

    Who can change the files can make all of this fit. That a release is the
    publisher's own shows in the publisher's ledger alone, or in an export of
    it. Exit code 3 if anything is at fault. Of a series every release is
    checked, and that it is the one that the catalogue lists.
    """
    from rich.table import Table
    from rich.text import Text

    from gridveil.cli import show
    from gridveil.release.series.catalogue import is_series
    from gridveil.release.verify.verify import NOT_SHOWN, WHO_WROTE_IT, WHOSE_LEDGER, verify
    from gridveil.release.verify.verify_series import verify_series

    book = None if ledger is None else _book(ledger)
    if not release.is_dir():
        msg = f"{release}: there is no such folder; give the folder of a release"
        raise InputError(msg)
    look = verify_series if is_series(release) else verify
    with show.bars() as tell:
        checks = look(release, book, tell)
    table = Table("what", "", "what it means")
    styles = {"ok": "green", "FAULT": "bold red", "not checked": "dim"}
    for check in checks:
        table.add_row(check.what, Text(check.verdict, style=styles[check.verdict]), Text(check.told))
    show.out.print(table)
    show.out.print(NOT_SHOWN)
    show.out.print(WHO_WROTE_IT if book is None else WHOSE_LEDGER)
    faults = [check for check in checks if check.verdict == "FAULT"]
    if faults:
        remedies = dict.fromkeys(check.remedy for check in faults)
        msg = f"{release}: {len(faults)} fault{'s' if len(faults) > 1 else ''}; {'; '.join(remedies)}"
        raise InputError(msg)


def _book(where: str) -> Book:
    """Return a ledger, or an export of one."""
    from gridveil.release.verify.ledger_export import Export, is_export
    from gridveil.trusted.ledger.book import open_ledger
    from gridveil.trusted.ledger.place import is_address

    if not is_address(where) and not os.path.lexists(where):
        msg = f"{where}: there is no ledger there; give the path of the ledger that this release was debited to"
        raise InputError(msg)
    return Export(Path(where)) if is_export(Path(where)) else open_ledger(where)
