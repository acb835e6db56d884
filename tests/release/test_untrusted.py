"""Labels that lie, or that would harm what shows them, are refused when they are read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.codes import has_code
from tests.release.conftest import make_label
from tests.uncertainty.test_posterior import make_posterior, publish_posterior

from gridveil.model.errors import InputError
from gridveil.release.format.files import dump_label, load_label
from gridveil.release.format.label import MechanismFacts
from gridveil.release.query.open import open_release

Publish = Callable[..., Path]
HARMFUL = {
    "colours": r'"a\u001b[31mred"',
    "header": r'"a\r\nSet-Cookie: x"',
    "null": r'"a\u0000"',
    "backwards": r'"a\u202etxt"',
    "half a character": r'"\ud800"',
    "not finite": "NaN",
    "infinite": "-Infinity",
    "beyond floats": "1e999",
    "vast integer": "9" * 200_000,
    "large integer": str(2**63),
    "vast text": f'"{"x" * 70_000}"',
}


@pytest.mark.parametrize("name", HARMFUL)
@pytest.mark.parametrize("place", ['"title": "Consumption of a town"', '"details": {}'])
def test_what_would_harm_a_reader_is_refused(tmp_path: Path, name: str, place: str) -> None:
    path, text = tmp_path / "label.json", dump_label(make_label())
    assert place in text
    harm = HARMFUL[name] if place.startswith('"title"') else f'{{"a": [{{"b": {HARMFUL[name]}}}]}}'
    path.write_text(text.replace(place, f"{place.split(':', maxsplit=1)[0]}: {harm}"), encoding="utf-8")
    with pytest.raises(InputError, check=has_code("label-unreadable", "label.json")):
        load_label(path)


LIES: dict[str, Callable[[dict[str, Any]], object]] = {
    "rate": lambda facts: facts["privacy"]["attack_rates"][1].update(true_positive_rate=0.01),
    "one step instead of two": lambda facts: facts["privacy"]["attack_rates"][2].update(
        facts["privacy"]["attack_rates"][0] | {"question": "place"}
    ),
    "no place": lambda facts: facts["privacy"]["attack_rates"].pop(),
    "false alarms": lambda facts: facts["privacy"].update(attacker_false_positive_rate=0.5),
    "epsilon": lambda facts: facts["privacy"].update(epsilon=30.0),
    "unit": lambda facts: facts["privacy"].update(unit="one reading"),
    "neighbours": lambda facts: facts["privacy"].update(neighbours="none"),
    "noise": lambda facts: facts["measurements"][0].update(noise="x"),
    "caveat": lambda facts: facts.update(not_covered=["all is well"]),
    "accounted": lambda facts: facts["privacy"].update(epsilon_accounted=1.001),
    "unknown system": lambda facts: facts["grid"].update(crs="EPSG:999999"),
    "file": lambda facts: facts["grid"].update(crs="/etc/passwd"),
    "geocentric": lambda facts: facts["grid"].update(crs="EPSG:4978"),
    "vertical": lambda facts: facts["grid"].update(crs="EPSG:5703"),
    "three axes": lambda facts: facts["grid"].update(crs="EPSG:4979"),
    "compound": lambda facts: facts["grid"].update(crs="EPSG:7415"),
    "long ago": lambda facts: facts["window"].update(start="0001-01-01T00:00:00Z"),
    "far future": lambda facts: facts["window"].update(start="9998-12-31T00:00:00Z"),
    "training": lambda facts: facts.update(training_window=facts["window"] | {"start": "0001-01-01T00:00:00Z"}),
}


HOUSEHOLD = {"hash": "5" * 64, "population": "Borden", "unit": "household", "cap": "5", "spent": "3"}
WEEKS = {
    **HOUSEHOLD,
    "unit": "household-window",
    "window": "week",
    "timezone": "Europe/London",
    "cap": "1.5",
    "spent": "3.5",
    "spent_in_window": "1.5",
}


@pytest.mark.parametrize("facts", [HOUSEHOLD, WEEKS, WEEKS | {"spent": "11/3"}])
def test_what_a_ledger_said_is_read_again(tmp_path: Path, facts: dict[str, str]) -> None:
    path, label = tmp_path / "label.json", make_label(ledger_entry=facts)
    path.write_text(dump_label(label), encoding="utf-8")
    assert load_label(path) == label


@pytest.mark.parametrize(
    "lie",
    [
        HOUSEHOLD | {"spent": "5.5"},
        HOUSEHOLD | {"spent": "2/3"},
        HOUSEHOLD | {"spent": "0.5"},
        HOUSEHOLD | {"spent": "6/2"},
        HOUSEHOLD | {"spent": "7/2"},
        HOUSEHOLD | {"spent": "3.0"},
        HOUSEHOLD | {"spent": "03.5"},
        HOUSEHOLD | {"spent": "3.5e0"},
        HOUSEHOLD | {"spent": "1/0"},
        HOUSEHOLD | {"spent": "-3"},
        HOUSEHOLD | {"spent": 3},
        HOUSEHOLD | {"cap": "9" * 5000},
        HOUSEHOLD | {"hash": "5" * 63},
        HOUSEHOLD | {"hash": "G" * 64},
        HOUSEHOLD | {"unit": "person"},
        HOUSEHOLD | {"window": "week"},
        HOUSEHOLD | {"spent_in_window": "3"},
        WEEKS | {"spent_in_window": "2"},
        WEEKS | {"spent_in_window": "0.5"},
        WEEKS | {"spent": "1.25"},
        WEEKS | {"window": "decade"},
        WEEKS | {"timezone": None},
        WEEKS | {"unit": "household"},
        WEEKS | {"count": 5},
    ],
)
def test_what_no_ledger_can_have_said_is_refused(tmp_path: Path, lie: dict[str, object]) -> None:
    """Of a release at epsilon 1."""
    path, facts = tmp_path / "label.json", json.loads(dump_label(make_label()))
    path.write_text(json.dumps(facts | {"ledger_entry": lie}), encoding="utf-8")
    with pytest.raises(InputError, check=has_code("label-unreadable", "ledger_entry")):
        load_label(path)


@pytest.mark.parametrize("lie", LIES)
def test_what_does_not_follow_or_makes_no_sense_is_refused(tmp_path: Path, lie: str) -> None:
    path, facts = tmp_path / "label.json", json.loads(dump_label(make_label()))
    path.write_text(json.dumps(facts), encoding="utf-8")
    assert load_label(path) == make_label()
    LIES[lie](facts)
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(InputError, check=has_code("label-unreadable", "label.json")):
        load_label(path)


def test_a_label_that_gridveil_writes_can_be_read_whatever_went_into_it(tmp_path: Path) -> None:
    """What a mechanism or a publisher hands over is made harmless: by then the budget is spent."""
    details = {"fit": np.nan, "a\nb": [np.float32("inf"), "x\x1b"], "epsilon": 1e-300}
    label = make_label(title="A\ttown \ud800", mechanism=MechanismFacts(name="m", details=details))
    path = tmp_path / "label.json"
    path.write_text(dump_label(label), encoding="utf-8")
    assert load_label(path) == label
    assert label.title == "A town  "
    assert label.mechanism.details == {"fit": "nan", "a b": ["inf", "x "], "epsilon": 1e-300}
    json.dumps(label.model_dump(mode="json"), allow_nan=False).encode()


@pytest.mark.parametrize(
    ("name", "code"), [("label.json", "label-unreadable"), ("consumption.nc", "values-unreadable")]
)
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_only_regular_files_are_read(publish: Publish, name: str, code: str, kind: str) -> None:
    path = publish() / name
    path.unlink()
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)  # opening one waits for somebody who writes to it
    else:
        path.mkdir()
    with pytest.raises(InputError, check=has_code(code, name)):
        open_release(path.parent)


def test_a_label_larger_than_its_file_costs_nothing(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's shapes are looked at before anything as long as the label says is made."""
    path = publish() / "label.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["grid"].update(nx=2**21, ny=1)
    path.write_text(json.dumps(facts), encoding="utf-8")
    monkeypatch.setattr("gridveil.geography.grid.edges", lambda *_: pytest.fail("too soon"))
    with pytest.raises(InputError, check=has_code("values-unreadable", "instead of")):
        open_release(path.parent)
    facts["grid"].update(nx=2**27)
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(InputError, check=has_code("values-unreadable", "larger than any release")):
        open_release(path.parent)


@pytest.mark.parametrize(("dtype", "regions"), [("i1", 2**29 // 600), ("f8", 3), ("f4", 2**20)])
def test_draws_that_are_stored_otherwise_are_refused(tmp_path: Path, dtype: str, regions: int) -> None:
    """Small numbers that grow when they are read, and chunks that were never written."""
    publish_posterior(tmp_path / "release", make_posterior())
    with h5py.File(tmp_path / "release" / "consumption.nc", "r+") as file:
        del file["gridveil/draw_time"]
        file["gridveil"].create_dataset("draw_time", (60, regions, 30), dtype=dtype, chunks=(20, min(regions, 100), 30))
        if regions == 3:
            file["gridveil/draw_time"][...] = 1 / 30
    with pytest.raises(InputError, check=has_code("values-unreadable", "stored in a way")):
        open_release(tmp_path / "release")
