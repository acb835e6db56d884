"""The interface of a ledger's store, and the high-water mark beside a ledger file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from gridveil.model.errors import GridveilError
from gridveil.trusted.ledger.chain import Chain, Head
from gridveil.trusted.ledger.entry import Entry, is_hash, is_name, to_canonical

# The high-water mark of a ledger file: its last entries, kept in a small file beside it.

VERSION = 1
SUFFIX = ".head"


class Mark:
    """The file `LEDGER.head`: number and hash of every population's last entry.

    Guarantee: no debit is granted before it, or a later one, is in this file, whole and on disk. So an older state of
    the ledger that comes back, be it by a journal that SQLite finds by its name, lacks an entry that the mark has. The
    mark may be behind the ledger (a process was killed between the two), never ahead.
    """

    def __init__(self, ledger: Path) -> None:
        self._ledger, self.path = ledger, ledger.with_name(ledger.name + SUFFIX)

    def read(self) -> dict[str, Head] | None:
        """Return the heads by population, or `None` if there is no file with them."""
        try:
            kept = json.loads(self.path.read_text(encoding="ascii"))
        except (OSError, ValueError, RecursionError):
            return None
        if not (isinstance(kept, dict) and kept.get("version") == VERSION and isinstance(kept.get("heads"), dict)):
            return None
        heads = kept["heads"]
        return {name: (head[0], head[1]) for name, head in heads.items()} if all(map(_is_head, heads.items())) else None

    def write(self, heads: Mapping[str, Head]) -> None:
        """Put these in place of what was kept, or raise `OSError`. Only for who has the ledger to itself."""
        aside = self.path.with_name(self.path.name + "-new")
        aside.unlink(missing_ok=True)  # of a process that was killed
        ledger = self._ledger.stat()
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123  # of a handle
            with suppress(OSError):  # who may use the ledger may use its mark, as far as we can give leave
                os.chown(handle, -1, ledger.st_gid)
            os.fchmod(handle, ledger.st_mode & 0o777)
            file.write(to_canonical({"version": VERSION, "heads": {name: list(head) for name, head in heads.items()}}))
            file.flush()
            os.fsync(handle)
        aside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_head(item: tuple[object, object]) -> bool:
    name, head = item
    if not (is_name(name) and isinstance(head, list) and len(head) == len(("number", "hash"))):
        return False
    return type(head[0]) is int and is_hash(head[1])


class Store(Protocol):
    """Keeps chains.

    Required of an implementation, because the ledger's guarantee rests on it: `append` calls `make` while nothing else
    can append, with all that was appended before, and when it returns the entry is on disk; if `make` raises nothing
    is written.
    """

    @property
    def where(self) -> str:
        """Where it is, fit to be shown: no password."""

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""

    def faults(self) -> list[str]:
        """Return what is wrong with the store itself, in plain words."""


def make_unsure_error(where: str, entry: Entry) -> GridveilError:
    """Return what to say if nobody knows whether an entry was kept."""
    return GridveilError(
        f"{where}: writing ended in an error, and whether the {entry.kind} {entry.hash[:12]} was kept is not known. "
        "Nothing was released. Take it as spent until `gridveil ledger show` says otherwise",
        code="ledger-unsure",
    )
