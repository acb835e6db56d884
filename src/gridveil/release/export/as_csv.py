"""CSV: the long table as text. Readers of operators' files choke on comments, so the label is in a file next to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from gridveil.model.files import new_file
from gridveil.model.running import Progress
from gridveil.release.export import Exporter
from gridveil.release.export.table import PUBLIC, LongTable, about, slabs
from gridveil.release.format.files import LABEL
from gridveil.release.query.open import Release

WITHOUT_HEADER = csv.WriteOptions(include_header=False, quoting_style="none")


def label_path(path: Path) -> Path:
    """Return where the label of a CSV file is.

    >>> label_path(Path("town.csv")).name
    'town.csv.label.json'
    """
    return path.with_name(f"{path.name}.{LABEL}")


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the table and, before it gets its name, the label next to it."""
    table = LongTable(release)
    with _label_first(path) as (aside, label):
        label.write_text(_label(release, table.columns), encoding="utf-8")
        with aside.open("wb") as file:
            file.write(f"{','.join(table.columns)}\n".encode())
            for slab in slabs(release, progress):
                csv.write_csv(_plain(table.of(slab)), file, WITHOUT_HEADER)
        for file_aside in (aside, label):
            file_aside.chmod(PUBLIC)
    return [path, label_path(path)]


EXPORTER = Exporter(".csv", "text/csv", "CSV table", write)


@contextmanager
def _label_first(path: Path) -> Iterator[tuple[Path, Path]]:
    """Give two files to write to, of which the label gets its name first; if the table cannot, neither stays."""
    label_is_there = False
    try:
        with new_file(path) as aside:
            with new_file(label_path(path)) as label:
                yield aside, label
            label_is_there = True
    except BaseException:
        if label_is_there:
            label_path(path).unlink()
        raise


def _plain(rows: pa.Table) -> pa.Table:
    """Return the rows with instants as ISO texts, and dictionaries written out."""
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    starts = columns["interval_start"]
    texts = [f"{start:%Y-%m-%dT%H:%M:%SZ}" for start in starts.dictionary.to_pylist()]
    columns["interval_start"] = pa.DictionaryArray.from_arrays(starts.indices, pa.array(texts))
    return pa.table(
        {
            name: column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            for name, column in columns.items()
        }
    )


def _label(release: Release, columns: dict[str, str]) -> str:
    """Return the label with what the columns mean: the same facts that Parquet has as metadata."""
    return json.dumps({**about(release), "columns": columns}, indent=2, ensure_ascii=False) + "\n"
