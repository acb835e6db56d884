"""`--help` of every command shows what its source says: Rich takes `[start]` in a help text for markup and drops it."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from gridveil.cli.main import app

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
