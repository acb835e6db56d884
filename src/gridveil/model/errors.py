"""Errors, one small class per cause, with the exit code of the command line; and warnings. All have stable codes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

MAX_QUOTED = 80
"""Characters of a setting that an error repeats: a longer one may be a table as text."""


class GridveilError(Exception):
    """Anything gridveil refuses to do. The message says what was wrong and what to do about it.

    code: stable, unlike the message: what programs and tests should look at.
    """

    exit_code = 1

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the code on the way from one process to another."""
        return _restore, (type(self), str(self), self.code, self.__dict__)


class UsageError(GridveilError):
    """A setting is missing or makes no sense."""

    exit_code = 2


class InputError(GridveilError):
    """A whole table, file or release cannot be read. Never raised for single bad rows."""

    exit_code = 3


class BudgetError(GridveilError):
    """A measurement would take a pillar over the budget, or the budget itself is not allowed."""

    exit_code = 4


class MissingExtraError(UsageError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an optional part: pip install 'gridveil[{extra}]'", code="extra-missing")


def _restore(kind: type[GridveilError], message: str, code: str, known: dict[str, Any]) -> GridveilError:
    error = kind.__new__(kind)
    GridveilError.__init__(error, message, code=code)
    error.__dict__.update(known)
    return error


@dataclass(frozen=True)
class GridveilWarning:
    """What does not stop anything, but has to be known. `str` gives the sentence.

    code: stable, unlike the sentence: what programs and tests should look at.
    figures: what the sentence says beyond its code. Records keep these and the code, so that a sentence can be
    corrected at any time.
    """

    message: str
    code: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def to_record(self) -> dict[str, Any]:
        """Return code and figures, as plain data."""
        return {"code": self.code, **self.figures}


def quote_setting(given: object) -> str:
    """Return a setting as an error may repeat it; of anything that may hold rows of a table, its type alone.

    >>> quote_setting("32"), quote_setting([["household-3", 1.5]])
    ("'32'", 'a list')
    """
    plain = given is None or isinstance(given, str | int | float | date | Path)
    return repr(given) if plain and len(str(given)) <= MAX_QUOTED else f"a {type(given).__name__}"
