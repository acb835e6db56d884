"""`gridveil serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    releases: Annotated[list[Path], typer.Argument(help="Folders of releases, or of series")],
    port: Annotated[int, typer.Option(help="0: any free one", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in")] = "127.0.0.1",
    browse: Annotated[bool, typer.Option("--open", help="Open the map in a browser")] = False,
) -> None:
    """Show releases on a map in the browser, and answer questions over HTTP."""
    from gridveil.serve.served import open_all
    from gridveil.serve.start import serve

    serve(open_all(releases), host=host, port=port, say=typer.echo, browse=browse)
