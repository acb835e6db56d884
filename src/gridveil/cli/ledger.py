"""`gridveil ledger`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import InputError, UsageError

app = typer.Typer(
    help="Track what releases have spent: each population has a cap, which no release can exceed.",
    no_args_is_help=True,
)

Where = Annotated[str, typer.Argument(metavar="LEDGER", help="A file, or postgresql://USER@HOST/DATABASE")]

FILE_WIDTH = 120
"""Columns of tables that go to a file."""

PUBLIC = 0o644


class Unit(StrEnum):
    """What a cap protects."""

    household = "household"
    household_window = "household-window"


class Calendar(StrEnum):
    """How long a ledger window is."""

    day = "day"
    week = "week"
    month = "month"
    year = "year"


@app.command()
def init(
    ledger: Where,
    population: Annotated[str, typer.Option(help="A public name for the households, e.g. west-london")],
    cap: Annotated[
        str, typer.Option(help="Maximum epsilon of all releases together; twice that for behaviour and place")
    ],
    unit: Annotated[
        Unit, typer.Option(help="The cap is for all of a household, or for its readings in one window")
    ] = Unit.household,
    window: Annotated[
        Calendar | None, typer.Option(help="Of household-window: each has the cap to itself; weeks begin on Monday")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Of household-window: whose calendar, e.g. Europe/London", show_default="UTC")
    ] = None,
) -> None:
    """Add a population with its cap to a ledger, and make the ledger if there is none.

    An attacker can use all releases about a household together. So the sum
    of their epsilons counts, and the cap is the most that it can reach.
    Choose it once, for as long as these households are published about: it
    cannot be changed. Cap 3 is one release at epsilon 3, or six at 0.5.
    `gridveil ledger show` says what is spent, and what is left.
    """
    from gridveil.cli import ledger_wording as wording
    from gridveil.cli import show
    from gridveil.trusted.ledger.book import create_ledger
    from gridveil.trusted.ledger.population import Population, parse_cap

    if unit is Unit.household_window and window is None:
        msg = "--unit household-window needs --window day, week, month or year: the one that releases keep within"
        raise UsageError(msg, code="ledger-window-missing")
    calendar = window and window.value
    added = Population(population, parse_cap(cap), unit.value, calendar, timezone or ("UTC" if calendar else None))
    book = create_ledger(ledger)
    existing = [one.name for one in book.populations()]
    book.add_population(added)
    show.out.print(f"{book.where}: added the population {population}.")
    for sentence in (*wording.other_populations(population, existing), *wording.promise(added)):
        show.out.print(sentence)
    same = "URL" if "://" in ledger else ledger  # it may hold a password
    line = show.command("publish", "SPEC.toml", "--ledger", same, "--population", population)
    series = " (a series, whose spec has a cadence: with --next)" if unit is Unit.household_window else ""
    show.out.print(f"Publish with: {line}{series}")


@app.command("show")
def show_(
    ledger: Where,
    population: Annotated[str | None, typer.Option(help="Just this one", show_default="all")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw what is left: a new .png, .svg or .pdf file")] = None,
) -> None:
    """Show what each population has spent, on what, and what is left."""
    from rich.console import Console

    from gridveil.cli import ledger_wording as wording
    from gridveil.cli import show
    from gridveil.model.files import check_new
    from gridveil.trusted.ledger.book import open_ledger

    check_new([figure])
    if figure is not None:
        from gridveil.report.figures.chart import as_file, check_format

        kind = check_format(figure)
    book = open_ledger(ledger)
    names = [one.name for one in book.populations()] if population is None else [population]
    accounts = [wording.LedgerAccount(book.entries(name)) for name in names]
    if figure is not None and len(accounts) != 1:
        msg = f"--figure is of one population; choose it with --population. There are: {', '.join(names) or 'none yet'}"
        raise UsageError(msg, code="figure-needs-population")
    console = Console(highlight=False, markup=False)
    console.width = console.width if console.is_terminal else FILE_WIDTH
    if not accounts:
        show.out.print(f"{book.where}: no population yet; add one with gridveil ledger init")
    for number, account in enumerate(accounts):
        console.print() if number else None
        wording.print_account(account, console)
        if figure is not None:
            drawn, about = wording.draw_account(account)
            _write(figure, as_file(drawn, kind, about.description))
            show.out.print(f"Wrote {figure}")


@app.command()
def verify(
    ledger: Where,
    releases: Annotated[
        list[Path] | None, typer.Argument(metavar="[RELEASE]...", help="Folders whose debits must be in the ledger")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="An earlier export: all of it must still be there")] = None,
    new_head: Annotated[
        bool, typer.Option("--new-head", help="Make the ledger's .head anew: it is lost, nothing else is wrong")
    ] = False,
) -> None:
    """Check that a ledger is whole: nothing edited, cut off, out of order or over a cap.

    An old copy that was put back is sound in itself, and has forgotten what
    was spent since. Give an export or releases that were made later, and it
    is noticed. Exit code 0: sound; 3: the ledger has faults, which are listed.
    """
    from gridveil.cli import show
    from gridveil.release.verify.ledger import read_export
    from gridveil.trusted.ledger.book import open_ledger

    book = open_ledger(ledger)
    earlier = [] if against is None else read_export(against, "--against")
    if new_head:
        if against is None:
            msg = "--new-head needs --against NEWEST-EXPORT: nothing else shows whether the ledger is an old copy"
            raise UsageError(msg, code="new-head-needs-export")
        book.new_head(earlier)
    faults = book.verify()
    chains = []
    if not faults:  # a damaged chain says nothing about releases
        chains = [book.entries(one.name) for one in book.populations()]
        debits = {entry.hash for chain in chains for entry in chain if entry.kind == "debit"}
        faults = [fault for release in releases or [] for fault in _missing(release, debits)]
    faults += book.check_against(earlier)
    for fault in faults:
        show.out.print(f"{book.where}: {fault}")
    if faults:
        raise typer.Exit(InputError.exit_code)
    entries = sum(map(len, chains))
    checked = f"; {len(releases)} releases are debited in it" if releases else ""
    show.out.print(f"{book.where}: sound (populations: {len(chains)}, entries: {entries:,}){checked}")


@app.command()
def export(
    ledger: Where,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A new file", show_default="standard output")] = None,
) -> None:
    """Write every entry as a line of JSON, exactly the text that its hash is of.

    All of it is public. Keep exports apart from the ledger, or publish them:
    with one, `ledger verify --against` notices what a ledger has lost, and
    `gridveil verify RELEASE --ledger` whether a release is what was debited.
    """
    from gridveil.cli import show
    from gridveil.trusted.ledger.book import open_ledger

    book = open_ledger(ledger)
    lines = [f"{entry.text}\n" for one in book.populations() for entry in book.entries(one.name)]
    if out is None:
        typer.echo("".join(lines), nl=False)
        return
    _write(out, "".join(lines).encode("ascii"))
    show.out.print(f"Wrote {out} ({len(lines):,} entries)")


def _write(path: Path, content: bytes) -> None:
    """Write a file that anyone may read, whole or not at all."""
    from gridveil.model.files import new_file

    try:
        with new_file(path) as aside:
            aside.write_bytes(content)
            aside.chmod(PUBLIC)
    except OSError as error:
        msg = f"{path}: it cannot be written there ({error.strerror}); give another place"
        raise UsageError(msg, code="ledger-export-unwritable") from error


def _missing(release: Path, debits: set[str]) -> list[str]:
    """Return why a release is not one of those that this ledger has debited, if so."""
    from gridveil.release.query.open import open_release

    facts = open_release(release).label.ledger_entry
    if facts is None:
        return [f"{release} was published without a ledger; no ledger counts what it spent"]
    if facts.hash not in debits:
        fault = (
            f"the debit {facts.hash[:12]} of {release} is not in it: was it debited in another ledger, or was an old "
            "copy of this one put back?"
        )
        return [fault]
    return []
