"""What the tests of ledgers share."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from shutil import copyfile

from gridveil.trusted.ledger.book import Debit, Ledger
from gridveil.trusted.ledger.population import Population, Read

MONDAY = datetime(2013, 2, 4, tzinfo=UTC)
DAY = Read("published", MONDAY, MONDAY + timedelta(days=1))
TOWN = Population("town", Fraction(1))
WEEKS = Population("weeks", Fraction(1), "household-window", "week", "Europe/London")
FILES = {"consumption.nc": 64 * "a", "label.json": 64 * "b"}


def read(start: datetime, **length: float) -> Read:
    return Read("published", start, start + timedelta(**length))


def spend(ledger: Ledger, epsilon: str, *reads: Read, population: str | None = None, title: str = "a release") -> Debit:
    debit = ledger.permit(population, Fraction(epsilon), reads or [DAY], {"title": title})
    debit.use()
    return debit


def head_of(path: Path) -> Path:
    return path.with_name(path.name + ".head")


def copy_ledger(path: Path, to: Path) -> Path:
    """Copy a ledger in a file, and what belongs to it."""
    copyfile(head_of(path), head_of(to))
    return Path(copyfile(path, to))
