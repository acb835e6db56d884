"""`--help` shows every default that the source states, and no text that users see points to files they do not have.

Rich takes `[start]` in a help text for markup and drops it. An installed package has no `docs/`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import gridveil
from gridveil.cli.main import app

SRC = Path(gridveil.__file__).parent
PAGE = re.compile(r"docs/[\w/.-]*\.md")
BRACKETS = re.compile(r"\[[^\]]+\]")
WIDE = {"COLUMNS": "400"}
"""So wide that no line is wrapped."""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give every command and group below one, with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def hidden_parts(program: typer.Typer, path: tuple[str, ...], command: Any) -> list[str]:
    """Return what a command's source has in brackets, or states as a default, and its `--help` does not show."""
    done = CliRunner().invoke(program, [*path, "--help"], env=WIDE)
    assert done.exit_code == 0, done.output
    texts = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
    stated = [getattr(parameter, "show_default", None) for parameter in command.params]
    parts = [part for text in texts if text for part in BRACKETS.findall(text)]
    parts += [f"[default: ({default})]" for default in stated if isinstance(default, str)]
    return [part for part in dict.fromkeys(parts) if done.output.count(part) < parts.count(part)]


ALL = dict(commands(get_command(app)))


def test_every_command_is_looked_at() -> None:
    assert {(), ("publish",), ("query",), ("ledger", "show"), ("bench", "paper"), ("compare",)} <= ALL.keys()


@pytest.mark.parametrize("path", ALL, ids=lambda path: " ".join(path) or "gridveil")
def test_help_shows_every_default_that_the_source_states(path: tuple[str, ...]) -> None:
    assert not hidden_parts(app, path, ALL[path])


def test_a_default_that_rich_drops_is_found() -> None:
    program = typer.Typer()

    @program.command()
    def run(
        eaten: Annotated[str | None, typer.Option(help="Start or end [start]")] = None,
        shown: Annotated[str | None, typer.Option(help="Start or end", show_default="start")] = None,
    ) -> None:
        """Run [softly]."""

    assert hidden_parts(program, (), get_command(program)) == ["[softly]", "[start]"]


def pages_named(source: str) -> list[str]:
    """Return the pages of `docs/` that strings of a module name; its docstring, which nobody is shown, may."""
    tree = ast.parse(source)
    if ast.get_docstring(tree) is not None:
        del tree.body[0]
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [page for text in texts for page in PAGE.findall(text)]


def test_no_message_points_to_a_page_that_no_wheel_has() -> None:
    files = [path for path in SRC.rglob("*.py") if "research" not in path.relative_to(SRC).parts]
    assert len(files) > 100
    assert {
        str(path.relative_to(SRC)): named for path in files if (named := pages_named(path.read_text("utf-8")))
    } == {}


@pytest.mark.parametrize("path", ALL, ids=lambda path: " ".join(path) or "gridveil")
def test_help_points_to_no_page_that_no_wheel_has(path: tuple[str, ...]) -> None:
    assert "docs/" not in CliRunner().invoke(app, [*path, "--help"], env=WIDE).output


def test_a_page_is_found_in_docstrings_and_messages_but_not_in_that_of_a_module() -> None:
    source = """
"See docs/module.md."
# docs/comment.md
def f(x):
    "See docs/function.md."
    return f"{x}: wrong " f"(docs/in-parts.md, {x})"
"""
    assert pages_named(source) == ["docs/function.md", "docs/in-parts.md"]
