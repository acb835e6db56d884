"""Every error has a stable code. One file holds the sentences, so that a change of wording is seen in one place.

`python -m tests.test_messages` writes that file anew.
"""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

from gridveil.model.errors import BudgetError, GridveilError, MissingExtraError, UsageError

SRC = Path(__file__).parents[1] / "src" / "gridveil"
KEPT = Path(__file__).with_name("messages.txt")
ERRORS = {"GridveilError", "UsageError", "InputError", "BudgetError"}


def messages() -> list[str]:
    """Return a line for every place where an error is made: its code, its class and its sentence as in the source."""
    lines: set[str] = set()
    for path in SRC.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for scope in ast.walk(tree):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                lines |= {_line(scope, node) for node in ast.walk(scope) if _is_error(node)}  # type: ignore[arg-type] # a call
    return sorted(lines)


def _is_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS


def _line(scope: ast.AST, call: ast.Call) -> str:
    (code,) = (keyword.value for keyword in call.keywords if keyword.arg == "code")
    sentence: ast.expr = call.args[0]
    if isinstance(sentence, ast.Name):
        made = [node for node in ast.walk(scope) if isinstance(node, ast.Assign) and node.lineno < call.lineno]
        named = [node for node in made if ast.unparse(node.targets[0]) == ast.unparse(sentence)]
        sentence = max(named, key=lambda node: node.lineno).value if named else sentence
    assert isinstance(code, ast.Constant), ast.unparse(call)
    return f"{code.value}  {call.func.id}  {ast.unparse(sentence)}"  # type: ignore[attr-defined] # a name


def test_the_kept_sentences_are_those_of_the_source() -> None:
    kept = KEPT.read_text("utf-8").splitlines()
    assert sorted(messages()) == kept, "look at the difference, then: python -m tests.test_messages"


def test_codes_are_short_names() -> None:
    codes = {line.split("  ")[0] for line in messages()}
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", code) for code in codes)
    assert max(map(len, codes)) <= 32


@pytest.mark.parametrize(
    "error", [UsageError("no", code="a-b"), BudgetError("x", code="c"), MissingExtraError("x", "y")]
)
def test_a_code_stays_with_its_error_in_another_process(error: GridveilError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (type(again), str(again), again.code) == (type(error), str(error), error.code)


if __name__ == "__main__":
    KEPT.write_text("".join(f"{line}\n" for line in messages()), "utf-8")
