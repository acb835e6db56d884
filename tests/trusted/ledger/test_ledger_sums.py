"""Random debits against a slow and plain oracle: accepted exactly when they are within the cap."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from hypothesis import event, given
from hypothesis import strategies as st

from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.ledger.book import Ledger
from gridveil.trusted.ledger.chain import Chain, ChainLine
from gridveil.trusted.ledger.entry import Entry
from gridveil.trusted.ledger.population import LENGTHS, Population, Read

HALF_HOUR = timedelta(minutes=30)
START = datetime(2013, 3, 28, tzinfo=UTC)  # Europe's clocks go forward on the 31st, a Sunday and the last of a month


@dataclass
class MemoryStore:
    """Keeps chains in memory: thousands of debits would take minutes to reach a disk."""

    where: str = "memory"
    kept: dict[str, list[Entry]] = field(default_factory=dict)

    def chains(self) -> dict[str, Chain]:
        return {name: self.chain(name) for name in self.kept}

    def chain(self, name: str) -> Chain:
        entries = self.kept.get(name, [])
        lines = [ChainLine(entry.number, entry.hash, entry.text) for entry in entries]
        return Chain(name, lines, (len(lines) - 1, lines[-1].hash) if lines else None)

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        entry = make(self.chain(population))
        self.kept.setdefault(population, []).append(entry)
        return entry

    def faults(self) -> list[str]:
        return []


@dataclass
class Oracle:
    """The rules in the plainest words, with decimals and half hours instead of fractions and borders."""

    cap: Decimal
    window: str | None
    zone: str
    sums: Counter[object] = field(default_factory=Counter)

    def accepts(self, epsilon: Decimal, reads: list[Read]) -> bool:
        touched: set[object] = {"all"} if self.window is None else set()
        if self.window is not None:
            for read in reads:
                names = {self.name(read.start + i * HALF_HOUR) for i in range((read.end - read.start) // HALF_HOUR)}
                if len(names) > 1:
                    return False
                touched |= names
        if any(self.sums[name] + epsilon > self.cap for name in touched):
            return False
        for name in touched:
            self.sums[name] += epsilon  # type: ignore[assignment]  # an int or a fraction
        return True

    def name(self, instant: datetime) -> object:
        local = instant.astimezone(ZoneInfo(self.zone))
        week = local.isocalendar()[:2]
        return {"day": local.date(), "week": week, "month": (local.year, local.month), "year": local.year}[self.window]


amounts = st.sampled_from(["0.1", "0.2", "0.3", "0.25", "0.7", "1", "1.1", "0.000000001", "0.333333333333333333"])
zones = st.sampled_from(["UTC", "Europe/London", "Asia/Kolkata", "America/New_York"])
reads = st.builds(
    lambda first, length: Read("published", START + first * HALF_HOUR, START + (first + length) * HALF_HOUR),
    st.integers(0, 48 * 7),
    st.sampled_from([1, 2, 10, 48]),
)
debits = st.lists(st.tuples(st.integers(0, 1), amounts, st.lists(reads, min_size=1, max_size=3)), max_size=25)
units = st.tuples(st.none() | st.sampled_from(LENGTHS), zones, st.sampled_from(["1", "0.9", "2.5"]))


def population(name: str, window: str | None, zone: str, cap: str) -> Population:
    if window is None:
        return Population(name, Fraction(cap))
    return Population(name, Fraction(cap), "household-window", window, zone)


@given(units=st.tuples(units, units), debits=debits)
def test_a_debit_is_accepted_exactly_when_it_is_within_the_cap(
    units: tuple[tuple[str | None, str, str], ...], debits: list[tuple[int, str, list[Read]]]
) -> None:
    ledger = Ledger(MemoryStore())
    oracles = [Oracle(Decimal(cap), window, zone) for window, zone, cap in units]
    for name, unit in zip("ab", units, strict=True):
        ledger.add_population(population(name, *unit))
    spent = [Fraction(0), Fraction(0)]
    for which, epsilon, of in debits:
        try:
            permit = ledger.permit("ab"[which], Fraction(epsilon), of, {})
            permit.use()
            accepted = True
            spent[which] += Fraction(epsilon)
        except (BudgetError, UsageError) as error:
            accepted = False
            event(type(error).__name__)
        assert accepted == oracles[which].accepts(Decimal(epsilon), of)
    for name, oracle, total in zip("ab", oracles, spent, strict=True):
        standing = ledger.standing(name)
        assert standing.spent == total
        assert standing.worst == Fraction(max(oracle.sums.values(), default=Decimal(0)))
        assert 0 <= standing.remaining == standing.cap - standing.worst
    assert ledger.verify() == []
