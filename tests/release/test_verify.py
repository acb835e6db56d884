"""`verify` finds every byte that was changed, whoever changed it, and does not let a hostile file waste its time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.release.conftest import GRID, KINDS, WINDOW, make_estimate, make_label
from tests.work import bytes_read

from gridveil.model.window import Window
from gridveil.publishing.debit import Spending
from gridveil.release.format import wording
from gridveil.release.format.documents import readme
from gridveil.release.format.facts import LedgerFacts
from gridveil.release.format.files import dump_label, load_label, write_sums
from gridveil.release.format.label import BoundFacts, DebitFacts, Label, StatedBound
from gridveil.release.format.netcdf import write_release
from gridveil.release.format.wording import caveats
from gridveil.release.verify import release as verify_cube
from gridveil.release.verify.ledger import Export, find_differences
from gridveil.release.verify.release import check_facts, verify
from gridveil.trusted.ledger.book import Ledger, create_ledger, open_ledger
from gridveil.trusted.ledger.population import Population

Publish = Callable[..., Path]
BORDEN = Population("Meters of Borden", Fraction(5))


def faults(folder: Path, ledger: Ledger | None = None) -> set[str]:
    return {check.what for check in verify(folder, ledger) if check.verdict == "FAULT"}


def debit(folder: Path, read: Window = WINDOW) -> Path:
    """Make a ledger and the release that it debited, for reading a window, in a folder."""
    ledger = create_ledger(str(folder / "ledger.db"))
    ledger.add_population(BORDEN)
    plain = make_label()
    facts = DebitFacts(
        **{name: getattr(plain, name) for name in ("title", "publisher", "choices", "gridveil_version")},
        mechanism=plain.mechanism.name,
        parameters=plain.mechanism.parameters,
        grid=plain.grid,
        window=plain.window,
        training_window=None,
        bound=StatedBound(step_kwh=20, window_kwh=136, origin="a public study"),
    )
    spending = Spending(str(folder / "ledger.db"), None, Fraction(1), {"published": read}, facts)
    spending.permit.use()
    entry, text = spending.entry()
    left_out = caveats(corrected=False, about_the_truth=False, unit="household")
    label = make_label(ledger_entry=entry, not_covered=left_out)
    out = folder / "release"
    digests = write_release(out, grid=GRID, window=WINDOW, estimate=make_estimate("parts"), label=label, entry=text)
    assert spending.record(digests) is None
    return folder


@pytest.fixture(scope="module")
def debited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return debit(tmp_path_factory.mktemp("debited"))


@pytest.fixture
def copy(debited: Path, tmp_path: Path) -> Path:
    """The release of `debited`, to be changed."""
    return Path(shutil.copytree(debited / "release", tmp_path / "copy"))


def relabel(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    facts = json.loads((folder / "label.json").read_text())
    change(facts)
    (folder / "label.json").write_text(dump_label(Label.model_validate(facts)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_sound(publish: Publish, kind: str) -> None:
    told: dict[str, float] = {}
    checks = verify(publish(kind), progress=told.__setitem__)
    assert [check.verdict for check in checks] == ["ok", "ok", "ok", "ok", "not checked"]
    assert "no ledger" in checks[-1].finding
    assert told == {"sum up its files": 1.0, "compare values and prefix sums": 1.0}


def test_a_debited_release_is_sound_and_sha256sum_says_so_too(debited: Path) -> None:
    assert {check.verdict for check in verify(debited / "release", open_ledger(str(debited / "ledger.db")))} == {"ok"}
    program = shutil.which("sha256sum")
    if program is None:
        pytest.skip("needs sha256sum")
    done = subprocess.run([program, "-c", "SHA256SUMS"], cwd=debited / "release", check=True, capture_output=True)
    assert done.stdout.count(b": OK") == 4


@pytest.mark.parametrize("name", ["label.json", "consumption.nc", "README.md", "ledger-entry.json", "SHA256SUMS"])
def test_any_changed_byte_is_found(copy: Path, debited: Path, name: str) -> None:
    raw = bytearray((copy / name).read_bytes())
    raw[len(raw) // 2] ^= 1
    (copy / name).write_bytes(raw)
    assert "SHA256SUMS" in faults(copy)
    if name == "label.json":  # which may no longer name an entry to look for
        assert {"label.json", "ledger"} & faults(copy, open_ledger(str(debited / "ledger.db")))
    elif name != "SHA256SUMS":
        assert "ledger" in faults(copy, open_ledger(str(debited / "ledger.db")))


@pytest.mark.parametrize("name", ["label.json", "consumption.nc", "README.md", "ledger-entry.json", "SHA256SUMS"])
def test_a_missing_file_is_found(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert {name, "SHA256SUMS"} <= faults(copy)


def tenfold(facts: dict[str, Any]) -> None:
    facts["bounds"][0]["window_kwh"] *= 10
    facts["measurements"][0]["bound_kwh"] *= 10


def restate(facts: dict[str, Any], **changes: str) -> None:
    """Change the ledger's figures, and the rates that follow from them."""
    entry = {name: value for name, value in facts["ledger_entry"].items() if name != "attack_rates"} | changes
    facts["ledger_entry"] = LedgerFacts(**entry).model_dump(mode="json")


LIES: dict[str, tuple[Callable[[dict[str, Any]], object], set[str]]] = {
    "title": (lambda facts: facts.update(title="Another"), {"consumption.nc", "README.md", "ledger-entry.json"}),
    "spent": (lambda facts: restate(facts, spent="2"), {"README.md"}),
    "hash": (lambda facts: facts["ledger_entry"].update(hash="0" * 64), {"README.md", "ledger-entry.json"}),
    "population": (lambda facts: facts["ledger_entry"].update(population="Z"), {"README.md", "ledger-entry.json"}),
    "no ledger": (lambda facts: facts.update(ledger_entry=None), {"label.json", "README.md", "ledger-entry.json"}),
    "epsilon": (
        lambda facts: facts.update(privacy={"epsilon": 0.5, "epsilon_accounted": 0.5}),
        {"label.json", "consumption.nc", "README.md", "ledger-entry.json"},
    ),
    "parameters": (lambda facts: facts["mechanism"].update(parameters={"depth": 3}), {"ledger-entry.json"}),
    "accounted": (lambda facts: facts["privacy"].update(epsilon_accounted=0.001), {"label.json"}),
    "noise": (lambda facts: facts.update(noise=[]), {"label.json"}),
    "another noise": (lambda facts: facts["measurements"][0].update(noise="staircase"), {"label.json"}),
    "caveats": (lambda facts: facts["not_covered"].pop(), {"label.json"}),
    "origin of a bound": (
        lambda facts: facts["bounds"][0].update(window_origin="histogram"),
        {"label.json", "README.md"},
    ),
    "cost of a bound": (lambda facts: facts.update(private_bound_epsilon=0.5), {"label.json"}),
    "words on a bound": (lambda facts: facts.update(bound_origin="a rumour"), {"ledger-entry.json"}),
    "bound": (tenfold, {"README.md", "ledger-entry.json"}),
    "bound of what was measured": (lambda facts: facts["measurements"][0].update(bound_kwh=9), {"label.json"}),
    "a bound that nothing was measured under": (
        lambda facts: facts["bounds"].append({**facts["bounds"][0], "window_kwh": 9, "window_origin": "mechanism"}),
        {"label.json", "README.md"},
    ),
    "steps of a bound": (
        lambda facts: facts["bounds"][0].update(steps=60),
        {"label.json", "README.md", "ledger-entry.json"},
    ),
    "step bound": (lambda facts: facts["bounds"][0].update(step_kwh=21), {"README.md", "ledger-entry.json"}),
}


@pytest.mark.parametrize("lie", LIES)
def test_digests_made_anew_do_not_hide_a_lie(copy: Path, debited: Path, lie: str) -> None:
    change, expected = LIES[lie]
    relabel(copy, change)
    write_sums(copy)
    assert faults(copy) == expected
    assert "ledger" in faults(copy, open_ledger(str(debited / "ledger.db")))


def test_an_expert_who_makes_readme_and_digests_anew_is_found(copy: Path) -> None:
    """Ten times the bound, no noise and a thousandth of epsilon: only what is compared with something shows."""

    def forge(facts: dict[str, Any]) -> None:
        tenfold(facts)
        facts["noise"] = []
        facts["privacy"]["epsilon_accounted"] = 0.001

    relabel(copy, forge)
    (copy / "README.md").write_text(readme(load_label(copy / "label.json")))
    write_sums(copy)
    told = {check.what: check.finding for check in verify(copy) if check.verdict == "FAULT"}
    assert set(told) == {"label.json", "ledger-entry.json"}
    assert all(word in told["label.json"] for word in ("epsilon_accounted", "noise"))
    assert "bound" in told["ledger-entry.json"]


def test_digests_are_not_said_to_show_more_than_they_do(copy: Path) -> None:
    assert verify(copy)[1].finding == "all 4 files match it, which anyone who changes a file can change, too"


def test_what_is_unusual_but_possible_is_told(publish: Publish) -> None:
    folder = publish()
    relabel(folder, lambda facts: facts["measurements"][0].update(epsilon=0.5))
    relabel(folder, lambda facts: facts["privacy"].update(epsilon_accounted=0.5))
    check = verify(folder)[0]
    assert (check.verdict, "less was accounted for than epsilon" in check.finding) == ("ok", True)


def test_other_versions_have_no_other_bounds() -> None:
    check_facts(make_label(gridveil_version="0.0.9"))
    bounds = [make_label().bounds[0].model_copy(update={"window_kwh": 1360})]
    with pytest.raises(ValueError, match="bounds"):
        check_facts(make_label(gridveil_version="0.0.9", bounds=bounds))


def test_a_corrected_word_makes_no_release_faulty(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are made when a label is read: what was published before says the same in the words of today."""
    monkeypatch.setitem(wording.CAVEATS, "run-time", "In other words.")
    monkeypatch.setattr(wording, "QUADRATURE", "In quite other words.")
    assert faults(copy) == set()


HISTOGRAM = {"kind": "household_totals", "labels": 9, "epsilon": 0.25}
PART = {"kind": "sums", "labels": 9, "epsilon": 0.5, "bound_kwh": 136}


@pytest.mark.parametrize(("accounted", "sound"), [(0.74, False), (0.75, True), (1.25, True), (1.26, False)])
def test_measurements_cost_at_least_the_largest_and_at_most_all(accounted: float, *, sound: bool) -> None:
    """Two that may have been of different pillars, and a histogram, which is of all."""
    privacy = {"epsilon": 2, "epsilon_accounted": accounted}
    label = make_label(privacy=privacy, measurements=[HISTOGRAM, PART, PART])
    with nullcontext() if sound else pytest.raises(ValueError, match=r"its measurements cost 0\.75 to 1\.25"):
        check_facts(label)


STATED = {"step_kwh": 20, "window_kwh": 136, "origin": "a public study"}


@pytest.mark.parametrize(
    ("stated", "used", "sound"),
    [
        ({}, {}, True),
        ({}, {"window_kwh": 100}, False),
        ({}, {"window_kwh": 100, "window_origin": "mechanism"}, True),
        ({}, {"window_kwh": 137, "window_origin": "mechanism"}, False),
        ({"origin": "another study"}, {}, False),
        ({}, {"window": "training", "steps": 15, "window_kwh": 68}, True),
        ({}, {"window": "training", "steps": 15, "window_kwh": 136}, False),
        ({"window_kwh": None}, {"window_kwh": 600}, False),
        ({"window_kwh": None}, {"window_kwh": 600, "window_origin": "histogram"}, True),
        ({"window_kwh": None}, {"window_kwh": 601, "window_origin": "histogram"}, False),
        ({"window_kwh": None}, {"step_kwh": 19, "window_origin": "histogram"}, False),
        ({"step_kwh": -1}, {}, False),
        ({"step_kwh": 1e300}, {}, False),
        ({"step_kwh": "many"}, {}, False),
        ({}, {"step_kwh": 1e308}, False),
        ({"window_kwh": 1e308}, {}, False),
    ],
)
def test_bounds_follow_from_what_was_stated(stated: dict[str, Any], used: dict[str, Any], *, sound: bool) -> None:
    bound = BoundFacts(**({"step_kwh": 20, "window_kwh": 136, "steps": 30} | used))
    apart = find_differences({"bound": STATED | stated}, make_label(bounds=[bound]))
    assert ("bound" not in apart) == sound


def test_an_export_of_the_ledger_shows_the_same(debited: Path, copy: Path, tmp_path: Path) -> None:
    ledger = open_ledger(str(debited / "ledger.db"))
    path, lines = tmp_path / "export", [f"{entry.text}\n" for entry in ledger.entries(BORDEN.name)]
    path.write_text("".join(lines))
    assert {check.verdict for check in verify(copy, Export(path))} == {"ok"}
    (copy / "README.md").write_text("trust me")
    assert "ledger" in faults(copy, Export(path))
    path.write_text("".join(lines[:-1]))  # as it was before the release was recorded
    assert verify(debited / "release", Export(path))[-1].finding.startswith("it has the debit, but no record")
    for wrong in (lines[:1], lines[1:], [lines[0], lines[2]], [lines[0], *lines]):
        path.write_text("".join(wrong))
        assert faults(debited / "release", Export(path)) == {"ledger"}
    path.write_text(lines[0].replace(BORDEN.name, "Others"))
    assert faults(debited / "release", Export(path)) == {"ledger"}


def test_an_entry_that_debited_another_window_is_found(tmp_path: Path) -> None:
    check = verify(debit(tmp_path, WINDOW.before(WINDOW.steps)) / "release")[-1]
    assert (check.verdict, check.finding) == ("FAULT", "the entry and label.json differ in: reads")


def test_a_label_that_tells_other_sums_than_the_ledger_is_found(copy: Path, debited: Path) -> None:
    def lie(facts: dict[str, Any]) -> None:
        restate(facts, spent="2", cap="9")

    relabel(copy, lie)
    *_, entry, check = verify(copy, open_ledger(str(debited / "ledger.db")))
    assert entry.verdict == "ok"
    assert (check.verdict, check.finding) == ("FAULT", "it differs from label.json in: cap, spent")


def test_values_that_were_made_anew_with_all_that_follows_are_found_by_the_ledger_alone(
    copy: Path, debited: Path
) -> None:
    with h5py.File(copy / "consumption.nc", "r+") as file:
        file["consumption"][0, 0, 0] += 1
        values = file["consumption"][()].astype(float)
        file["gridveil/prefix_sums"][1:, 1:, 1:] = values.cumsum(0).cumsum(1).cumsum(2)
    write_sums(copy)
    assert faults(copy) == set()
    assert faults(copy, open_ledger(str(debited / "ledger.db"))) == {"ledger"}


def test_another_ledger_does_not_know_it(debited: Path, tmp_path: Path) -> None:
    other = create_ledger(str(tmp_path / "other.db"))
    assert faults(debited / "release", other) == {"ledger"}
    other.add_population(BORDEN)
    *_, check = verify(debited / "release", other)
    assert (check.verdict, "it has no entry" in check.finding) == ("FAULT", True)


def test_a_release_without_an_entry_is_in_no_ledger(publish: Publish, debited: Path) -> None:
    folder, ledger = publish(), open_ledger(str(debited / "ledger.db"))
    assert faults(folder, ledger) == {"ledger"}
    assert verify(folder, ledger)[-1].remedy.startswith("this release was not debited to that ledger")


@pytest.mark.parametrize("name", ["consumption.nc", "README.md", "ledger-entry.json", "SHA256SUMS"])
def test_a_missing_file_is_called_missing(copy: Path, name: str) -> None:
    (copy / name).unlink()
    told = {check.what: check.finding for check in verify(copy) if check.verdict == "FAULT"}
    assert "it is missing" in told[name]
    assert "Errno" not in str(told)


def test_a_label_that_does_not_fit_is_not_called_missing(copy: Path) -> None:
    (copy / "label.json").write_text('{"title": "a town"}')
    assert {check.finding for check in verify(copy)[2:]} == {"label.json is at fault, see above"}
    (copy / "label.json").unlink()
    assert {check.finding for check in verify(copy)[2:]} == {"there is no label.json to compare it with"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda file: file["gridveil/prefix_sums"].__setitem__((3, 2, 1), 1e3), "prefix sums are not those"),
        (lambda file: file["gridveil/prefix_sums"].__setitem__((0, 2, 1), 1.0), "begin with zeros"),
        (lambda file: file["consumption"].__setitem__((3, 2, 1), 1e6), "prefix sums are not those"),
        (lambda file: file["consumption"].__setitem__((3, 2, 1), np.nan), "not finite"),
        (lambda file: file["consumption_se"].__setitem__((3, 2, 1), np.inf), "not finite"),
        (lambda file: file["consumption_se"].__setitem__((3, 2, 1), -1.0), "below zero"),
        (lambda file: file.attrs.__setitem__("epsilon", 0.1), "epsilon is not that of label.json"),
        (lambda file: file.__delitem__("consumption_se"), "consumption_se"),
    ],
)
def test_values_that_do_not_hold_together_are_found(publish: Publish, change: Callable[[Any], None], told: str) -> None:
    folder = publish()
    with h5py.File(folder / "consumption.nc", "r+") as file:
        change(file)
    write_sums(folder)
    (check,) = (check for check in verify(folder) if check.what == "consumption.nc")
    assert (check.verdict, told in check.finding) == ("FAULT", True), check.finding


def test_values_are_compared_in_blocks_and_not_for_ever(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = publish()
    monkeypatch.setattr(verify_cube, "BLOCK_CELLS", 8)
    monkeypatch.setattr(verify_cube, "MAX_WIDTH", 3)
    assert faults(folder) == set()
    monkeypatch.setattr(verify_cube, "MAX_SECONDS", -1.0)
    (check,) = (check for check in verify(folder) if check.what == "consumption.nc")
    assert check.finding.endswith("as far as compared: 0 %")


@pytest.mark.parametrize("name", ["label.json", "consumption.nc", "README.md", "ledger-entry.json", "SHA256SUMS"])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "vast"])
def test_hostile_files_are_faults_and_never_waited_for(copy: Path, name: str, kind: str) -> None:
    path = copy / name
    path.unlink()
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(2**40)
    before = bytes_read()
    assert {name, "SHA256SUMS"} <= faults(copy)
    assert bytes_read() - before < 2**28


@pytest.mark.parametrize("line", ["../../etc/passwd", "/etc/passwd", "label.json\n{hash}  label.json", "other.txt", ""])
def test_names_of_other_files_are_not_believed(publish: Publish, line: str) -> None:
    folder = publish()
    sums = folder / "SHA256SUMS"
    sums.write_text(sums.read_text() + f"{'0' * 64}  {line}\n".replace("{hash}", "0" * 64))
    assert faults(folder) == {"SHA256SUMS"}


def test_other_files_are_named_but_no_fault_and_harm_no_terminal(publish: Publish) -> None:
    folder = publish()
    (folder / "report\x1b[31m.html").touch()
    check = verify(folder)[1]
    assert (check.verdict, check.finding.count("\x1b")) == ("ok", 0)
    assert "no part of the release: 'report\\x1b[31m.html'" in check.finding


def test_releases_of_other_versions_are_checked_as_far_as_they_go(publish: Publish) -> None:
    folder = publish()
    relabel(folder, lambda facts: facts.update(gridveil_version="0.0.9"))
    write_sums(folder)
    verdicts = {check.what: check.verdict for check in verify(folder)}
    assert verdicts == {
        "label.json": "ok",
        "SHA256SUMS": "ok",
        "consumption.nc": "ok",
        "README.md": "ok",
        "ledger-entry.json": "not checked",
    }
