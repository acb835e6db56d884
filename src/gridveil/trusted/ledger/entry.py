"""One entry of a ledger: a canonical text, and the hash that the next entry carries on."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from gridveil.model.errors import InputError

VERSION = 1
NO_HASH = 64 * "0"

Kind = Literal["population", "debit", "release"]

HASH = re.compile(r"[0-9a-f]{64}")
NONCE = re.compile(r"[0-9a-f]{32}")
AMOUNT = re.compile(r"[1-9][0-9]{0,99}(/[1-9][0-9]{0,99})?")
DAY = re.compile(r"[1-8][0-9]{3}-[0-9]{2}-[0-9]{2}")  # years as `population` has them
INSTANT = re.compile(DAY.pattern + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True)
class Entry:
    """One line of a population's chain. All of it is public.

    Guarantee: equal hashes mean equal entries (SHA-256 of a text that one entry alone has), and because each entry
    carries the hash of the one before, equal hashes mean equal chains up to there. The hash tells nothing that the
    entry does not tell: the nonce is 128 random bits, so that who sees a hash alone cannot try out what it may be of.
    """

    kind: Kind
    population: str
    number: int
    """0, 1, 2 ... within the population."""
    previous: str
    """The hash of the entry before; zeros for the first."""
    at: str
    """The day, in UTC. Told, never trusted: the order is that of the numbers, whatever a clock says. Seconds would tell
    how long it took from a debit to its release, which depends on the data."""
    nonce: str
    body: dict[str, Any]

    @cached_property
    def text(self) -> str:
        """The canonical text: JSON with sorted keys, no blanks, ASCII."""
        fields = {name: getattr(self, name) for name in FIELDS if name != "version"}
        return to_canonical({"version": VERSION, **fields})

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode("ascii")).hexdigest()

    @classmethod
    def after(cls, last: Entry | None, kind: Kind, population: str, body: Mapping[str, Any]) -> Entry:
        """Return a new entry that follows `last`, or is the first."""
        number, previous = (0, NO_HASH) if last is None else (last.number + 1, last.hash)
        entry = cls(kind, population, number, previous, today(), secrets.token_hex(16), dict(body))
        return cls.from_text(entry.text)  # what cannot be read back is never written

    @classmethod
    def from_text(cls, text: str) -> Entry:
        """Return the entry that has this text, and refuse any other text.

        >>> Entry.from_text('{"kind": "debit"}')
        Traceback (most recent call last):
        gridveil.model.errors.InputError: not an entry of a ledger: its fields are not those of version 1
        """
        fault, fields = _parse_fields(text)
        if fault:
            msg = f"not an entry of a ledger: {fault}"
            raise InputError(msg, code="entry-invalid")
        entry = cls(**{name: value for name, value in fields.items() if name != "version"})
        entry.__dict__["text"] = text  # as cached_property would keep it: it was just compared
        return entry


def today() -> str:
    """Return the day as entries tell it."""
    return datetime.now(UTC).date().isoformat()


def format_instant(instant: datetime) -> str:
    """Return an instant as entries write it."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def to_canonical(value: object) -> str:
    """Return the one JSON text of a value, or raise ValueError or TypeError if it has none."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def format_amount(amount: Fraction) -> str:
    """Return an exact amount for people: a decimal if it has one, else a fraction.

    >>> format_amount(Fraction(3)), format_amount(Fraction(-1, 8)), format_amount(Fraction(1, 3))
    ('3', '-0.125', '1/3')
    """
    rest, digits = amount.denominator, 0
    while rest % 10 == 0:
        rest, digits = rest // 10, digits + 1
    for factor in (2, 5):
        while rest % factor == 0:
            rest, digits = rest // factor, digits + 1
    if rest != 1:
        return str(amount)
    whole = str(abs(int(amount * 10**digits))).rjust(digits + 1, "0")
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    return f"-{text}" if amount < 0 else text


def is_amount(value: object) -> bool:
    """Whether this is a positive exact amount as entries write it."""
    return isinstance(value, str) and AMOUNT.fullmatch(value) is not None and str(Fraction(value)) == value


def is_instant(value: object) -> bool:
    """Whether this is an instant as entries write it."""
    return _is_time(value, INSTANT)


def is_day(value: object) -> bool:
    """Whether this is a day as entries write it."""
    return _is_time(value, DAY)


def _is_time(value: object, written: re.Pattern[str]) -> bool:
    if not (isinstance(value, str) and written.fullmatch(value)):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_hash(value: object) -> bool:
    """Whether this can be a SHA-256."""
    return isinstance(value, str) and HASH.fullmatch(value) is not None


def is_name(value: object) -> bool:
    """Whether this can be the name of a population: some printable text without blanks around it."""
    return isinstance(value, str) and 0 < len(value) <= 100 and value.isprintable() and value == value.strip()  # noqa: PLR2004  # a line's worth


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_population(body: Mapping[str, Any]) -> bool:
    if body.get("unit") == "household":
        return set(body) == {"cap", "unit"} and is_amount(body["cap"])
    names = {"cap", "unit", "window", "timezone"}
    texts = isinstance(body.get("window"), str) and isinstance(body.get("timezone"), str)
    return set(body) == names and body["unit"] == "household-window" and texts and is_amount(body["cap"])


def _is_debit(body: Mapping[str, Any]) -> bool:
    if set(body) != {"epsilon", "reads", "spec"} or not is_amount(body["epsilon"]):
        return False
    reads = body["reads"]
    return isinstance(body["spec"], dict) and isinstance(reads, list) and bool(reads) and all(map(_is_read, reads))


def _is_read(read: object) -> bool:
    if not (isinstance(read, dict) and set(read) == {"name", "start", "end"} and is_name(read["name"])):
        return False
    return is_instant(read["start"]) and is_instant(read["end"]) and read["start"] < read["end"]


def _is_release(body: Mapping[str, Any]) -> bool:
    files = body.get("files")
    if set(body) != {"debit", "files"} or not is_hash(body["debit"]) or not isinstance(files, dict):
        return False
    return bool(files) and all(map(is_name, files)) and all(map(is_hash, files.values()))


def _parse_fields(text: str) -> tuple[str, dict[str, Any]]:
    """Return what is wrong with a text, or nothing, and its fields."""
    try:
        fields = json.loads(text)
        is_canonical = to_canonical(fields) == text
    except (ValueError, RecursionError):  # also of numbers that JSON does not have
        return "it is no JSON text", {}
    if not (isinstance(fields, dict) and set(fields) == FIELDS and _is_int(fields["version"])):
        return f"its fields are not those of version {VERSION}", {}
    if fields["version"] != VERSION:
        return f"it is of version {fields['version']}, and this gridveil knows {VERSION}; update it", {}
    if not is_canonical:
        return "its text is not in canonical form", {}
    wrong = [name for name, is_right in CHECKS.items() if not is_right(fields[name])]
    if not wrong and not BODIES[fields["kind"]](fields["body"]):
        wrong = ["body"]
    return f"its {wrong[0]} is not as it should be" if wrong else "", fields


FIELDS = {"version", "kind", "population", "number", "previous", "at", "nonce", "body"}

CHECKS: dict[str, Callable[[Any], bool]] = {
    "kind": lambda kind: kind in get_args(Kind),
    "population": is_name,
    "number": lambda number: _is_int(number) and number >= 0,
    "previous": is_hash,
    "at": is_day,
    "nonce": lambda nonce: isinstance(nonce, str) and NONCE.fullmatch(nonce) is not None,
    "body": lambda body: isinstance(body, dict),
}

BODIES = {"population": _is_population, "debit": _is_debit, "release": _is_release}
