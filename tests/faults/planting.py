"""Plants a mistake in a line of the real code, and asks the guard of that code whether it objects.

A guard is a test of `make test`, run here as it is run there: what is caught here would have been caught there.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

Fault = Callable[[pytest.MonkeyPatch], None]

EXAMPLES = 30
"""Random examples in which a property must find a fault: no guard has fewer."""


def mistake(owner: Any, name: str, right: str, wrong: str, *, also: tuple[Any, ...] = ()) -> Fault:
    """Return the fault of `wrong` being written instead of `right` in the source of a function or method of `owner`.

    also: modules that have the function under its name, too, because they imported it.
    """

    def plant(patched: pytest.MonkeyPatch) -> None:
        function = vars(owner)[name]
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(right) == 1, f"{name} has no such line any more to plant a fault in: {right}"
        wrong_source = source.replace(right, wrong)
        code = compile(wrong_source, f"<{name} with a fault>", "exec", __future__.annotations.compiler_flag)
        made: dict[str, Any] = {}
        exec(code, function.__globals__, made)  # noqa: S102  # the project's own source, but for the fault
        for place in (owner, *also):
            patched.setattr(place, name, made[name])

    return plant


def check_caught(guard: Callable[[], Any], *faults: Fault, by: Any = AssertionError) -> None:
    """Fail unless the guard is silent on the code as it is, and objects to each of the faults."""
    guard()
    check_objects(guard, *faults, by=by)


def check_objects(guard: Callable[[], Any], *faults: Fault, by: Any = AssertionError) -> None:
    """Fail unless the guard, which is known to be silent on the code as it is, objects to each of the faults.

    by: how it objects. What a fault makes the code raise goes through a guard that wants something else to be raised.
    """
    for fault in faults:
        with planted(fault), pytest.raises(by):
            guard()


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Plant a fault for a while."""
    with pytest.MonkeyPatch.context() as patched:
        fault(patched)
        yield


def searched(guard: Any, examples: dict[str, st.SearchStrategy[Any]], **fixed: Any) -> Callable[[], None]:
    """Return a property as a guard: its own examples, tried on its own body.

    The same examples each time, so that no chance decides whether a fault is found. None that is found is kept, or the
    next run of the real property would begin with it; and none is made small, which takes time.
    """
    tried = settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=[Phase.generate])

    @tried
    @given(example=st.fixed_dictionaries(examples))
    def run(example: dict[str, Any]) -> None:
        guard.hypothesis.inner_test(**example, **fixed)

    return run
