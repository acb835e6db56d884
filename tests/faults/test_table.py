"""docs/planted-faults.md lists what is planted and what guards the real code, and nothing else."""

import ast
from pathlib import Path

import pytest
from tests.faults.planting import replace_node
from tests.faults.test_audit import FAULTS

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
SILENT = {"test_the_guard_is_silent_on_the_code_as_it_is", "test_the_audit_is_silent_on_the_code_as_it_is"}


def rows() -> list[tuple[str, str, str]]:
    """The guard, the test that plants, and the audit's name of the fault, of every row."""
    lines = (ROOT / "docs" / "planted-faults.md").read_text().splitlines()
    cells = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return [(guard, planted, audit) for _, _, guard, planted, audit in cells[1:]]


def named_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_planted_fault_is_listed_and_only_those() -> None:
    files = [path for path in HERE.glob("test_*.py") if path != Path(__file__)]
    planted = {f"{path.name}::{name}" for path in files for name in named_in(path) - SILENT}
    assert {planted for _, planted, _ in rows()} == planted
    assert {audit for *_, audit in rows() if audit} == set(FAULTS)


def test_every_guard_is_a_test_of_the_real_code_that_the_planted_fault_meets() -> None:
    for guard, planted, _ in rows():
        path, name = guard.split("::")
        assert name in named_in(ROOT / path)
        assert name in (HERE / planted.split("::")[0]).read_text()


def test_guards_run_whenever_the_tests_are_run() -> None:
    """None is skipped, marked or left to `make test-long`."""
    for path, name in {tuple(guard.split("::")) for guard, *_ in rows()}:
        tree = ast.parse((ROOT / path).read_text())
        (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
        told = " ".join(ast.unparse(decorator) for decorator in found.decorator_list)
        assert not any(word in told for word in ("skip", "xfail", "long"))


@pytest.mark.parametrize(
    ("right", "wrong", "planted"),
    [
        ("f(a,   'b') # call", "f(a) + 1", "x = (f(a) + 1) * 2\ny = a\ny = a"),
        ("x = f(a, 'b') * 2", "x = 1; del a", "x = 1\ndel a\ny = a\ny = a"),
    ],
)
def test_a_fault_is_planted_whatever_the_layout(right: str, wrong: str, planted: str) -> None:
    source = 'x = (  # why\n    f(a,\n      "b")\n    * 2\n)\ny = a; y = a'
    assert ast.unparse(replace_node(source, right, wrong)) == planted


@pytest.mark.parametrize("right", ["g(a)", "y = a", "a"])
def test_a_fault_needs_one_place_and_just_one(right: str) -> None:
    with pytest.raises(AssertionError, match="not one"):
        replace_node("x = f(a)\ny = a\ny = a", right, "pass")
