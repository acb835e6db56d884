"""Plants a mistake in an expression or statement of the real code, and asks the guard of that code whether it objects.

A guard is a test of `make test`, run here as it is run there (a property: on an example that it always tries), so that
what is caught here would have been caught there.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

Fault = Callable[[pytest.MonkeyPatch], None]


def mistake(owner: Any, name: str, right: str, wrong: str, *, also: tuple[Any, ...] = ()) -> Fault:
    """Return the fault of `wrong` being written instead of `right` in a function or method of `owner`.

    right, wrong: see `replace_node`.
    also: modules that have the function under its name, too, because they imported it.
    """

    def plant(patched: pytest.MonkeyPatch) -> None:
        function = vars(owner)[name]
        tree = replace_node(textwrap.dedent(inspect.getsource(function)), right, wrong)
        code = compile(tree, f"<{name} with a fault>", "exec", __future__.annotations.compiler_flag)
        made: dict[str, Any] = {}
        exec(code, function.__globals__, made)  # noqa: S102  # the project's own source, but for the fault
        for place in (owner, *also):
            patched.setattr(place, name, made[name])

    return plant


def replace_node(source: str, right: str, wrong: str) -> ast.Module:
    """Return source with `wrong` instead of its one expression or statement that says `right`.

    They are compared as syntax: layout, quotes, brackets and comments do not matter.
    right, wrong: an expression each; or a statement, and one or more instead of it.
    """
    old, new = ast.parse(right).body, ast.parse(wrong).body
    [said] = old
    if all(isinstance(statement, ast.Expr) for statement in (*old, *new)) and len(new) == 1:
        swap = _Swap(ast.expr, ast.unparse(said), ast.parse(wrong, mode="eval").body)
    else:
        swap = _Swap(ast.stmt, ast.unparse(said), new)
    tree = swap.visit(ast.parse(source))
    assert swap.found == 1, f"there are {swap.found} places to plant a fault in, not one: {right}"
    return ast.fix_missing_locations(tree)


class _Swap(ast.NodeTransformer):
    """Puts `new` in the place of every node of a kind that reads as `old`."""

    def __init__(self, kind: type[ast.AST], old: str, new: Any) -> None:
        self.kind, self.old, self.new, self.found = kind, old, new, 0

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, self.kind) and ast.unparse(node) == self.old:
            self.found += 1
            return self.new
        return self.generic_visit(node)


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


def always_tried(guard: Any, example: dict[str, Any], *arguments: Any) -> Callable[[], None]:
    """Return a property's body on an example, which must be one that the property has by name."""
    tried = [explicit.kwargs for explicit in guard.hypothesis_explicit_examples]
    assert any(all(known.get(name) is value for name, value in example.items()) for known in tried)
    return partial(guard.hypothesis.inner_test, *arguments, **example)
