"""The command `gridveil`. Commands import what they need when they run, so that help comes at once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

import gridveil
from gridveil.cli import ledger, publish, query, releases
from gridveil.model.errors import GridveilError

GROUP = "gridveil.commands"
"""Entry points of commands that the command line does not import: a function, or a Typer app with several."""

INTERRUPTED = 130
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": releases.demo,
    "convert": releases.convert,
    "check": publish.check,
    "plan": publish.plan,
    "publish": publish.publish,
    "verify": releases.verify,
    "query": query.query,
    "serve": releases.serve,
    "info": releases.info,
    "export": releases.export,
    "report": releases.report,
    "mechanisms": releases.mechanisms,
}
"""The function of each command, in the order of `--help`; `ledger` has several, and research adds its own."""

AFTER_INTERRUPT = {
    "publish": (
        "; a release is there whole or not at all, and if its epsilon was debited already that stays spent: "
        "see gridveil ledger show"
    ),
    "convert": "; the new folder is there whole or not at all",
    "export": "; a file is there whole or not at all",
    "report": "; the page is there whole or not at all",
    "bench": "; give the same command again to go on",
}
"""What holds after a command was interrupted, where there is something to add."""

app = typer.Typer(
    name="gridveil",
    help="Publish household electricity consumption over space and time under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, command in COMMANDS.items():
    app.command(name)(command)
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
        _print_error("\n".join([f"{error} [{error.code}]", *getattr(error, "__notes__", [])]))
        sys.exit(error.exit_code)
    except OSError as error:
        if error.strerror is None:
            raise  # not from the operating system, so not about a disk or rights
        _print_error(": ".join(str(part) for part in (error.filename, error.strerror) if part is not None))
        sys.exit(GridveilError.exit_code)
    except SystemExit as stopped:
        if stopped.code == INTERRUPTED:
            _print_error("interrupted" + AFTER_INTERRUPT.get(next(iter(sys.argv[1:]), ""), ""))
        raise


def _print_error(message: str) -> None:
    print(f"gridveil: {message}", file=sys.stderr)  # noqa: T201  # plain text, also in a log
