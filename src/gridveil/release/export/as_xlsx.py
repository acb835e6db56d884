"""An Excel workbook: the long table, the privacy label, and how to read both."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from gridveil.model.files import new_file
from gridveil.model.running import Progress
from gridveil.release.export import Exporter
from gridveil.release.export.table import MEASURES, PUBLIC, LongTable, remarks, slabs
from gridveil.release.format.label import Label, describe
from gridveil.release.query.open import Release

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAX_ROWS = 2**20 - 1  # of a sheet, without its header
DAY = 86_400_000  # milliseconds
FIRST_DAY_OF_1970 = 25_569  # in Excel's count of days
MAX_TEXT_LENGTH = 32_767  # in a cell
WIDTHS = {"x": 6, "y": 6, "interval_start": 19, "standard_error_kwh": 23, "warning": 30}
USUAL_WIDTH = 13
OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write three sheets, row by row. The same release gives the same bytes."""
    import xlsxwriter

    table = LongTable(release)
    published = datetime.combine(release.label.published, time.min, UTC).replace(tzinfo=None)
    with new_file(path) as aside:
        with xlsxwriter.Workbook(aside, OPTIONS) as book:
            book.set_properties({"title": release.label.heading, "created": published})
            _write_table(book, release, table, progress)
            _write_label(book, release.label)
            _write_words(book, release, table)
        aside.chmod(PUBLIC)
    return [path]


EXPORTER = Exporter(".xlsx", MEDIA_TYPE, "Excel workbook", write, max_rows=MAX_ROWS)


def _write_table(book: Any, release: Release, table: LongTable, progress: Progress) -> None:  # noqa: ANN401 - xlsxwriter has no types
    bold, energy = book.add_format({"bold": True}), book.add_format({"num_format": "0.000"})
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
    sheet = book.add_worksheet("consumption")
    sheet.freeze_panes(1, 0)
    for number, name in enumerate(table.columns):
        form = moment if name == "interval_start" else energy if name in MEASURES else None
        sheet.set_column(number, number, WIDTHS.get(name, USUAL_WIDTH), form)
        sheet.write_string(0, number, name, bold)
    texts = {"area_id", "warning"}
    writers = [sheet.write_string if name in texts else sheet.write_number for name in table.columns]
    for slab in slabs(release, progress):
        rows = table.of(slab)
        columns = [_cells(rows[name], name) for name in table.columns]
        # Row by row, for what was written above is no longer in memory.
        for row, cells in enumerate(zip(*columns, strict=True), start=1 + slab.first * release.grid.cells):
            for column, (write_cell, cell) in enumerate(zip(writers, cells, strict=True)):
                write_cell(row, column, cell)
    sheet.autofilter(0, 0, release.window.steps * release.grid.cells, len(table.columns) - 1)


def _cells(column: Any, name: str) -> list[Any]:  # noqa: ANN401 - pyarrow has no types
    """Return a column as Excel has it: an instant is a number of days, without a time zone; ours is UTC."""
    if name != "interval_start":
        return list(column.to_pylist())
    milliseconds = column.combine_chunks().dictionary_decode().cast("int64").to_numpy()
    return list((milliseconds / DAY + FIRST_DAY_OF_1970).tolist())


def _write_label(book: Any, label: Label) -> None:  # noqa: ANN401 - as above
    """Write every field of the label in a row of its own."""
    sheet = book.add_worksheet("label")
    bold, wrapped = _forms(book)
    sheet.set_column(0, 0, 40)
    sheet.set_column(1, 1, 110)
    sheet.write_row(0, 0, ("field", "value"), bold)
    for row, (name, value) in enumerate(_fields(label.model_dump(mode="json")), start=1):
        sheet.write_string(row, 0, name)
        if isinstance(value, str):
            sheet.write_string(row, 1, value[:MAX_TEXT_LENGTH], wrapped)
        else:
            sheet.write(row, 1, value, wrapped)


def _forms(book: Any) -> tuple[Any, Any]:  # noqa: ANN401 - as above
    """Return the formats of headings and of long texts."""
    return book.add_format({"bold": True}), book.add_format({"text_wrap": True, "valign": "top", "align": "left"})


def _fields(value: Any, name: str = "") -> list[tuple[str, Any]]:  # noqa: ANN401 - a label is plain data of any kind
    """Return the leaves of nested data with their paths.

    >>> _fields({"privacy": {"epsilon": 3.0}, "bounds": [{"steps": 120}]})
    [('privacy.epsilon', 3.0), ('bounds.0.steps', 120)]
    """
    if not isinstance(value, dict | list):
        return [(name, value)]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [leaf for key, item in items for leaf in _fields(item, f"{name}.{key}" if name else str(key))]


def _write_words(book: Any, release: Release, table: LongTable) -> None:  # noqa: ANN401 - as above
    """Write what the columns mean, how to read error bars, and the label in plain words."""
    sheet = book.add_worksheet("read me")
    bold, wrapped = _forms(book)
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 110)
    sections = [
        ("About", [("", line) for line in remarks(release)]),
        ("Columns of 'consumption'", list(table.columns.items())),
        *((section.heading, [("", line) for line in section.lines]) for section in describe(release.label)[1:]),
    ]
    row = 0
    for heading, lines in sections:
        sheet.write_string(row, 0, heading, bold)
        for below, (name, text) in enumerate(lines, start=1):
            if name:
                sheet.write_string(row + below, 0, name)
            sheet.write_string(row + below, 1, text[:MAX_TEXT_LENGTH], wrapped)
        row += len(lines) + 2
