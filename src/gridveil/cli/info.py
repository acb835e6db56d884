"""`gridveil info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or of a series")],
    registry: Annotated[
        bool, typer.Option("--registry", help="For OpenDP's deployments registry: JSON, which is YAML")
    ] = False,
) -> None:
    """Show the privacy label of a release in plain words."""
    from gridveil.release.format.label import describe
    from gridveil.release.query.open import open_runs

    labels = [opened.label for opened in open_runs(release)]
    if registry:
        import json

        from gridveil.release.format.registry import to_registry

        records = (json.dumps(to_registry(label), indent=2, ensure_ascii=False) for label in labels)
        typer.echo("\n---\n".join(records))  # documents of one YAML stream
        return
    for section in (section for label in labels for section in describe(label)):
        typer.secho(section.heading, bold=True)
        for line in section.lines:
            typer.echo(f"  {line}")
