"""Files, folders and zips; a folder that is there whole or not at all."""

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.codes import has_code

from gridveil.convert import convert as module
from gridveil.convert.convert import convert
from gridveil.convert.members import find_members
from gridveil.model.errors import GridveilError, InputError, UsageError

LINE = b"1392 19503 0.14\r\n"
ROW = ("1392", "2009-07-14T00:00", 0.14)


def zipped(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def test_zips_and_zips_in_zips_and_folders(load: Any, tmp_path: Path) -> None:
    folder = tmp_path / "CER Electricity Revised March 2012"
    folder.mkdir()
    (folder / "File1.txt.zip").write_bytes(zipped(("File1.txt", LINE), ("__MACOSX/._File1.txt", b"\x00\x05")))
    (folder / "File2.txt").write_bytes(LINE)
    (folder / "notes.docx").write_bytes(b"x")
    (folder / ".hidden.txt").write_bytes(b"x")
    outer = tmp_path / "outer.zip"
    outer.write_bytes(
        zipped(
            ("38/readme.txt", b"hello\n"), *((f"38/File{n}.txt.zip", zipped((f"File{n}.txt", LINE))) for n in (10, 9))
        )
    )
    found, done = load("cer", folder, outer)
    assert found == [ROW] * 4
    assert (done.files, done.lines) == (4, 4)
    assert done.passed_over == (f"{outer}::38/readme.txt",)
    assert [member.inside[-1] for member in find_members([outer])] == ["File9.txt", "File10.txt", "38/readme.txt"]


def test_a_zip_is_read_as_a_stream(load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "File1.txt.zip"
    path.write_bytes(zipped(("File1.txt", LINE * 50_000)))
    sizes: list[int] = []
    read = zipfile.ZipExtFile.read

    def spy(self: zipfile.ZipExtFile, size: int = -1) -> bytes:
        sizes.append(size)
        return read(self, size)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", spy)
    monkeypatch.setattr("gridveil.trusted.engines.duckdb.csv_table.BLOCK", 2**16)
    found, done = load("cer", path)
    assert (len(found), done.lines) == (50_000, 50_000)
    assert 0 < min(sizes) <= max(sizes) == 2**16  # a line's end is looked for in smaller steps


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"not a zip", ("input-unreadable",)),
        (zipped(("File1.txt", LINE * 1000))[:-30], ("input-unreadable",)),
        (zipped(("File1.doc", LINE)), ("no-readable-files", ".csv, .txt, .zip")),
        (zipped(("File1.txt", b"a,b,c\n")), ("line-unexpected", "File1.txt: line 1")),
    ],
)
def test_zips_that_cannot_be_used(tmp_path: Path, content: bytes, told: tuple[str, ...]) -> None:
    path = tmp_path / "File1.txt.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, check=has_code(*told)):
        convert("cer", [path], tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_zip_with_damaged_content_stops_and_leaves_nothing(tmp_path: Path) -> None:
    content = bytearray(zipped(("File1.txt", b"".join(b"%d 19503 0.14\n" % meter for meter in range(1000, 9000)))))
    content[len(content) // 2] ^= 0xFF  # far behind the lines that tell the layout
    path = tmp_path / "File1.txt.zip"
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, check=has_code("input-unreadable")):
        convert("cer", [path], tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [path]


def test_deflate64_as_in_the_official_full_file_is_refused_with_a_way_out(tmp_path: Path) -> None:
    content = bytearray(zipped(("CC_LCL-FullData.csv", b"LCLid")))
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    struct.pack_into("<H", content, local + 8, 9)
    struct.pack_into("<H", content, central + 10, 9)
    path = tmp_path / "LCL-FullData.zip"
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, check=has_code("zip-unsupported", "Deflate64")):
        convert("lcl", [path], tmp_path / "out")


def test_a_file_packed_and_unpacked_beside_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "File1.txt").write_bytes(LINE)
    (tmp_path / "File1.txt.zip").write_bytes(zipped(("File1.txt", LINE)))
    with pytest.raises(InputError, check=has_code("household-twice", "File1.txt")):
        convert("cer", [tmp_path], tmp_path.parent / "never")


def test_what_is_missing_or_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "File1.txt").write_bytes(LINE)
    with pytest.raises(InputError, check=has_code("input-missing", "File2.txt")):
        convert("cer", [tmp_path / "File2.txt"], tmp_path / "out")
    with pytest.raises(UsageError, check=has_code("layout-unknown", "'csv'", "cer, lcl, uci, ausgrid, pickle")):
        convert("csv", [tmp_path / "File1.txt"], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, check=has_code("no-readable-files")):
        convert("cer", [tmp_path / "empty"], tmp_path / "out")


def test_a_file_named_beside_good_ones_must_be_of_the_format(tmp_path: Path) -> None:
    for name, content in (("a.txt", LINE), ("b.txt", b"x\n")):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, check=has_code("line-unexpected", "b.txt: line 1")):
        convert("cer", [tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out")


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_an_existing_out_is_refused_before_anything_is_read(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "folder":
        out.mkdir()
    elif kind == "file":
        out.write_bytes(b"precious")
    else:
        out.symlink_to("nowhere")
    with pytest.raises(UsageError, check=has_code("out-exists")):
        convert("cer", [tmp_path / "missing"], out)
    assert sorted(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
def test_a_failure_on_the_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(_: pa.RecordBatch) -> pa.RecordBatch:
        raise error

    monkeypatch.setattr(module, "_drop_blank", fail)
    (tmp_path / "File1.txt").write_bytes(LINE)
    with pytest.raises((error, GridveilError)):
        convert("cer", [tmp_path / "File1.txt"], tmp_path / "new" / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["File1.txt", "new"]


def test_what_is_written_is_its_owners_and_the_same_again(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "File1.txt"
    path.write_bytes(b"".join(b"%d 195%02d 0.5\n" % (meter, half) for meter in range(300) for half in range(1, 49)))
    load("cer", path, out="one")
    load("cer", path, out="two")
    assert (tmp_path / "one").stat().st_mode & 0o077 == 0
    assert (tmp_path / "one" / "readings.parquet").read_bytes() == (tmp_path / "two" / "readings.parquet").read_bytes()
    assert not (tmp_path / "one" / "attributes.parquet").exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "File1.txt").write_bytes(LINE)
    with pytest.raises(UsageError, check=has_code("convert-unwritable")):
        convert("cer", [tmp_path / "File1.txt"], tmp_path / "File1.txt" / "out")
