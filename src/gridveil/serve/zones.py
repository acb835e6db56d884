"""Time zones by name; only names that are known get as far as the files that describe them."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from gridveil.model.errors import UsageError

NO_PLACES = {"Factory", "localtime", "posixrules"}  # the server's own clock, or nobody's


def known_zone(name: str) -> str:
    """Return the name of a time zone, or say that there is none.

    >>> known_zone("Europe/London")
    'Europe/London'
    """
    if name not in _names():
        msg = "timezone: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg, code="timezone-unknown")
    return name


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones() - NO_PLACES)
