"""Baselines are for the evaluation alone: nobody else imports them, and they never touch a kernel or a release."""

import ast
from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.mechanisms import base as mechanisms
from gridveil.model.errors import UsageError
from gridveil.research import nonprivate

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


def test_every_baseline_has_words_and_is_no_mechanism() -> None:
    assert nonprivate.list_names() == list(mechanisms.COMPARISON_ONLY)
    assert not set(nonprivate.list_names()) & set(mechanisms.list_names())
    for name in nonprivate.list_names():
        assert isinstance(nonprivate.make(name), nonprivate.Baseline)
        assert nonprivate.make(name).promise == mechanisms.COMPARISON_ONLY[name].promise
        assert mechanisms.COMPARISON_ONLY[name].summary.endswith(".")
    with pytest.raises(UsageError, check=has_code("baseline-unknown", "'stpt'", "count-rule")):
        nonprivate.make("stpt")


def test_promises_say_that_they_are_weaker() -> None:
    for name in ("count-rule", "count-rule-5", "stpt-leaky"):
        assert nonprivate.make(name).promise.startswith("no guarantee")
    assert "single readings" in nonprivate.make("markov-quilt").promise
    assert "weaker" in nonprivate.make("markov-quilt").promise


def test_nothing_that_publishes_imports_a_baseline() -> None:
    """The evaluation compares with them, and the audit attacks them."""
    for path in SRC.rglob("*.py"):
        if path.relative_to(SRC).parts[0] != "research":
            assert not any("nonprivate" in name for name in imported(path)), path


def test_a_baseline_has_no_kernel_and_no_release() -> None:
    for path in HOME.glob("*.py"):
        forbidden = (
            "gridveil.trusted.kernel.kernel",
            "gridveil.trusted.kernel.session",
            "gridveil.release",
            "gridveil.publishing.run",
        )
        assert not any(name.startswith(forbidden) for name in imported(path)), path
