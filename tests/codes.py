"""Errors by their code, which is stable, instead of by their words, which may be corrected."""

from collections.abc import Callable

from gridveil.model.errors import GridveilError


def has_code(code: str, *named: str) -> Callable[[GridveilError], bool]:
    """Return a check for `pytest.raises`: the error has this code, and its message contains all of `named`.

    named: what a test is about: a figure, a file's or column's name; or, where several faults share one code, the few
    words that tell them apart.
    """

    def check(error: GridveilError) -> bool:
        assert error.code == code, f"not {code}, but {error.code}: {error}"
        missing = [name for name in named if name not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        return True

    return check
