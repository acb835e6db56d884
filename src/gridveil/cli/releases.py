"""Commands without a spec: about a release (info, verify, export, report, serve), and convert, demo, mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.model.errors import InputError, UsageError
from gridveil.release.export import EXPORTERS

Folder = Annotated[Path, typer.Argument(help="The folder of a release, or of a series")]

EXPORT_DELAY = 2.0
"""Seconds before an export shows its progress: most are done by then."""

SHOWN = 3
"""Files that are named of those that `convert` skips."""

NO_PLACES = (
    "None of these files says where a household is. To publish, give a table of households and their places "
    "(--households); for a study, gridveil compare --placement uniform draws places."
)


def info(
    release: Folder,
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

        from gridveil.release.format.documents import to_registry

        records = (json.dumps(to_registry(label), indent=2, ensure_ascii=False) for label in labels)
        typer.echo("\n---\n".join(records))  # documents of one YAML stream
        return
    for section in (section for label in labels for section in describe(label)):
        typer.secho(section.heading, bold=True)
        for line in section.lines:
            typer.echo(f"  {line}")


def verify(
    release: Folder,
    ledger: Annotated[
        str | None, typer.Option(help="The publisher's ledger, or an export of it: is the release what was debited?")
    ] = None,
) -> None:
    """Check that a release is whole and that all it says of itself fits: label, digests, values, README, ledger entry.

    Who can change the files can make all of this fit. That a release is the
    publisher's own shows in the publisher's ledger alone, or in an export of
    it. Exit code 3 if anything is at fault. Of a series every release is
    checked, and that it is the one that the catalogue lists.
    """
    from rich.table import Table
    from rich.text import Text

    from gridveil.cli import show
    from gridveil.release.verify.release import NOT_SHOWN, WHO_WROTE_IT, WHOSE_LEDGER
    from gridveil.release.verify.series import verify_folder

    with show.bars() as progress:
        checks = verify_folder(release, ledger=ledger, progress=progress)
    table = Table("what", "", "what it means")
    styles = {"ok": "green", "FAULT": "bold red", "not checked": "dim"}
    for check in checks:
        table.add_row(check.what, Text(check.verdict, style=styles[check.verdict]), Text(check.finding))
    show.out.print(table)
    show.out.print(NOT_SHOWN)
    show.out.print(WHO_WROTE_IT if ledger is None else WHOSE_LEDGER)
    faults = [check for check in checks if check.verdict == "FAULT"]
    if faults:
        remedies = dict.fromkeys(check.remedy for check in faults)
        msg = f"{release}: {len(faults)} fault{'s' if len(faults) > 1 else ''}; {'; '.join(remedies)}"
        raise InputError(msg, code="release-faulty")


def export(
    release: Folder,
    to: Annotated[str, typer.Option(help=", ".join(EXPORTERS.names()))],
    out: Annotated[Path, typer.Option(help="A new file; for zarr a new folder")],
) -> None:
    """Write a release with its error bars as a table or a map that other programs open."""
    from gridveil.cli import show
    from gridveil.release.export import export as write_export
    from gridveil.release.format.wording import NOT_PRIVATE_WARNING
    from gridveil.release.query.open import open_release

    opened = open_release(release)
    show.note(opened.label)
    with show.bars(delay=EXPORT_DELAY) as progress:
        written = write_export(opened, out, to, progress)
    for path in written:
        show.out.print(f"Wrote {path}")
    if not opened.label.private:
        show.out.print(str(NOT_PRIVATE_WARNING))


def report(
    release: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page: a new file")] = Path("report.html"),
    timezone: Annotated[
        str | None,
        typer.Option(help="Clock of the typical day, e.g. Europe/London", show_default="a series' own, or UTC"),
    ] = None,
) -> None:
    """Write one self-contained page about a release, to be mailed: maps, curves, highest cells, label."""
    from gridveil.cli import show
    from gridveil.release.query.open import open_release
    from gridveil.report.page import write_report

    opened = open_release(release)
    show.note(opened.label)
    zone = timezone or _series_timezone(release)
    with show.bars() as progress:
        write_report(opened, out, name=release.resolve().name, zone=zone, progress=progress)
    typer.echo(f"{out} (open it in a browser, or mail it: it loads nothing)")


def _series_timezone(folder: Path) -> str:
    """Return the timezone of a series, or UTC: a catalogue from elsewhere may name one that does not exist."""
    from contextlib import suppress

    from gridveil.release.series.catalogue import is_series, read_catalogue
    from gridveil.trusted.ledger.population import load_zone

    if is_series(folder):
        with suppress(UsageError):
            return load_zone(read_catalogue(folder).timezone).key
    return "UTC"


def serve(
    releases: Annotated[list[Path], typer.Argument(help="Folders of releases, or of series")],
    port: Annotated[int, typer.Option(help="0: any free one", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in")] = "127.0.0.1",
    browse: Annotated[bool, typer.Option("--open", help="Open the map in a browser")] = False,
) -> None:
    """Show releases on a map in the browser, and answer questions over HTTP."""
    from gridveil.serve.app import serve as start
    from gridveil.serve.releases import open_all

    start(open_all(releases), host=host, port=port, say=typer.echo, browse=browse)


def convert(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help="cer, lcl, uci, ausgrid or pickle")],
    inputs: Annotated[list[Path], typer.Argument(metavar="INPUT...", help="Files, folders or zips, as published")],
    out: Annotated[Path, typer.Option(help="A new folder for readings.parquet and attributes.parquet")],
) -> None:
    """Turn an official distribution of smart-meter readings into the tables that gridveil reads.

    Formats: cer (CER/ISSDA, Ireland), lcl (Low Carbon London), uci (UCI,
    Portugal), ausgrid (Ausgrid, Sydney). A pickle is refused, with a way to
    convert it. Times become the start of the meter interval in UTC, energy kWh.
    """
    from rich.table import Table

    from gridveil.cli import show
    from gridveil.convert.convert import ATTRIBUTES, READINGS
    from gridveil.convert.convert import convert as convert_files

    with show.bars() as progress:
        progress("convert", 0.0)
        done = convert_files(name, inputs, out, progress)
    show.out.print(f"Wrote {out / READINGS}")
    if done.attributes:
        show.out.print(f"Wrote {out / ATTRIBUTES}")
    show.out.print(NO_PLACES)
    show.operator.print("\nFor the operator only (exact counts of private data):")
    files = f"{done.files:,} files" if done.files > 1 else "1 file"
    show.operator.print(f"{done.lines:,} lines read from {files}, {done.written:,} readings written.")
    if not done.left_out:
        show.operator.print("Nothing was left out.")
    for title, counts in (("left out", done.left_out), ("kept, but know that", done.kept)):
        table = Table("of", title, "count")
        for (unit, what), count in counts.items():
            table.add_row(unit, what, f"{count:,}")
        if counts:
            show.operator.print(table)
    if done.passed_over:
        first = ", ".join(done.passed_over[:SHOWN])
        more = f" and {len(done.passed_over) - SHOWN:,} more" if len(done.passed_over) > SHOWN else ""
        show.operator.print(f"Passed over, because they are not of the format: {first}{more}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for town, releases and report")] = Path("gridveil-demo"),
    browse: Annotated[bool, typer.Option("--open", help="Open the map in a browser when done")] = False,
) -> None:
    """Invent a town, publish it with the default mechanism and with `even`, and show both next to the truth."""
    from gridveil.cli import show
    from gridveil.simulate.demo import EPSILON, run_demo

    if out.exists():
        msg = f"{out}: already there, and never overwritten; give another --out"
        raise UsageError(msg, code="out-exists")
    with show.bars() as progress:
        releases = run_demo(out, progress)
    first = next(iter(releases.values()))
    show.out.print(f"\nA town of 5,000 invented households was published at epsilon {EPSILON}.")
    show.out.print(f"Look:    {out / 'report.html'} (open it in a browser)")
    evening = "2013-02-04T18:00/2013-02-04T21:00"
    show.out.print(f"Ask:     {show.command('query', first, '--x', '8:16', '--y', '8:16', '--time', evening)}")
    show.out.print(f"Read:    {show.command('info', first)}")
    show.out.print(f"Explore: {show.command('serve', first, '--open')}")
    if browse:
        serve([first], port=0, browse=True)


def mechanisms() -> None:
    """List the mechanisms with their parameters (set one with --set NAME=VALUE), then methods for comparison only."""
    from gridveil.mechanisms.base import COMPARISON_ONLY, describe, list_defaults, list_names

    for name in list_names():
        typer.secho(name, bold=True)
        typer.echo(f"  {describe(name)}")
        parameters = ", ".join(f"{key}={value}" for key, value in list_defaults(name).items())
        if parameters:
            typer.echo(f"  {parameters}")
    typer.echo("\nFor comparison only (`gridveil compare`); a publication with one of these is refused:\n")
    for name, words in COMPARISON_ONLY.items():
        typer.secho(name, bold=True)
        typer.echo(f"  {words.summary}")
        typer.echo(f"  promise: {words.promise}")
