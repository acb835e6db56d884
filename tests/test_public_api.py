"""The public API: its names, what they say of themselves, and what using them imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from tests.leak import town

import gridveil
from gridveil.publishing.run import run
from gridveil.simulate.sources import Tape

SLOW = ["torch", "ibis", "duckdb", "xarray", "matplotlib", "scipy", "opendp", "pandas"]


def test_names_are_those_that_a_type_checker_sees() -> None:
    tree = ast.parse(inspect.getsource(gridveil))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    named = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    found = {name: getattr(gridveil, name) for name in gridveil.__all__}
    assert {name: f"{it.__module__}.{it.__qualname__}" for name, it in found.items()} == named


@pytest.mark.parametrize("name", gridveil.__all__)
def test_every_name_says_what_it_is(name: str) -> None:
    public = getattr(gridveil, name)
    own = vars(public)["__doc__"] if inspect.isclass(public) else public.__doc__
    assert own
    assert not own.startswith(f"{name}(")  # what a dataclass says of itself
    if inspect.isfunction(public):
        hints = inspect.get_annotations(public)
        assert {*inspect.signature(public).parameters, "return"} == set(hints)


def test_what_is_not_public_is_not_there() -> None:
    assert dir(gridveil) == sorted([*gridveil.__all__, "__version__"])
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gridveil.nothing  # noqa: B018  # asked for


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    return tmp_path / "a"


def test_a_recipient_imports_nothing_slow(folder: Path) -> None:
    run(gridveil.Spec(**town.settings("identity")), noise=Tape.record(seed=6))
    code = f"""
import sys
from gridveil import Area, BudgetError, Estimate, Grid, GridveilError, Label, Mechanism, Window, open
release = open("release")
release.query(x=(0, 2)), release.query(area=Area.box(release.grid))
print([name for name in {SLOW} if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.usefixtures("folder")
def test_check_returns_what_publish_would_drop() -> None:
    settings = {name: value for name, value in town.settings("even").items() if name not in {"epsilon", "out"}}
    report = gridveil.check(**settings)
    assert isinstance(report, gridveil.Report)
    assert report == gridveil.check(gridveil.Spec(**settings))
    published = gridveil.publish(gridveil.Spec(**town.settings("even")), title="Town")
    assert published.report == report
    assert published.label.title == "Town"
    assert {check.verdict for check in gridveil.verify("release")} == {"ok", "not checked"}
    assert gridveil.export(gridveil.open("release"), "r.csv", "csv")[0] == Path("r.csv")


def test_plan_returns_an_outlook_without_tables() -> None:
    settings = {name: value for name, value in town.settings("even").items() if name not in {"readings", "households"}}
    outlook = gridveil.plan(expect=20, seconds=1e-9, **settings)
    assert isinstance(outlook, gridveil.Outlook)
    assert outlook.households == 20
    with pytest.raises(gridveil.BudgetError):
        gridveil.plan(**{**settings, "epsilon": 99})
