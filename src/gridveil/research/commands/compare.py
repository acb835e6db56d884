"""`gridveil compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.cli import options as o
from gridveil.model.errors import GridveilError, UsageError
from gridveil.research.commands import require_libraries

if TYPE_CHECKING:
    from gridveil.research.compare.study import Study
    from gridveil.research.compare.trial import Trial

COMPARISON = "Comparison"
WIDE = 200
"""Columns of tables that go to a file."""

PARTIAL = ".partial.jsonl"
AGAIN = "interrupted; give the same command again to go on"
NOT_KEPT = "interrupted; nothing was kept (with --json FILE, the same command given again would go on)"


class Interrupted(GridveilError):  # noqa: N818  # no error, but reported and ended as one
    """The operator has stopped a comparison."""

    exit_code = 130


@o.takes(o.TABLES, o.GRID, o.TIME, o.BOUNDS)
def run(
    *,
    source: o.Source = None,
    spec: Annotated[Path | None, typer.Option(help="A spec (.toml)", rich_help_panel="Tables")] = None,
    flags: o.Flags,
    bound: Annotated[
        str | None,
        typer.Option(
            help="auto: choose the bound on the total privately, with part of epsilon", rich_help_panel="Privacy"
        ),
    ] = None,
    mechanisms: Annotated[
        str, typer.Option(help="Names with commas between; NAME:PARAMETER=VALUE", rich_help_panel=COMPARISON)
    ] = "all",
    epsilon: Annotated[str, typer.Option(help="Budgets", rich_help_panel=COMPARISON)] = "1,3,10,30",
    repeats: Annotated[int, typer.Option(help="Of each trial, with fresh noise", rich_help_panel=COMPARISON)] = 10,
    clip: Annotated[
        float | None,
        typer.Option(help="Cut readings at so many kWh in the clipped truth", rich_help_panel=COMPARISON),
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option(help="Another one: 4x4x24, or authors", rich_help_panel=COMPARISON)
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(help="Draw places: uniform, normal, one-per-cell or density", rich_help_panel=COMPARISON),
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="Of density: x, y (or lon, lat) and weight", rich_help_panel=COMPARISON)
    ] = None,
    weight: Annotated[
        str, typer.Option(help="The column of --points that has the weights", rich_help_panel=COMPARISON)
    ] = "weight",
    json: Annotated[Path | None, typer.Option(help="All records, a new file")] = None,
    figure: Annotated[Path | None, typer.Option(help="Picture, a new .png, .svg or .pdf file")] = None,
) -> None:
    """Compare mechanisms on the same data: which is closest to the truth, at which epsilon. NOT PRIVATE.

    Takes the tables, grid, time and bounds of `publish`; with both --bound-window and --bound auto, both are tried.
    A comparison that is stopped goes on where it was when it is asked again with the same --json.
    """
    require_libraries("compare")
    from rich.console import Console

    from gridveil.cli import show
    from gridveil.model.files import check_new, write_new
    from gridveil.research.compare.compare import NOT_PRIVATE, ComparisonQuestion, all_methods, as_json, compare
    from gridveil.research.compare.results import as_text, notes, on_screen
    from gridveil.research.compare.study import count_trials

    question = ComparisonQuestion(
        mechanisms=tuple(all_methods() if mechanisms == "all" else dict.fromkeys(_split(mechanisms))),
        epsilons=tuple(_numbers(epsilon)),
        repeats=repeats,
        placement=placement,
        points=points,
        weight=weight,
        clip=clip,
        workloads=tuple(workload or ()),
    )
    text = json.with_suffix(".txt") if json else None
    if json is not None and json == text:
        msg = f"--json {json}: the tables are written beside it as .txt; give a name that ends in .json"
        raise UsageError(msg, code="json-name")
    if spec is not None and source is not None and source.endswith(".toml"):
        msg = f"{source} and --spec {spec}: two specs; give one"
        raise UsageError(msg, code="two-specs")
    check_new([json, text, figure])
    if figure is not None:
        from gridveil.report.figures.chart import as_file, check_format
        from gridveil.research.compare.figure import draw_comparison

        kind = check_format(figure)
    keep = json.with_name(json.name + PARTIAL) if json else None
    settings = o.spec_from(source, flags if bound is None else {**flags, "bound": bound}, spec)
    show.operator.print(NOT_PRIVATE, style="bold red")
    try:
        with show.bars() as tell:
            tell("read the tables", 0.0)
            study, report = compare(settings, question, keep, count_trials(tell, "compare"))
    except KeyboardInterrupt as error:
        raise Interrupted(AGAIN if keep else NOT_KEPT, code="interrupted") from error
    show.report(report, show.operator)
    if study.records:
        console = Console(highlight=False)
        console.width = console.width if console.is_terminal else WIDE
        console.print(*on_screen(study.records, console.width), sep="\n")
        for line in notes(study.records):
            show.out.print(line)
    show.out.print(NOT_PRIVATE, style="bold red")
    _stop_at_failures(study, keep)
    if json is not None and text is not None:
        write_new(text, as_text(study.records).encode())
        write_new(json, as_json(study))
        keep.unlink() if keep else None
        show.out.print(f"Wrote {json} and {text}")
    if figure is not None:
        write_new(figure, as_file(draw_comparison(study.records, "Mechanisms compared"), kind))
        show.out.print(f"Wrote {figure}")


def _stop_at_failures(study: Study[Trial], keep: Path | None) -> None:
    """Report what failed, once per method and reason."""
    if not study.failures:
        return
    from gridveil.research.compare.results import name_method

    reasons = dict.fromkeys(
        (name_method(trial.mechanism, dict(trial.parameters)), reason) for trial, reason in study.failures.items()
    )
    lines = "\n".join(f"  {mechanism}: {reason}" for mechanism, reason in reasons)
    if keep and not study.records:
        keep.unlink()
    again = f"; the others are kept in {keep}" if keep and study.records else ""
    msg = f"{len(study.failures)} trials failed{again}:\n{lines}\nLeave such mechanisms out with --mechanisms"
    raise GridveilError(msg, code="trials-failed")


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[float]:
    try:
        return list(dict.fromkeys(float(number) for number in _split(text)))
    except ValueError as error:
        msg = f"--epsilon {text}: give numbers with commas between, e.g. 1,3,10,30"
        raise UsageError(msg, code="epsilon-syntax") from error
