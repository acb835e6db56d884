"""The text files behind what was named: files, folders, zips and zips in zips; read as a stream, never unpacked."""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from gridveil.model.errors import InputError
from gridveil.trusted.engines.duckdb.csv_table import MAX_LINE_BYTES, read_whole_lines

ENDINGS = (".csv", ".txt", ".zip")
"""Of files that are looked at in folders and zips."""
TOP_LINES, TOP_BYTES = 100, 8 * 2**20
"""So many lines at the top of a file tell its layout, or so many bytes, whichever is less."""
MAX_DEPTH, MAX_FILES = 3, 10_000
"""Of zips inside each other, and of files behind all that was named; official ones have two, and some hundred."""
MIN_CHECKED_BYTES, MAX_RATIO = 2**24, 200
"""A file of more bytes than MIN_CHECKED_BYTES may be MAX_RATIO times as large as packed; readings: ten times."""


@dataclass(frozen=True)
class Member:
    """One text file: the path of a file, and inside it, for zips, the names that lead to the text."""

    path: Path
    inside: tuple[str, ...]
    size: int
    named: bool
    """Given by its own name, not as part of a folder or zip: it has to be of the format."""

    def __str__(self) -> str:
        return "::".join([str(self.path), *self.inside])

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the text for reading; errors of a damaged file become ours."""
        with translate_errors(str(self)), ExitStack() as stack:
            file: IO[bytes] = stack.enter_context(self.path.open("rb"))
            for name in self.inside:
                file = stack.enter_context(stack.enter_context(zipfile.ZipFile(file)).open(name))
            yield file

    def blocks(self) -> Iterator[bytes]:
        """Return the text in blocks of whole lines, each ending with a newline; a line too long comes cut short."""
        with self.open() as file:
            yield from read_whole_lines(file)

    def top(self) -> list[str]:
        """Return the first lines, without byte-order mark and line ends."""
        lines: list[bytes] = []
        with self.open() as file:
            while (
                len(lines) < TOP_LINES and sum(map(len, lines)) < TOP_BYTES and (line := file.readline(MAX_LINE_BYTES))
            ):
                lines.append(line)
        text = [line.decode(errors="replace").strip(" \r\n") for line in lines] or [""]
        return [text[0].removeprefix("\ufeff"), *text[1:]]


DAMAGED = (ValueError, LookupError, ArithmeticError, struct.error)
"""What `zipfile` answers numbers and names in an archive with that make no sense."""


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Turn errors of an unreadable file into ours."""
    try:
        yield
    except NotImplementedError as error:
        msg = (
            f"{name}: this zip is packed in a way that Python cannot unpack (Deflate64, for instance). "
            "Unpack it (7z x FILE, or unzip FILE) and give the files inside"
        )
        raise InputError(msg, code="zip-unsupported") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, *DAMAGED) as error:
        msg = f"{name}: cannot be read ({error}). Check that it is complete and that you may read it"
        raise InputError(msg, code="input-unreadable") from error


def find_members(inputs: list[Path]) -> list[Member]:
    """Return all text files behind the paths, in the order given, and within folders and zips by name and number."""
    found = list(islice((member for path in inputs for member in _list_members(path)), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        msg = f"{inputs[0]}: more than {MAX_FILES:,} files; give those of the format"
        raise InputError(msg, code="too-many-files")
    if not found:
        msg = f"{inputs[0]}: nothing in it that ends in {', '.join(ENDINGS)}"
        raise InputError(msg, code="no-readable-files")
    return found


def _list_members(path: Path) -> Iterator[Member]:
    if not path.exists():
        msg = f"{path}: there is no such file or folder"
        raise InputError(msg, code="input-missing")
    if not path.is_dir():
        yield from _list_file(path, named=True)
        return
    with translate_errors(str(path)):
        files = [file for file in path.rglob("*") if file.is_file() and _is_wanted(file.relative_to(path).as_posix())]
    for file in sorted(files, key=lambda file: _make_sort_key(str(file))):
        yield from _list_file(file, named=False)


def _list_file(path: Path, *, named: bool) -> Iterator[Member]:
    if not path.is_file():
        msg = f"{path}: not a regular file"
        raise InputError(msg, code="not-a-file")
    if path.suffix.lower() != ".zip":
        yield Member(path, (), path.stat().st_size, named)
        return
    with translate_errors(str(path)), path.open("rb") as file:
        yield from _list_zip(path, (), file)


def _list_zip(path: Path, inside: tuple[str, ...], file: IO[bytes]) -> Iterator[Member]:
    if len(inside) >= MAX_DEPTH:
        msg = f"{path}: zips are more than {MAX_DEPTH} deep inside each other; unpack them, and give the files inside"
        raise InputError(msg, code="zip-too-deep")
    with zipfile.ZipFile(file) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir() and _is_wanted(entry.filename)]
        for entry in sorted(entries, key=lambda entry: _make_sort_key(entry.filename)):
            below = (*inside, entry.filename)
            if entry.file_size > max(MIN_CHECKED_BYTES, MAX_RATIO * entry.compress_size):
                msg = f"{'::'.join([str(path), *below])}: unpacks to {entry.file_size:,} bytes, as no readings do"
                raise InputError(msg, code="zip-too-large")
            if entry.filename.lower().endswith(".zip"):
                with archive.open(entry) as nested:
                    yield from _list_zip(path, below, nested)
            else:
                yield Member(path, below, entry.file_size, named=False)


def _is_wanted(name: str) -> bool:
    """Tell text and zips from the rest; hidden files are what systems leave behind (`__MACOSX/._File1.txt`)."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
    return name.lower().endswith(ENDINGS) and not hidden


def _make_sort_key(name: str) -> list[tuple[int, str]]:
    """Order _2 before _10."""
    parts = re.split(r"([0-9]+)", name)  # digits are at the odd places; as text, because a name may have thousands
    digits = [(len(number), number) for number in (part.lstrip("0") for part in parts[1::2])]
    return [digits[i // 2] if i % 2 else (-1, part) for i, part in enumerate(parts)]
