"""The address of a PostgreSQL database. It may hold a password, which is never told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gridveil.model.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import psycopg

SECRETS = ("password", "sslpassword")


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to get in. What it shows of itself is public."""

    parts: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, url: str, what: str) -> Address:
        """Return the address; what does not parse is not repeated, it may hold a password.

        what: it is the address of, e.g. "the ledger".
        """
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError(what, "postgres") from error
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            parts = {"host": "@"}
        # An @ or / of a password that is not written as %40 or %2F puts the rest of it into host or database; and what
        # looks like an address in the place of a database's name is one for PostgreSQL.
        shown = [str(parts.get(name, "")) for name in ("host", "port", "dbname")]
        if any(sign in part for part in shown for sign in ("@", "=", "://")):
            msg = (
                f"the address of {what} is not one of PostgreSQL; write postgresql://USER@HOST/DATABASE, and an @, / "
                "or % in a password as %40, %2F or %25"
            )
            raise UsageError(msg, code="address-syntax")
        return cls({"connect_timeout": 10, "application_name": "gridveil", "client_encoding": "utf8", **parts})

    def __str__(self) -> str:
        """Return the server and database, without user and password."""
        host, port = self.parts.get("host", ""), self.parts.get("port")
        return f"postgresql://{host}{f':{port}' if port else ''}/{self.parts.get('dbname', '')}"

    def without_secrets(self, error: psycopg.Error) -> str:
        """Return the words of an error in one line, without the passwords of the address."""
        told = " ".join(str(error).split())
        for name in SECRETS:
            secret = self.parts.get(name)
            for written in {secret, quote(secret), quote(secret, safe="")} if secret else ():
                told = told.replace(written, "***")
        return told
