"""`gridveil mechanisms`."""

from __future__ import annotations

import typer


def run() -> None:
    """List the mechanisms with their parameters (set one with --set NAME=VALUE), then methods for comparison only."""
    from gridveil.mechanisms.registry import COMPARISON_ONLY, defaults, names, summary

    for name in names():
        typer.secho(name, bold=True)
        typer.echo(f"  {summary(name)}")
        parameters = ", ".join(f"{key}={value}" for key, value in defaults(name).items())
        if parameters:
            typer.echo(f"  {parameters}")
    typer.echo("\nFor comparison only (`gridveil compare`); a publication with one of these is refused:\n")
    for name, words in COMPARISON_ONLY.items():
        typer.secho(name, bold=True)
        typer.echo(f"  {words.summary}")
        typer.echo(f"  promise: {words.promise}")
