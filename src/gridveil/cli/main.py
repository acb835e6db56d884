"""The command `gridveil`. Commands import what they need when they run, so that help comes at once."""

from __future__ import annotations

import sys

import typer

from gridveil.cli import check, demo, info, mechanisms, plan, publish, query
from gridveil.errors import GridveilError

app = typer.Typer(
    name="gridveil",
    help="Publish household electricity consumption over space and time under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, check, plan, publish, query, info, mechanisms):
    app.command(command.__name__.rpartition(".")[2])(command.run)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 2 usage, 3 input, 4 budget."""
    try:
        app()
    except GridveilError as error:
        print(f"gridveil: {error}", file=sys.stderr)  # noqa: T201  # an error is told plainly
        sys.exit(error.exit_code)
