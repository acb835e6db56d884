"""The command `gridveil`. Commands import what they need when they run, so that help comes at once."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

import gridveil
from gridveil.cli import (
    check,
    convert,
    demo,
    export,
    info,
    ledger,
    mechanisms,
    plan,
    publish,
    query,
    report,
    serve,
    verify,
)
from gridveil.model.errors import GridveilError

GROUP = "gridveil.commands"
"""Entry points of commands that the command line does not import: a function, or a Typer app with several."""

INTERRUPTED = 130
AFTER = {
    "publish": (
        "; a release is there whole or not at all, and if its epsilon was debited already that stays spent: "
        "see gridveil ledger show"
    ),
    "convert": "; the new folder is there whole or not at all",
    "export": "; a file is there whole or not at all",
    "report": "; the page is there whole or not at all",
    "bench": "; give the same command again to go on",
}
"""What is true after a command was interrupted, by command; of the others there is nothing to say."""

app = typer.Typer(
    name="gridveil",
    help="Publish household electricity consumption over space and time under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, convert, check, plan, publish, verify, query, serve, info, export, report, mechanisms):
    app.command(command.__name__.rpartition(".")[2])(command.run)
app.add_typer(ledger.app, name="ledger")
for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
    added = entry.load()
    if isinstance(added, typer.Typer):
        app.add_typer(added, name=entry.name)
    else:
        app.command(entry.name)(added)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"gridveil {gridveil.__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Publish household electricity consumption over space and time under differential privacy."""
    del version


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 a disk or server, 2 usage, 3 input, 4 budget, 130 interrupted."""
    try:
        app()
    except GridveilError as error:
        _tell("\n".join([f"{error} [{error.code}]", *getattr(error, "__notes__", [])]))
        sys.exit(error.exit_code)
    except OSError as error:
        if error.strerror is None:
            raise  # not the system's, so no matter of disks and rights
        _tell(": ".join(str(part) for part in (error.filename, error.strerror) if part is not None))
        sys.exit(GridveilError.exit_code)
    except SystemExit as stopped:
        if stopped.code == INTERRUPTED:
            _tell("interrupted" + AFTER.get(next(iter(sys.argv[1:]), ""), ""))
        raise


def _tell(message: str) -> None:
    print(f"gridveil: {message}", file=sys.stderr)  # noqa: T201  # an error is told plainly
