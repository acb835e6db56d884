"""`gridveil demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import UsageError


def run(
    out: Annotated[Path, typer.Option(help="Folder for town, releases and report")] = Path("gridveil-demo"),
    browse: Annotated[bool, typer.Option("--open", help="Open the map in a browser when done")] = False,
) -> None:
    """Invent a town, publish it with the default mechanism and with `even`, and show both beside the truth."""
    from gridveil.cli import show
    from gridveil.simulate.demo import EPSILON, run_demo

    if out.exists():
        msg = f"{out}: already there, and never overwritten; give another --out"
        raise UsageError(msg, code="out-exists")
    with show.bars() as tell:
        releases = run_demo(out, tell)
    first = next(iter(releases.values()))
    show.out.print(f"\nA town of 5,000 invented households was published at epsilon {EPSILON}.")
    show.out.print(f"Look:    {out / 'report.html'} (open it in a browser)")
    evening = "2013-02-04T18:00/2013-02-04T21:00"
    show.out.print(f"Ask:     {show.command('query', first, '--x', '8:16', '--y', '8:16', '--time', evening)}")
    show.out.print(f"Read:    {show.command('info', first)}")
    show.out.print(f"Explore: {show.command('serve', first, '--open')}")
    if browse:
        from gridveil.cli import serve

        serve.run([first], port=0, browse=True)
