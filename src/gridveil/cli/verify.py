"""`gridveil verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import InputError


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
    from gridveil.release.verify.verify import NOT_SHOWN, WHO_WROTE_IT, WHOSE_LEDGER
    from gridveil.release.verify.verify_series import verify_folder

    with show.bars() as tell:
        checks = verify_folder(release, ledger=ledger, progress=tell)
    table = Table("what", "", "what it means")
    styles = {"ok": "green", "FAULT": "bold red", "not checked": "dim"}
    for check in checks:
        table.add_row(check.what, Text(check.verdict, style=styles[check.verdict]), Text(check.told))
    show.out.print(table)
    show.out.print(NOT_SHOWN)
    show.out.print(WHO_WROTE_IT if ledger is None else WHOSE_LEDGER)
    faults = [check for check in checks if check.verdict == "FAULT"]
    if faults:
        remedies = dict.fromkeys(check.remedy for check in faults)
        msg = f"{release}: {len(faults)} fault{'s' if len(faults) > 1 else ''}; {'; '.join(remedies)}"
        raise InputError(msg, code="release-faulty")
