"""Catalogues: written whole, and read as if anybody had written them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code

from gridveil.model import files as folder_module
from gridveil.model.errors import InputError
from gridveil.release.series.catalogue import CATALOGUE, MOST_RELEASES, Catalogue, Listed, is_series, read_catalogue
from gridveil.release.series.catalogue import write_catalogue as write

START = datetime(2013, 2, 4, tzinfo=UTC)
WEEK = timedelta(days=7)


def listed(number: int, **changes: Any) -> Listed:
    facts = {"start": START + number * WEEK, "end": START + (number + 1) * WEEK, "sha256": f"{number:064x}"}
    return Listed(**({"path": f"{facts['start']:%Y-%m-%d}"} | facts | changes))


def catalogue(count: int = 3) -> Catalogue:
    return Catalogue(
        title="Ein Städtchen", cadence="week", timezone="Europe/Berlin", releases=tuple(map(listed, range(count)))
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert not is_series(tmp_path)
    write(tmp_path, catalogue(2))
    write(tmp_path, catalogue(3))
    assert is_series(tmp_path)
    assert read_catalogue(tmp_path) == catalogue(3)
    assert list(tmp_path.iterdir()) == [tmp_path / CATALOGUE]
    assert (tmp_path / CATALOGUE).stat().st_mode & 0o777 == 0o644
    content = json.loads((tmp_path / CATALOGUE).read_text("utf-8"))
    assert content["gridveil_catalogue"] == 1
    assert content["releases"][0] == {
        "path": "2013-02-04",
        "start": "2013-02-04T00:00:00Z",
        "end": "2013-02-11T00:00:00Z",
        "sha256": "0" * 64,
    }


def test_a_failure_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, catalogue(2))

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "sync", full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, catalogue(3))
    assert read_catalogue(tmp_path) == catalogue(2)
    assert list(tmp_path.iterdir()) == [tmp_path / CATALOGUE]


@pytest.mark.parametrize("releases", [[listed(1), listed(0)], [listed(0), listed(0)], [listed(0, end=START)]])
def test_nonsense_is_not_written(tmp_path: Path, releases: list[Listed]) -> None:
    with pytest.raises(ValueError, match=r"order of time|more than once|ends before"):
        write(tmp_path, Catalogue(title="", cadence="day", timezone="UTC", releases=tuple(releases)))
    assert not is_series(tmp_path)


Change = Callable[[dict[str, Any]], object]


def release(**changes: object) -> Change:
    return lambda content: content["releases"][1].update(changes)


FAULTS: dict[str, tuple[Change, str]] = {
    "version of a kind": (lambda c: c.update(gridveil_catalogue=True), "does not say"),
    "version before all": (lambda c: c.update(gridveil_catalogue=0), "gridveil_catalogue"),
    "no version": (lambda c: c.pop("gridveil_catalogue"), "does not say"),
    "unknown field": (lambda c: c.update(more=1), "more: Extra"),
    "unknown field of a release": (release(more=1), "more: Extra"),
    "title": (lambda c: c.update(title="a\x1b[2Jtown"), "control characters"),
    "title of a kind": (lambda c: c.update(title=7), "title"),
    "cadence": (lambda c: c.update(cadence="hour"), "cadence"),
    "releases of a kind": (lambda c: c.update(releases={"0": 1}), "releases"),
    "a release of a kind": (lambda c: c.update(releases=[1]), "releases.0"),
    "many": (lambda c: c.update(releases=c["releases"][:1] * (MOST_RELEASES + 1)), "more than any series"),
    "above": (release(path=".."), "letters, digits"),
    "here": (release(path="."), "letters, digits"),
    "nothing": (release(path=""), "letters, digits"),
    "above from below": (release(path="a/../../b"), "letters, digits"),
    "below": (release(path="a/b"), "letters, digits"),
    "absolute": (release(path="/etc"), "letters, digits"),
    "windows": (release(path="C:\\x"), "letters, digits"),
    "aside": (release(path=".gridveil-x"), "letters, digits"),
    "line": (release(path="a\n"), "control characters"),
    "long": (release(path="a" * 101), "letters, digits"),
    "number": (release(path=3), "path"),
    "twice": (release(path="2013-02-04"), "more than once"),
    "twice but for capitals": (
        lambda c: (c["releases"][0].update(path="a"), c["releases"][1].update(path="A")),
        "more than once",
    ),
    "digest": (release(sha256="0" * 63), "64 hexadecimal"),
    "capital digest": (release(sha256="A" * 64), "64 hexadecimal"),
    "instant": (release(start="2013-02-11"), "2013-02-04T00:00:00Z"),
    "no instant": (release(start="2013-02-31T00:00:00Z"), "start"),
    "instant of a kind": (release(start=1360540800), "2013-02-04T00:00:00Z"),
    "other zone": (release(start="2013-02-11T00:00:00+01:00"), "2013-02-04T00:00:00Z"),
    "overlap": (release(start="2013-02-10T23:00:00Z"), "overlap"),
    "backwards": (release(end="2013-02-10T00:00:00Z"), "ends before"),
    "order": (lambda c: c["releases"].reverse(), "order of time"),
}


def test_a_newer_catalogue_is_refused(tmp_path: Path) -> None:
    write(tmp_path, catalogue())
    content = json.loads((tmp_path / CATALOGUE).read_text("utf-8"))
    (tmp_path / CATALOGUE).write_text(json.dumps({**content, "gridveil_catalogue": 2}))
    with pytest.raises(InputError, check=has_code("catalogue-too-new", "format 2")):
        read_catalogue(tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(tmp_path: Path, fault: str) -> None:
    write(tmp_path, catalogue())
    change, told = FAULTS[fault]
    content = json.loads((tmp_path / CATALOGUE).read_text("utf-8"))
    change(content)
    (tmp_path / CATALOGUE).write_text(json.dumps(content))
    with pytest.raises(InputError, check=has_code("catalogue-unreadable", told)):
        read_catalogue(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        '{"gridveil_catalogue": ' + "9" * 5000 + "}",
        '{"title": "a", "title": "b"}',
        '{"title": NaN}',
        "\xff",
        "{" + " " * 2**22 + "}",
    ],
)
def test_what_is_no_catalogue(tmp_path: Path, text: str) -> None:
    (tmp_path / CATALOGUE).write_text(text, encoding="latin-1")
    with pytest.raises(InputError, check=has_code("catalogue-unreadable", CATALOGUE)):
        read_catalogue(tmp_path)


def test_pipes_and_folders_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CATALOGUE)
    with pytest.raises(InputError, check=has_code("catalogue-unreadable", "regular file")):
        read_catalogue(tmp_path)
    (tmp_path / CATALOGUE).unlink()
    with pytest.raises(InputError, check=has_code("catalogue-missing")):
        read_catalogue(tmp_path)
    (tmp_path / CATALOGUE).mkdir()
    with pytest.raises(InputError, check=has_code("catalogue-unreadable", "directory")):
        read_catalogue(tmp_path)
