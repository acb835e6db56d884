"""Yardsticks are for the evaluation alone: nobody else imports them, and they never touch a kernel or a release."""

import ast
from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.mechanisms import registry as mechanisms
from gridveil.model.errors import UsageError
from gridveil.research import nonprivate as yardsticks

SRC = Path(__file__).parents[3] / "src" / "gridveil"
HOME = SRC / "research" / "nonprivate"


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_yardstick_has_words_and_is_no_mechanism() -> None:
    assert yardsticks.names() == list(mechanisms.COMPARISON_ONLY)
    assert not set(yardsticks.names()) & set(mechanisms.list_names())
    for name in yardsticks.names():
        assert isinstance(yardsticks.make(name), yardsticks.Yardstick)
        assert yardsticks.promise(name) == mechanisms.COMPARISON_ONLY[name].promise
        assert yardsticks.summary(name).endswith(".")
    with pytest.raises(UsageError, check=has_code("baseline-unknown", "'stpt'", "count-rule")):
        yardsticks.make("stpt")


def test_promises_say_that_they_are_weaker() -> None:
    for name in ("count-rule", "count-rule-5", "stpt-leaky"):
        assert yardsticks.promise(name).startswith("no guarantee")
    assert "single readings" in yardsticks.promise("markov-quilt")
    assert "weaker" in yardsticks.promise("markov-quilt")


def test_nothing_that_publishes_imports_a_yardstick() -> None:
    """The evaluation compares with them, and the audit attacks them."""
    for path in SRC.rglob("*.py"):
        if path.relative_to(SRC).parts[0] != "research":
            assert not any("nonprivate" in name for name in imported(path)), path


def test_a_yardstick_has_no_kernel_and_no_release() -> None:
    for path in HOME.glob("*.py"):
        forbidden = (
            "gridveil.trusted.kernel.kernel",
            "gridveil.trusted.kernel.session",
            "gridveil.release",
            "gridveil.publishing.run",
        )
        assert not any(name.startswith(forbidden) for name in imported(path)), path
