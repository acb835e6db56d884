"""The operator's record: exact, private, never overwritten, never inside a release."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code
from tests.leak import town

from gridveil.model.errors import UsageError
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import Published, run
from gridveil.publishing.spec import make_spec


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town.write(tmp_path / "a", *town.CHANGES["in two places"](*town.town()))
    monkeypatch.chdir(tmp_path / "a")


def published(record: Path, **changes: Any) -> Published:
    return run(make_spec(town.settings("even") | changes), record=record)


def test_it_has_what_a_release_must_not_have() -> None:
    record = Path("record.json")
    published(record)
    told = json.loads(record.read_text())
    assert record.stat().st_mode & 0o777 == 0o600
    assert told["warning"].startswith("For the operator only")
    readings, households = told["inputs"]
    assert readings == {
        "path": str(Path("readings.parquet").absolute()),
        "sha256": hashlib.sha256(Path("readings.parquet").read_bytes()).hexdigest(),
    }
    assert households["path"].endswith("households.parquet")
    assert (told["rows_of_readings"], told["households_inside"], told["ledger_entry"]) == (30 * 72, 29, None)
    again = published(Path("again.json"), out="again").report
    assert told["warnings"] == [warning.to_record() for warning in again.warnings]
    assert [fault["count"] for fault in told["faults"] if fault["code"] == "household-two-places"] == [1]


@pytest.mark.parametrize("place", ["release/record.json", "release", "release/../release/a/b.json", "link/record.json"])
def test_it_is_never_inside_the_release(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("link").symlink_to("release")
    monkeypatch.setattr(Plan, "ingest", lambda _: pytest.fail("read too soon"))
    with pytest.raises(UsageError, check=has_code("record-inside-release")):
        published(Path(place))


def test_it_is_refused_before_anything_is_read_where_it_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("there.json").write_text("mine")
    monkeypatch.setattr(Plan, "ingest", lambda _: pytest.fail("read too soon"))
    with pytest.raises(UsageError, check=has_code("record-exists")):
        published(Path("there.json"))
    with pytest.raises(UsageError, check=has_code("record-folder")):
        published(Path("nowhere/record.json"))
    assert Path("there.json").read_text() == "mine"


def test_a_release_whose_record_fails_is_valid_all_the_same() -> None:
    record = Path("record.json")

    def meanwhile(stage: str, done: float) -> None:
        if (stage, done) == ("write the release", 1.0):
            record.write_text("somebody else's")

    done = run(make_spec(town.settings("even")), record=record, progress=meanwhile)
    (warning,) = done.warnings
    assert warning.code == "record-not-written"
    assert (done.path.exists(), record.read_text()) == (True, "somebody else's")
