"""Parts by name: a table of those in the package, and entry points of those that third parties add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, cast

from gridveil.model.errors import UsageError

PartT = TypeVar("PartT")


@dataclass(frozen=True)
class Registry(Generic[PartT]):
    """All parts of one kind. A third party cannot take the name of a part of the package.

    kind: what one is called in an error.
    group: entry points of this group are parts, too.
    built_in: where each part of the package is, `module:attribute`. It is imported when it is loaded.
    """

    kind: str
    group: str
    built_in: Mapping[str, str]

    def names(self) -> list[str]:
        """Return all names, those of the package first."""
        others = {entry.name for entry in entry_points(group=self.group)}
        return [*self.built_in, *sorted(others - self.built_in.keys())]

    def load(self, name: str) -> PartT:
        """Return the part of that name."""
        if name in self.built_in:
            return cast("PartT", EntryPoint(name, self.built_in[name], self.group).load())
        for entry in entry_points(group=self.group):
            if entry.name == name:
                return cast("PartT", entry.load())
        msg = f"there is no {self.kind} {name!r}; there are: {', '.join(self.names())}"
        raise UsageError(msg, code="name-unknown")
