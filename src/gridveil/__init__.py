"""Publish household electricity consumption over space and time under differential privacy.

>>> import gridveil
>>> answer = gridveil.open("release").query(x=(0, 10), y=(0, 10))  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridveil.publishing.next_release import publish_next
    from gridveil.publishing.run import publish
    from gridveil.release.query.open import open_for_python as open  # noqa: A004  # reads well as gridveil.open

__all__ = ["open", "publish", "publish_next"]

_PLACES = {
    "open": ("gridveil.release.query.open", "open_for_python"),
    "publish": ("gridveil.publishing.run", "publish"),
    "publish_next": ("gridveil.publishing.next_release", "publish_next"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # what is asked for
    """Import on first use: reading a release needs none of what publishing one does."""
    if name == "__version__":
        return version("gridveil")
    if name not in _PLACES:
        msg = f"module 'gridveil' has no attribute {name!r}"
        raise AttributeError(msg)
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
