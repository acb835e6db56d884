"""Where a ledger is: a file or a server. An address may hold a password, and is never repeated."""

from __future__ import annotations

import re

ADDRESS = re.compile(
    r".*://|\s*postgres(ql)?(:|//)|.*password\s*=|\s*(host|hostaddr|port|dbname|user|service)\s*=",
    re.IGNORECASE | re.DOTALL,
)


def is_address(where: str) -> bool:
    """Whether this is, or was meant to be, the address of a server rather than a path.

    >>> [is_address(where) for where in ("town.ledger", "postgresql:/me@host/db", "host=db password=secret")]
    [False, True, True]
    """
    return ADDRESS.match(where) is not None


def may_hold_password(text: str) -> bool:
    """Whether a text that someone gave had better not be repeated.

    >>> may_hold_password("['postgresql://me:secret@host/db']"), may_hold_password("32 by 32")
    (True, False)
    """
    return re.search(r"://|postgres(ql)?:|password\s*=", text, re.IGNORECASE) is not None
