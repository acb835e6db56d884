"""The publisher's tables on Spark: Parquet files, read by rules of ours, or tables of its catalogue."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.schema import (
    HouseholdsTable,
    ReadingsTable,
    list_files,
    list_window_files,
    require_same_types,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from gridveil.model.window import Window

ENDINGS = (".parquet", ".pq")
FOOTERS_AT_ONCE = 16
NOT_MOMENTS = "(-9223372036854775807, 9223372036854775807)"
"""Microseconds that stand for the infinities, as DuckDB has them."""
FIRST_MICROS = -9223372022400000000
"""Microseconds of the first moment that is read where there is a zone, as DuckDB has it."""

DAY = "IF({0} BETWEEN -106751991 AND 106751991, timestamp_micros({0} * 86400000000L), NULL)"
MILLIS = "IF({0} BETWEEN -9223372036854775 AND 9223372036854775, timestamp_micros({0} * 1000L), NULL)"
MICROS = f"IF({{0}} IN {NOT_MOMENTS}, NULL, timestamp_micros({{0}}))"
INSTANT = f"IF({{0}} < {FIRST_MICROS}L OR {{0}} IN {NOT_MOMENTS}, NULL, timestamp_micros({{0}}))"
NANOS = f"IF({{0}} IN {NOT_MOMENTS}, NULL, timestamp_micros({{0}} div 1000 - IF({{0}} % 1000 < 0, 1, 0)))"
UUID = "regexp_replace(lower(hex({0})), '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})', '$1-$2-$3-$4-')"
LOCAL, ZONED = "timestamp", "timestamp('UTC')"


@dataclass(frozen=True)
class ColumnReading:
    """How a column is read: its type for Spark's reader, what is made of it, and the type that ibis is told."""

    reader: str
    made: str
    kind: str


MAX_DECIMAL_DIGITS = 38
"""Of a decimal of Spark's."""

READ = {
    "BINARY STRING": ColumnReading("string", "{0}", "string"),
    "BINARY ENUM": ColumnReading("string", "{0}", "string"),
    "BOOLEAN None": ColumnReading("boolean", "{0}", "boolean"),
    "FLOAT None": ColumnReading("float", "{0}", "float32"),
    "DOUBLE None": ColumnReading("double", "{0}", "float64"),
    **{
        f"INT32 {kind}": ColumnReading("int", "{0}", "int32")
        for kind in ("None", *(f"INTEGER({n},true)" for n in (8, 16, 32)))
    },
    "INT32 INTEGER(8,false)": ColumnReading("smallint", "{0}", "int16"),
    "INT32 INTEGER(16,false)": ColumnReading("int", "{0}", "int32"),
    "INT32 INTEGER(32,false)": ColumnReading("bigint", "{0}", "int64"),
    "INT64 None": ColumnReading("bigint", "{0}", "int64"),
    "INT64 INTEGER(64,true)": ColumnReading("bigint", "{0}", "int64"),
    "INT64 INTEGER(64,false)": ColumnReading("decimal(20,0)", "{0}", "decimal(20, 0)"),
    "FIXED_LEN_BYTE_ARRAY UUID": ColumnReading("binary", UUID, "string"),
    # Moments as the numbers that the file has: Spark's own reading of them stops at the first that does not fit.
    "INT32 DATE": ColumnReading("int", DAY, LOCAL),
    "INT64 TIMESTAMP(MILLIS,false)": ColumnReading("bigint", MILLIS, LOCAL),
    "INT64 TIMESTAMP(MILLIS,true)": ColumnReading("bigint", MILLIS, ZONED),
    "INT64 TIMESTAMP(MICROS,false)": ColumnReading("bigint", MICROS, LOCAL),
    "INT64 TIMESTAMP(MICROS,true)": ColumnReading("bigint", INSTANT, ZONED),
    "INT64 TIMESTAMP(NANOS,false)": ColumnReading("bigint", NANOS, LOCAL),
    "INT64 TIMESTAMP(NANOS,true)": ColumnReading("bigint", NANOS, ZONED),
    "INT96 None": ColumnReading("timestamp", "{0}", LOCAL),  # a clock's time, as DuckDB has it
}
"""How the types of Parquet are read. All others are refused, if the publisher names such a column."""

READ_CATALOGUE = {
    "boolean": ColumnReading("", "{0}", "boolean"),
    **{kind: ColumnReading("", "{0}", "int64") for kind in ("tinyint", "smallint", "int", "bigint")},
    "float": ColumnReading("", "{0}", "float32"),
    "double": ColumnReading("", "{0}", "float64"),
    "date": ColumnReading("", DAY.format("unix_date({0})"), LOCAL),
    "timestamp": ColumnReading("", "{0}", ZONED),
    "timestamp_ntz": ColumnReading("", "CAST({0} AS TIMESTAMP)", LOCAL),
}
PLAIN = ColumnReading("", "collate({0}, 'UTF8_BINARY')", "string")
"""Text that is compared byte by byte: under other collations `h1` and `H1` may be the same."""


def open_table(
    session: SparkSession, at: ReadingsTable | HouseholdsTable, window: Window | None
) -> tuple[DataFrame, dict[str, str | None]]:
    """Return the publisher's table with the columns' types; None for those that are not read."""
    if at.table is not None:
        table = session.table(at.table)
        return _read(table, {field.name: _choose_catalogue_reading(field.dataType) for field in table.schema.fields})
    files = (
        _list_remote_files(session, at, window)
        if "://" in at.path
        else [_to_address(file) for file in list_files(at, window)]
    )
    if not all(file.lower().endswith(ENDINGS) for file in files):
        msg = (
            f"{at.path}: Spark reads Parquet files (.parquet, .pq) and tables of its catalogue (table = ...); "
            "other files are for the engine duckdb, or turn them into Parquet"
        )
        raise InputError(msg, code="spark-table-kind")
    columns = _read_columns(session, files)
    hows = {name: _choose_reading(kind) for name, kind in columns.items()}
    reader = ", ".join(f"{_quote(name)} {how.reader}" for name, how in hows.items() if how is not None)
    # A folder named household=7 must not replace what the file says: every row would become that household's.
    alone = {"recursiveFileLookup": "true", "ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
    calendar = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
    table = session.read.schema(reader).options(**alone, **calendar).parquet(*map(_escape, files))
    return _read(table, hows)


def read_states(session: SparkSession, files: list[str]) -> list[tuple[str, int, int]]:
    """Return the length and the time of change of files, given by their URIs."""
    jvm, settings = _java(session)

    def state(file: str) -> tuple[str, int, int]:
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
        status = path.getFileSystem(settings).getFileStatus(path)
        return file, status.getLen(), status.getModificationTime()

    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        return list(pool.map(state, files))


def _read(table: DataFrame, hows: dict[str, ColumnReading | None]) -> tuple[DataFrame, dict[str, str | None]]:
    made = [f"{how.made.format(_quote(name)) if how else 'NULL'} AS {_quote(name)}" for name, how in hows.items()]
    return table.selectExpr(*made), {name: how.kind if how else None for name, how in hows.items()}


def _read_columns(session: SparkSession, files: list[str]) -> dict[str, str]:
    """Return the types that all files have."""
    with ThreadPoolExecutor(FOOTERS_AT_ONCE) as pool:
        return require_same_types(files, list(pool.map(lambda file: _read_footer(session, file), files)))


def _read_footer(session: SparkSession, file: str) -> dict[str, str]:
    """Return the columns' types as a file has them. Read by Java, which knows the cluster's file systems."""
    jvm, settings = _java(session)
    path = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(file), settings)
    opened = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(path)
    try:
        return {field.getName(): _describe_type(field) for field in opened.getFileMetaData().getSchema().getFields()}
    finally:
        opened.close()


def _describe_type(field: Any) -> str:  # noqa: ANN401  # an object of Java's
    if not field.isPrimitive() or field.getRepetition().name() == "REPEATED":
        return "nested"
    return f"{field.asPrimitiveType().getPrimitiveTypeName().name()} {field.getLogicalTypeAnnotation()}"


def _choose_reading(kind: str) -> ColumnReading | None:
    decimal = re.search(r"DECIMAL\((\d+),(\d+)\)", kind)
    if decimal and int(decimal[1]) <= MAX_DECIMAL_DIGITS:
        return ColumnReading(f"decimal({decimal[1]},{decimal[2]})", "{0}", f"decimal({decimal[1]}, {decimal[2]})")
    return READ.get(kind)


def _choose_catalogue_reading(kind: Any) -> ColumnReading | None:  # noqa: ANN401  # a type of Spark's
    from pyspark.sql.types import DecimalType, StringType

    if isinstance(kind, StringType):
        return PLAIN
    if isinstance(kind, DecimalType):
        return ColumnReading("", "{0}", f"decimal({kind.precision}, {kind.scale})")
    return READ_CATALOGUE.get(kind.simpleString())


def _list_remote_files(session: SparkSession, at: ReadingsTable | HouseholdsTable, window: Window | None) -> list[str]:
    """Return the files of a pattern on a file system of the cluster's."""
    jvm, settings = _java(session)

    def find(pattern: str) -> list[str]:
        path = jvm.org.apache.hadoop.fs.Path(pattern)
        found = path.getFileSystem(settings).globStatus(path) or []
        return sorted(status.getPath().toString() for status in found if status.isFile())

    if window is not None and isinstance(at, ReadingsTable) and "%" in at.path:
        return list_window_files(at.path, window, at.timezone, find)
    files = find(at.path)
    if not files:
        msg = f"{at.path}: there is no such file; give a file, or a pattern such as {at.path.rstrip('/')}/*.parquet"
        raise InputError(msg, code="file-missing")
    return files


def _java(session: SparkSession) -> tuple[Any, Any]:
    """Return Java's classes, and how it finds file systems."""
    return session._jvm, session._jsc.hadoopConfiguration()  # noqa: SLF001  # no public way


def _to_address(file: str) -> str:
    return f"file://{Path(file).absolute()}"


def _escape(file: str) -> str:
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", file)


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
