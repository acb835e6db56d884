"""Errors, warnings and statements of labels have stable codes; one file holds their sentences.

`python -m tests.test_messages` writes that file anew.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from gridveil.model.errors import BudgetError, GridveilError, MissingExtraError, UsageError
from gridveil.release.format.wording import CAVEATS, WORLDS
from gridveil.trusted.source.report import FAULTS

SRC = Path(__file__).parents[1] / "src" / "gridveil"
KEPT = Path(__file__).with_name("messages.txt")
TABLES: dict[str, Mapping[str, str]] = {"Caveat": CAVEATS, "Fault": FAULTS, "Worlds": WORLDS}  # type: ignore[dict-item]  # keys are literals
CODED = {"GridveilError", "UsageError", "InputError", "BudgetError", "GridveilWarning"}


def messages() -> list[str]:
    """Return a line for every error, warning and statement: its code, its kind and its sentence as in the source."""
    trees = (ast.parse(path.read_text("utf-8")) for path in SRC.rglob("*.py"))
    raised = {_line(tree, node) for tree in trees for node in ast.walk(tree) if _is_coded(node)}
    stated = {f"{code}  {kind}  {words!r}" for kind, table in TABLES.items() for code, words in table.items()}
    return sorted(raised | stated)


def _is_coded(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODED


def _line(tree: ast.AST, call: ast.Call) -> str:
    (code,) = (keyword.value for keyword in call.keywords if keyword.arg == "code")
    sentence: ast.expr = call.args[0]
    if isinstance(sentence, ast.Name):
        made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.lineno < call.lineno]
        named = [node for node in made if ast.unparse(node.targets[0]) == ast.unparse(sentence)]
        sentence = max(named, key=lambda node: node.lineno).value if named else sentence
    assert isinstance(code, ast.Constant), ast.unparse(call)
    return f"{code.value}  {call.func.id}  {ast.unparse(sentence)}"  # type: ignore[str-bytes-safe]  # a code is text


def test_the_kept_sentences_are_those_of_the_source() -> None:
    kept = KEPT.read_text("utf-8").splitlines()
    assert sorted(messages()) == kept, "look at the difference, then: python -m tests.test_messages"


def test_codes_are_short_names() -> None:
    codes = {line.split("  ")[0] for line in messages()} - WORLDS.keys()  # which the kernel names, in Python
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
