"""A new folder or file is there whole, or not at all."""

from __future__ import annotations

import errno
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.model import files as folder
from gridveil.model.errors import UsageError
from gridveil.model.files import new_file, new_folder


def names(path: Path) -> list[str]:
    return [file.name for file in path.iterdir()]


def test_a_file_gets_its_name_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with new_file(path) as aside:
        aside.write_text("all of it")
        assert not path.exists()
        assert aside.parent == path.parent  # so that renaming is one step
    assert path.read_text() == "all of it"
    assert names(path.parent) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("new", [new_file, new_folder])
def test_a_failure_leaves_nothing(tmp_path: Path, new: type[new_file]) -> None:  # type: ignore[valid-type]  # a function that is used as a context manager
    with pytest.raises(KeyboardInterrupt), new(tmp_path / "name"):  # type: ignore[misc]  # as above
        raise KeyboardInterrupt
    assert names(tmp_path) == []


@pytest.mark.parametrize("new", [new_file, new_folder])
def test_what_is_there_is_refused_be_it_a_dead_link(tmp_path: Path, new: type[new_file]) -> None:  # type: ignore[valid-type]  # a function that is used as a context manager
    (tmp_path / "name").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, check=has_code("out-exists")), new(tmp_path / "name"):  # type: ignore[misc]  # as above
        pytest.fail("nothing is to be written")
    assert names(tmp_path) == ["name"]


def test_a_file_that_turned_up_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    def both(path: Path) -> None:
        with new_file(path) as aside:
            aside.write_text("mine")
            path.write_text("theirs")

    with pytest.raises(UsageError, check=has_code("out-exists")):
        both(tmp_path / "name")
    assert names(tmp_path) == ["name"]
    assert (tmp_path / "name").read_text() == "theirs"


@pytest.mark.parametrize("links", [True, False])
def test_not_even_one_that_turns_up_at_the_last_moment_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    """Between the last look and the naming; on a memory stick, which has no links, as well."""
    path = tmp_path / "name"

    def write() -> None:
        with new_file(path) as aside:
            aside.write_text("mine")

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    real = folder.sync
    monkeypatch.setattr(folder, "sync", lambda file: (real(file), path.write_text("theirs")))
    looks: list[Path] = []
    monkeypatch.setattr(folder, "_refuse_existing", looks.append)
    with pytest.raises(UsageError, check=has_code("out-exists")):
        write()
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["name"]
    path.unlink()
    monkeypatch.setattr(folder, "sync", real)
    write()
    assert path.read_text() == "mine"
    assert names(tmp_path) == ["name"]


def test_a_folder_of_a_day_tells_no_other_time(tmp_path: Path) -> None:
    with new_folder(tmp_path / "name", date(2026, 1, 2)) as aside:
        (aside / "below").mkdir()
        (aside / "below" / "deep").write_text("x")
    midnight = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    for path in (tmp_path / "name", *(tmp_path / "name").rglob("*")):
        assert path.stat().st_mtime == midnight


def test_all_of_a_folder_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(folder, "sync", lambda path: synced.append(path.name))
    with new_folder(tmp_path / "name") as aside:
        (aside / "below").mkdir()
        (aside / "below" / "deep").write_text("x")
    assert sorted(synced) == sorted(["below", "deep", aside.name, tmp_path.name])
    assert synced[-1] == tmp_path.name
