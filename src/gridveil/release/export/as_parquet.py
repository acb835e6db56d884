"""Parquet: the long table in row groups of about a million rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.model.files import new_file
from gridveil.model.progress import Progress
from gridveil.release.export.registry import Exporter
from gridveil.release.export.table import MEASURES, PUBLIC, SLAB, LongTable, about, slabs
from gridveil.release.query.open import Release

LARGEST_DICTIONARY = 2**25  # bytes; the outlines of 256 x 256 cells take 6 MB


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the long table, with the label in the file's metadata."""
    return write_table(release, path, progress, LongTable(release))


EXPORTER = Exporter(".parquet", "application/vnd.apache.parquet", "Parquet table", write)


def write_table(
    release: Release, path: Path, progress: Progress, table: LongTable, metadata: dict[str, Any] | None = None
) -> list[Path]:
    """Write a long table slab by slab; metadata that is not text becomes JSON."""
    known = {**about(release), "columns": table.columns, **(metadata or {})}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in known.items()}
    with new_file(path) as aside:
        with _writer(aside, table.schema) as writer:
            for slab in slabs(release, progress):
                writer.write_table(table.of(slab), row_group_size=SLAB)
            writer.add_key_value_metadata(texts)
        aside.chmod(PUBLIC)
    return [path]


def _writer(path: Path, schema: pa.Schema) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[name for name in schema.names if name not in MEASURES],
        dictionary_pagesize_limit=LARGEST_DICTIONARY,
        # Dictionaries are a way to store columns here; nobody should have to read categories or encoded geometries.
        store_schema=False,
    )
