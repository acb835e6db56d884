"""`gridveil bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import GridveilError, UsageError
from gridveil.research.commands import require_libraries

MOST_TOLD = 10
"""Failures that are shown in words."""

app = typer.Typer(help="Run published experiments again. NOT PRIVATE: they look at true values.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Run published experiments again. NOT PRIVATE: they look at true values."""


@app.command()
def paper(
    out: Annotated[Path, typer.Option(help="Folder for trials, figures, numbers and the report")],
    quick: Annotated[bool, typer.Option("--quick", help="A look in minutes: one repeat, fewer settings")] = False,
    data: Annotated[str | None, typer.Option(help="lcl=PATH: the full London extract, not the sample")] = None,
    points: Annotated[
        Path | None, typer.Option(help="Table with x, y (or lon, lat) and weights: London placed by density too")
    ] = None,
    weight: Annotated[str, typer.Option(help="The column of --points that has the weights")] = "weight",
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: report on what --out has by now")
    ] = False,
) -> None:
    """Regenerate every experiment of the STPT paper's section 5, and the report on them.

    A run that is stopped goes on where it was when it is started again with the same --out. The report,
    OUT/reproduction.md with the files in OUT/reproduction, is made at the end; in a full run after every stage.
    """
    require_libraries("bench")
    from gridveil.cli import show
    from gridveil.research.commands.time_bar import time_bar
    from gridveil.research.compare.compare import NOT_PRIVATE
    from gridveil.research.paper.experiments import FULL, QUICK
    from gridveil.research.paper.report import write_report
    from gridveil.research.paper.run import estimate, read_results, run_stages
    from gridveil.research.paper.stages import stages
    from gridveil.research.paper.towns import PaperTowns, read_density

    towns = PaperTowns(_lcl(data), str(points.absolute()) if points else None, weight)
    if points is not None:
        read_density(towns)  # what is wrong with it is told now, not after an hour
    size = QUICK if quick else FULL
    todo = stages(size, towns)

    def nothing() -> None:
        """Leave the report of a run that takes minutes to its end."""

    def write() -> None:
        write_report(read_results(todo, out), size, towns, out)

    show.operator.print(NOT_PRIVATE, style="bold red")
    at = estimate(todo, out)
    if report_only:
        if not at.done:
            msg = f"--report-only: {out} has no trials to report on; run without it first"
            raise UsageError(msg, code="no-trials")
        write()
    else:
        left = (at.seconds - at.seconds_done) / 60
        show.operator.print(
            f"{at.done:,} of {at.total:,} trials are done; the others may take {left:,.0f} minutes here."
        )
        with time_bar() as tell:
            failures = run_stages(todo, towns, out, tell, after=nothing if quick else write)
        write()
        if failures:
            lines = "\n".join(f"  {failure}" for failure in failures[:MOST_TOLD])
            msg = f"{len(failures)} trials failed, and the report is without them; the first are\n{lines}"
            raise GridveilError(msg, code="trials-failed")
    show.out.print(f"Wrote {out / 'reproduction.md'}, and figures and numbers to {out / 'reproduction'}")


def _lcl(data: str | None) -> str | None:
    if data is None:
        return None
    name, _, path = data.partition("=")
    if name != "lcl" or not path:
        msg = f"--data {data}: give lcl=PATH, a Parquet file with household, timestamp and kwh"
        raise UsageError(msg, code="data-syntax")
    if not Path(path).exists():
        msg = f"--data {data}: there is no such file"
        raise UsageError(msg, code="file-missing")
    return str(Path(path).absolute())
