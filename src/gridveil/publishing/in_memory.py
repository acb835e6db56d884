"""Tables in memory: DataFrames, Arrow tables, DuckDB relations, all that has Arrow's stream interface.

Each is a private Parquet file for as long as it is read. So the rules for rows and the cube are those of a file, and
nothing that is published or debited can depend on where a table was. A spec, which is public, has no such tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.publishing.spec import TABLES, Spec, make_spec
from gridveil.trusted.engines.base.scratch import Temporary

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def spec_with_tables(settings: dict[str, Any], base: Spec | str | Path | None = None) -> Iterator[Spec]:
    """Give the spec of settings as `make_spec` does; tables in memory are files until the end."""
    tables = _find_tables(settings)
    if not tables:
        yield make_spec(settings, base)
        return
    temporary = Temporary()
    try:
        spec = make_spec(replace_tables(settings, temporary.folder), base)
        _check(spec, next(iter(tables)))
        for name, table in tables.items():
            _write(name, table, _make_path(temporary.folder, name))
        try:
            yield spec
        except GridveilError as error:
            for name in tables:
                if (file := str(_make_path(temporary.folder, name))) in str(error):
                    error.add_note(f"{file} is the table in memory that was given as {name}.")
            raise
    finally:
        temporary.close()


def replace_tables(settings: dict[str, Any], folder: Path = Path()) -> dict[str, Any]:
    """Return settings with the path of a file in the place of each table in memory."""
    paths = {name: {"path": str(_make_path(folder, name))} for name in _find_tables(settings)}
    return {**settings, **{name: {**_drop_table(settings[name]), **path} for name, path in paths.items()}}


def _find_tables(settings: dict[str, Any]) -> dict[str, Any]:
    given = {name: settings.get(name) for name in TABLES}
    tables = {name: it.get("table") if isinstance(it, dict) else it for name, it in given.items()}
    return {name: table for name, table in tables.items() if hasattr(table, "__arrow_c_stream__")}


def _drop_table(given: object) -> dict[str, Any]:
    """Return what is said of a table beside the table itself."""
    return {name: value for name, value in given.items() if name != "table"} if isinstance(given, dict) else {}


def _make_path(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


def _check(spec: Spec, name: str) -> None:
    if spec.engine != "duckdb":
        msg = f"{name}: engine {spec.engine} does not read tables in memory; leave engine out, or name a table of its"
        raise UsageError(msg, code="memory-table-engine")
    if spec.scratch is not None:
        msg = f"scratch: a run that is interrupted cannot go on with {name} in memory; leave it out, or give a file"
        raise UsageError(msg, code="memory-table-scratch")


def _write(name: str, table: Any, file: Path) -> None:  # noqa: ANN401  # of any library
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pa.RecordBatchReader.from_stream(table)
        types = pa.schema([(field.name, _widen_seconds(field.type)) for field in rows.schema])
        with pq.ParquetWriter(file, types, store_schema=False) as writer:  # its own types are all that a reader sees
            for batch in rows:
                writer.write_batch(batch.cast(types, safe=False))
    except Exception as error:  # noqa: BLE001  # whatever the library of a table raises may quote a row
        words = error.strerror if isinstance(error, OSError) else None
        reason = words or f"{type(error).__name__}; its words may hold rows"
    else:
        return
    # Not from within the handler: a traceback would show the words.
    msg = f"{name}: the table in memory cannot be read ({reason}). Give every column one type, or write it to a file."
    raise InputError(msg, code="memory-table-unreadable")


def _widen_seconds(kind: pa.DataType) -> pa.DataType:
    """Return milliseconds for seconds, which Parquet lacks: its writer would stop at a row that is out of range."""
    import pyarrow as pa

    return pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "s" else kind
