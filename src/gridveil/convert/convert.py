"""From an official distribution to a folder with gridveil's own tables. Pickles are refused."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gridveil.convert.ausgrid import Ausgrid
from gridveil.convert.cer import Cer
from gridveil.convert.lcl import Lcl
from gridveil.convert.loader import SCHEMA, Loader, WrongLayoutError
from gridveil.convert.members import Member, find_members
from gridveil.convert.uci import Uci
from gridveil.model.errors import InputError, UsageError
from gridveil.model.files import new_folder
from gridveil.model.running import Progress, silent
from gridveil.trusted.engines.duckdb.csv_table import to_batch

if TYPE_CHECKING:
    import duckdb


LOADERS: dict[str, type[Loader]] = {"cer": Cer, "lcl": Lcl, "uci": Uci, "ausgrid": Ausgrid}
FORMATS = (*LOADERS, "pickle")
READINGS, ATTRIBUTES = "readings.parquet", "attributes.parquet"
MEMORY = "2GB"
"""What the engine may hold; more goes to disk."""

SNIPPET = """\
import pandas as pd
hours = pd.read_pickle("IN.pkl")["visits_by_hour"].reset_index(drop=True).rename_axis("household").explode().reset_index(name="kwh")
hours.assign(kwh=hours.kwh.astype(float), timestamp=pd.Timestamp("2018-01-01", tz="UTC") + pd.to_timedelta(hours.groupby("household").cumcount(), unit="h")).to_parquet("readings.parquet")
"""  # noqa: E501  # three lines, to be copied
"""Turns the pickle that the paper's authors feed their code into Parquet."""


@dataclass(frozen=True)
class Converted:
    """What was read, written and left out: exact counts of private data, for the operator only."""

    files: int
    lines: int
    written: int
    left_out: dict[tuple[str, str], int]
    kept: dict[tuple[str, str], int]
    passed_over: tuple[str, ...]
    attributes: int
    """Households with attributes."""


def convert(name: str, inputs: list[Path], out: Path, progress: Progress = silent) -> Converted:
    """Write `out`/readings.parquet, and attributes.parquet where the files have any.

    A line that cannot be read is counted and left out, and changes no other. What is wrong with a whole file stops the
    conversion, and nothing is left.
    """
    if name not in FORMATS:
        msg = f"format {name!r} is not known; give one of {', '.join(FORMATS)}"
        raise UsageError(msg, code="layout-unknown")
    if name == "pickle":
        msg = (
            f"{inputs[0]}: a pickle is a program, and gridveil runs no program that comes as data. If you trust where "
            "the file is from, turn it into Parquet yourself, in an environment of its own with pandas and pyarrow, by "
            "these three lines (with the file's name and the true time of the first hour, which the pickle does not "
            f"hold; values are taken as kWh), and give readings.parquet to gridveil:\n\n{SNIPPET}"
        )
        raise InputError(msg, code="pickle-refused")
    with _translate_errors(out), new_folder(out) as aside, _connect(aside) as con:
        loader = LOADERS[name](con)
        members, passed_over = _select_members(loader, find_members(inputs))
        with pq.ParquetWriter(aside / READINGS, SCHEMA, compression="zstd") as writer:
            for table in _read_members(loader, members, progress):
                loader.written += len(table)
                if len(table):
                    writer.write_table(table)
        attributes = loader.known_attributes()
        if attributes is not None:
            pq.write_table(attributes, aside / ATTRIBUTES)
    counts = dict(loader.left_out), dict(loader.kept)
    households = len(attributes) if attributes is not None else 0
    return Converted(len(members), loader.lines, loader.written, *counts, tuple(passed_over), households)


def _read_members(loader: Loader, members: list[Member], progress: Progress) -> Iterator[pa.Table]:
    total, done = sum(member.size for member in members) or 1, 0
    for member in members:
        skip = loader.layout(member.top())
        for block in member.blocks():
            lines = block
            while skip and lines:
                skip, lines = skip - 1, lines.partition(b"\n")[2]
            yield from loader.read(_drop_blank(to_batch(lines)))
            done += len(block)
            progress("convert", min(done / total, 1.0))
        yield from loader.end_of_file()


def _drop_blank(lines: pa.RecordBatch) -> pa.RecordBatch:
    return lines.filter(pc.or_kleene(pc.is_null(lines["line"]), pc.not_equal(lines["line"], "")))


def _select_members(loader: Loader, found: list[Member]) -> tuple[list[Member], list[str]]:
    """Return the files of the format. Others are passed over if they came with a folder or zip that has some."""
    members, others = [], []
    for member in found:
        try:
            loader.layout(member.top())
        except WrongLayoutError as error:
            others.append((member, error.line))
        else:
            members.append(member)
    named = [(member, line) for member, line in others if member.named]
    if named or not members:
        member, line = (named or others)[0]
        msg = f"{member}: line {line} is not as it should be. Expected: {loader.expected}"
        raise InputError(msg, code="line-unexpected")
    _refuse_twice(members)
    return members, [str(member) for member, _ in others]


def _refuse_twice(members: list[Member]) -> None:
    """Stop if a file is there packed and unpacked: every reading would be there twice."""
    places: dict[str, Member] = {}
    for member in members:
        name = Path(member.inside[-1] if member.inside else member.path).name
        if name in places:
            msg = f"{member}: {name} is also in {places[name]}; give one of them"
            raise InputError(msg, code="household-twice")
        places[name] = member


@contextmanager
def _translate_errors(out: Path) -> Iterator[None]:
    """Turn errors of the engine or the system into ours: a full disk, a folder that may not be written."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        msg = f"{out}: cannot be written ({reason}). Check free space and that you may write there; nothing was left"
        raise UsageError(msg, code="convert-unwritable") from error
    except RuntimeError as error:
        if "interrupted" in str(error).lower():  # what the engine makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise


@contextmanager
def _connect(beside: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    spill = tempfile.mkdtemp(prefix=".gridveil-", dir=beside.parent)
    try:
        with duckdb.connect() as con:
            con.execute("SET temp_directory = ?", [spill])
            con.execute(f"SET memory_limit = '{MEMORY}'; SET TimeZone = 'UTC'; SET enable_progress_bar = false")
            yield con
    finally:
        shutil.rmtree(spill, ignore_errors=True)
