"""`gridveil info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release")],
    registry: Annotated[bool, typer.Option("--registry", help="As YAML for OpenDP's deployments registry")] = False,  # noqa: FBT002  # a flag
) -> None:
    """Show the privacy label of a release in plain words."""
    from gridveil.release.label import describe  # noqa: PLC0415  # slow to import
    from gridveil.release.open import open_release  # noqa: PLC0415  # slow to import

    label = open_release(release).label
    if registry:
        import yaml  # noqa: PLC0415  # slow to import

        from gridveil.release.registry import to_registry  # noqa: PLC0415  # slow to import

        typer.echo(yaml.safe_dump(to_registry(label), sort_keys=False, allow_unicode=True))
        return
    for section in describe(label):
        typer.secho(section.heading, bold=True)
        for line in section.lines:
            typer.echo(f"  {line}")
