"""`gridveil export`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.release.export.registry import EXPORTERS

if TYPE_CHECKING:
    from gridveil.model.progress import Progress

SOON = 2.0
"""Seconds after which a bar is shown."""


def run(
    release: Annotated[Path, typer.Argument(help="The folder of a release, or of a series")],
    to: Annotated[str, typer.Option(help=", ".join(EXPORTERS.names()))],
    out: Annotated[Path, typer.Option(help="A new file; for zarr a new folder")],
) -> None:
    """Write a release with its error bars as a table or a map that other programs open."""
    from gridveil.cli import show
    from gridveil.release.export import export
    from gridveil.release.format.wording import NOT_PRIVATE_WHY
    from gridveil.release.query.open import open_release

    opened = open_release(release)
    show.note(opened.label)
    with _late_bar() as tell:
        written = export(opened, out, to, tell)
    for path in written:
        show.out.print(f"Wrote {path}")
    if not opened.label.private:
        show.out.print(NOT_PRIVATE_WHY)


@contextmanager
def _late_bar() -> Iterator[Progress]:
    """Show a bar for what takes a while, and nothing for what does not."""
    from gridveil.cli import show

    begun = monotonic()
    shown: list[Progress] = []
    with ExitStack() as stack:

        def tell(stage: str, done: float) -> None:
            if not shown and monotonic() - begun > SOON:
                shown.append(stack.enter_context(show.bars()))
            for bar in shown:
                bar(stage, done)

        yield tell
