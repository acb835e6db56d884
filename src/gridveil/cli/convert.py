"""`gridveil convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SHOWN = 3

NO_PLACES = (
    "None of these files says where a household is. To publish, give a table of households and their places "
    "(--households); for a study, gridveil compare --placement uniform draws places."
)


def run(
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
    from gridveil.convert.convert import ATTRIBUTES, READINGS, convert

    with show.bars() as tell:
        tell("convert", 0.0)
        done = convert(name, inputs, out, tell)
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
