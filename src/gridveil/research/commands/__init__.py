"""The commands of research; they register themselves with the command line."""

from importlib.util import find_spec

from gridveil.model.errors import MissingExtraError

LIBRARIES = ("pandas", "scipy")


def require_libraries(command: str) -> None:
    """Refuse to begin without the libraries of the extra `research`, rather than to fail after an hour."""
    if not all(map(find_spec, LIBRARIES)):
        what = f"gridveil {command}"
        raise MissingExtraError(what, "research")
