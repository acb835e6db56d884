"""The wording of `gridveil ledger`: a population and its debits as sentences, tables and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gridveil.release.format.facts import WINDOW_QUESTIONS, attack_rates
from gridveil.release.format.wording import AttackStatement, describe_attacks, high_epsilon, window_attacks
from gridveil.trusted.ledger.chain import Tally
from gridveil.trusted.ledger.entry import Entry, format_amount
from gridveil.trusted.ledger.population import Population, Read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gridveil.report.figures.burn_down import FigureWords

NAME_LENGTH = 30
"""Letters of a population's name in the title of a figure."""

SIMILAR = 0.85
"""Similarity of two names (difflib) from which on one may be a typing error for the other."""

RECORDED, NONE = "recorded", "none: stays spent"


class LedgerAccount:
    """A population's chain, added up."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        tally = Tally.of(entries)
        self.population, self.standing = tally.population, tally.standing()
        self.debits = [entry for entry in entries if entry.kind == "debit"]
        self.released = {entry.body["debit"] for entry in entries if entry.kind == "release"}


def amount(exact: Fraction) -> str:
    """Return an exact amount, with its size if it is no decimal.

    >>> amount(Fraction(1, 8)), amount(Fraction(2, 3))
    ('0.125', '2/3 (about 0.667)')
    """
    text = format_amount(exact)
    return f"{text} (about {float(exact):.3g})" if "/" in text else text


def promise(population: Population) -> list[str]:
    """Return what the cap of a new population promises, and what an attacker can learn at it."""
    cap, window = amount(population.cap), population.window
    what = "a household" if window is None else f"the readings of a household in one {window}"
    limited = (
        f"Promised: all releases about {what} have at most epsilon {cap} together. A publication that would go beyond "
        "is refused before it measures anything."
    )
    unlimited = (
        f"The cap does not limit what all {window}s together reveal: membership loses the sum of all releases, "
        "behaviour and place lose twice the sum. Every label prints these."
    )
    return [
        limited,
        *describe_attacks([_at_the_cap(population)]),
        *([] if window is None else [unlimited]),
        *map(str, high_epsilon(float(population.cap))),
    ]


def _at_the_cap(population: Population) -> AttackStatement:
    """Return what an attacker can learn once all of the cap is spent: on a household, or on one ledger window."""
    cap = float(population.cap)
    if population.window is None:
        return AttackStatement(attack_rates(cap), "all releases of this population, at the cap")
    return window_attacks(attack_rates(cap, WINDOW_QUESTIONS), population.window, str(population.cap))


def other_populations(population: str, existing: Sequence[str]) -> list[str]:
    """Return what a new population means next to the existing ones, and a warning if its name may be a typing error.

    >>> [sentence[:47] for sentence in other_populations("West-Londn", ["leeds", "west-london"])]
    ['Already in this ledger: leeds, west-london. A h', 'WARNING: West-Londn is almost the name west-lon']
    """
    if not existing:
        return []
    folded = {name.casefold(): name for name in existing}
    close = get_close_matches(population.casefold(), folded, n=1, cutoff=SIMILAR)
    warnings = [
        f"WARNING: {population} is almost the name {folded[name]}. If you meant that one, publish with it: this "
        "is a second population, with a cap of its own."
        for name in close
    ]
    return [
        f"Already in this ledger: {', '.join(existing)}. A household in two populations loses the sum of both.",
        *warnings,
    ]


def print_account(account: LedgerAccount, console: Console) -> None:
    """Print a population with its debits."""
    console.print(account.population.name, style="bold")
    for sentence in _standing(account):
        console.print(sentence)
    if not account.debits:
        console.print("Nothing was debited so far.")
        return
    tables = [_debits(account), *([_windows(account)] if account.population.window else [])]
    for table in tables:
        console.print()
        console.print(table)
    console.print()
    lost = len(account.debits) - len(account.released)
    if lost:
        console.print(
            f"{_count(lost, 'debit')} without a recorded release: a run was stopped, or is not done yet. Someone may "
            "have seen its answers, so what it asked stays spent."
        )


def _standing(account: LedgerAccount) -> list[str]:
    """Return unit, cap, what was spent and what is left."""
    population, standing = account.population, account.standing
    spent = attack_rates(float(standing.spent)) if account.debits else []
    so_far = [AttackStatement(spent, "all releases of this population so far")] if spent else []
    if population.window is None:
        return [
            "Unit: household (all releases about a household add up).",
            f"Cap {amount(standing.cap)}, spent {amount(standing.spent)}, left {amount(standing.remaining)}.",
            *describe_attacks(so_far),
        ]
    least = f" The {population.window} with the least left has {amount(standing.remaining)}."
    return [
        f"Unit: household-window (the readings of a household in one {population.window}, {population.timezone} time).",
        f"Cap {amount(standing.cap)} for each {population.window}.{least if account.debits else ''}",
        *describe_attacks([_at_the_cap(population), *so_far]),
    ]


def _debits(account: LedgerAccount) -> Table:
    """Return a row for every debit, in the order in which they were made."""
    table = _table()
    table.add_column("no.", justify="right")
    table.add_column("date", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("mechanism", overflow="fold")
    table.add_column("read", min_width=len("2013-02-04 to"))
    table.add_column("epsilon", justify="right")
    table.add_column("spent", justify="right")
    table.add_column("release")
    spent = Fraction(0)
    for number, entry in enumerate(account.debits, start=1):
        spent += Fraction(entry.body["epsilon"])
        reads = [Read.from_body(read) for read in entry.body["reads"]]
        table.add_row(
            str(number),
            entry.at[:10],
            _plain(_title(entry)),
            _plain(entry.body["spec"].get("mechanism", "")),
            Text("\n".join(_period(read, account.population.timezone or "UTC") for read in reads)),
            format_amount(Fraction(entry.body["epsilon"])),
            format_amount(spent),
            RECORDED if entry.hash in account.released else NONE,
        )
    return table


def _windows(account: LedgerAccount) -> Table:
    """Return a row for every ledger window that something was spent in."""
    table = _table()
    table.add_column(account.population.window or "")
    for name in ("spent", "left"):
        table.add_column(name, justify="right")
    for name, spent in account.standing.windows.items():
        table.add_row(name, amount(spent), amount(account.standing.cap - spent))
    return table


def draw_account(account: LedgerAccount) -> tuple[Figure, FigureWords]:
    """Return the burn-down figure, and its title and description."""
    from gridveil.report.figures.burn_down import FigureWords, SpentBar, draw_releases, draw_windows, shorten

    population, standing = account.population, account.standing
    name, cap = shorten(population.name, NAME_LENGTH), float(standing.cap)
    if population.window is None:
        words = FigureWords(
            f"{name}: epsilon {amount(standing.remaining)} of {amount(standing.cap)} is left",
            f"All releases about a household add up. {_count(len(account.debits), 'debit')}, "
            f"epsilon {amount(standing.spent)} spent.",
        )
        debits = [
            SpentBar(_title(entry), float(Fraction(entry.body["epsilon"])), entry.hash in account.released)
            for entry in account.debits
        ]
        return draw_releases(debits, cap, words), words
    words = FigureWords(
        f"{name}: each {population.window} may lose epsilon {amount(standing.cap)}",
        f"{_count(len(account.debits), 'debit')}. All together: membership epsilon {amount(standing.spent)}; behaviour "
        f"and place {amount(2 * standing.spent)}.",
    )
    windows = [SpentBar(name, float(spent)) for name, spent in standing.windows.items()]
    return draw_windows(windows, cap, words), words


def _title(entry: Entry) -> str:
    """Return what a debit was for."""
    return str(entry.body["spec"].get("title", "without a title"))


def _period(read: Read, timezone: str) -> str:
    """Return the days of a read, or its times if it does not begin and end at midnight."""
    start, end = (time.astimezone(ZoneInfo(timezone)) for time in (read.start, read.end))
    last = end - timedelta(seconds=1)
    if _is_midnight(start) and _is_midnight(end):
        days = [f"{start:%Y-%m-%d}", *([f"{last:%Y-%m-%d}"] if start.date() != last.date() else [])]
        period = " to ".join(days)
    else:
        period = f"{start:%Y-%m-%dT%H:%M} to {end:%Y-%m-%dT%H:%M}"
    return period if read.name == "published" else f"{read.name} {period}"


def _is_midnight(time: datetime) -> bool:
    return (time.hour, time.minute, time.second) == (0, 0, 0)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _plain(text: object) -> Text:
    """Return text without control characters, never taken for markup: it comes from other people."""
    return Text("".join(letter if letter.isprintable() else " " for letter in str(text)))


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0, 0, 0))
