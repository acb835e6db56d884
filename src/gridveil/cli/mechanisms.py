"""`gridveil mechanisms`."""

from __future__ import annotations

import typer


def run() -> None:
    """List the mechanisms with their parameters (set one with --set NAME=VALUE)."""
    from gridveil.mechanisms.registry import defaults, names, summary

    for name in names():
        typer.secho(name, bold=True)
        typer.echo(f"  {summary(name)}")
        parameters = ", ".join(f"{key}={value}" for key, value in defaults(name).items())
        if parameters:
            typer.echo(f"  {parameters}")
