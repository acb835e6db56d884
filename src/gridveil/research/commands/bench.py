"""`gridveil bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import GridveilError, UsageError
from gridveil.research.commands import require_libraries

MAX_SHOWN = 10
"""Failures that are listed."""

app = typer.Typer(help="Run published experiments again. NOT PRIVATE: they look at true values.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Run published experiments again. NOT PRIVATE: they look at true values."""


@app.command()
def paper(
    out: Annotated[Path, typer.Option(help="Folder for trials, tables and figures")],
    quick: Annotated[bool, typer.Option("--quick", help="A look in minutes: one repeat, fewer settings")] = False,
    data: Annotated[str | None, typer.Option(help="lcl=PATH: the full London extract, not the sample")] = None,
    points: Annotated[
        Path | None, typer.Option(help="Table with x, y (or lon, lat) and weights: London placed by density too")
    ] = None,
    weight: Annotated[str, typer.Option(help="The column of --points that has the weights")] = "weight",
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing: tables and figures of what --out has by now")
    ] = False,
) -> None:
    """Run every experiment of the STPT paper's section 5 again: hours in full.

    A run that is stopped goes on where it was when it is started again with the same --out. Tables (CSV) and figures
    are written to OUT/reproduction at the end; in a full run after every stage.
    """
    require_libraries("bench")
    from gridveil.cli import show
    from gridveil.research.compare.compare import NOT_PRIVATE
    from gridveil.research.datasets.london import read_density
    from gridveil.research.paper.experiments import FULL, QUICK, make_stages
    from gridveil.research.paper.run import read_results, run_stages, write_results
    from gridveil.research.paper.trials import PaperTowns

    towns = PaperTowns(_parse_data(data), str(points.absolute()) if points else None, weight)
    if towns.points:
        read_density(towns.points, weight)  # fails now, not after an hour
    size = QUICK if quick else FULL
    stages, folder = make_stages(size, towns), out / "reproduction"

    def write() -> None:
        write_results(read_results(stages, out), size, folder)

    def wait() -> None:
        """Leave the results of a run that takes minutes to its end."""

    show.operator.print(NOT_PRIVATE, style="bold red")
    before = read_results(stages, out)
    show.operator.print(f"{before.done:,} of {before.total:,} trials are done.")
    failures = []
    if not report_only:
        with show.bars() as tell:
            failures = run_stages(stages, towns, out, tell, after=wait if quick else write)
    elif not before.done:
        msg = f"--report-only: {out} has no trials to report on; run without it first"
        raise UsageError(msg, code="no-trials")
    write()
    if failures:
        lines = "\n".join(f"  {failure}" for failure in failures[:MAX_SHOWN])
        msg = f"{len(failures)} trials failed, and the tables are without them; the first are\n{lines}"
        raise GridveilError(msg, code="trials-failed")
    show.out.print(f"Wrote tables and figures to {folder}")


def _parse_data(data: str | None) -> str | None:
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
