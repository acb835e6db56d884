"""Nothing gets past the kernel: if the noisy answers coincide, so does everything that is published.

Names, bytes, modes and times of files and folders.

The second run's noise is the first one's, shifted by the difference of the true answers: a tape plays the same noisy
answers again. Holds for every registered mechanism, so that a new one is tested the day it is registered.
"""

import json
import re
import sys
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.leak import town

from gridveil.cli import main as cli
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import run
from gridveil.publishing.spec import Spec, make_spec
from gridveil.release.query.open import open_release
from gridveil.release.verify.ledger import find_differences
from gridveil.release.verify.release import check_facts
from gridveil.simulate.sources import Tape
from gridveil.trusted.kernel import kernel
from gridveil.trusted.ledger.book import create_ledger
from gridveil.trusted.ledger.population import Population

TODAY = date(2026, 1, 1)
every_publication = pytest.mark.parametrize(("name", "bound"), town.PUBLICATIONS)


@every_publication
@pytest.mark.usefixtures("read_once")
def test_neighbours_with_the_same_noisy_answers_publish_the_same_bytes(
    name: str, bound: str, tables: Path, tmp_path: Path
) -> None:
    tape = Tape.record(seed=1)
    run(spec(name, bound, tables / "unchanged", tmp_path / "release"), noise=tape, today=TODAY)
    published = town.content(tmp_path / "release")
    for what in town.CHANGES:
        again = tape.replay()
        run(spec(name, bound, tables / what, tmp_path / what / "release"), noise=again, today=TODAY)
        again.check_played()
        assert town.content(tmp_path / what / "release") == published


@every_publication
@pytest.mark.usefixtures("read_once")
def test_measurements_alone_give_the_same_release(
    name: str, bound: str, tables: Path, make_again: Callable[[Path], None], tmp_path: Path
) -> None:
    """A process that never saw the tables makes the release again from its label and the noisy answers."""
    tape = Tape.record(seed=2)
    run(spec(name, bound, tables / "unchanged", tmp_path / "release"), noise=tape, today=TODAY)
    answers = {f"{kind}{i}": part for i, pair in enumerate(tape.answers) for kind, part in zip("vs", pair, strict=True)}
    alone = tmp_path / "alone"
    alone.mkdir()
    np.savez(alone / "answers.npz", **answers)
    (alone / "label.json").write_bytes((tmp_path / "release" / "label.json").read_bytes())
    make_again(alone)
    assert town.content(alone / "again") == town.content(tmp_path / "release")


@every_publication
@pytest.mark.usefixtures("read_once")
def test_the_whole_budget_is_used_and_no_more(name: str, bound: str, tables: Path, tmp_path: Path) -> None:
    for epsilon in ("0.1", "3", "30"):
        asked = spec(name, bound, tables / "unchanged", tmp_path / epsilon, epsilon=epsilon)
        label = run(asked, noise=Tape.record(seed=3), today=TODAY).label
        assert float(epsilon) * (1 - 1e-9) <= label.privacy.epsilon_accounted <= float(epsilon)
        check_facts(label)  # what `verify` takes for granted is so for every mechanism
        assert find_differences(Plan.of(asked).debit_facts().body(), label) == []


def spec(name: str, bound: str, tables: Path, out: Path, **more: str) -> Spec:
    return make_spec({**town.settings(name, bound, tables), "out": out, **more})


@pytest.mark.parametrize("bounds", ["--bound-step 5 --bound-window 40", ""])
def test_what_recipients_see_of_the_command_is_the_same(
    bounds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output, exit code and files of the real command, for neighbours that drop rows or do not."""
    homes, rows = town.town()
    tape = Tape.record(seed=4)
    seen = []
    for what in ("unchanged", *town.CHANGES):
        folder = tmp_path / what
        town.write(folder, *town.CHANGES.get(what, lambda *tables: tables)(homes, rows))
        monkeypatch.chdir(folder)
        noise = tape if what == "unchanged" else tape.replay()
        monkeypatch.setattr(kernel, "ExactNoise", lambda noise=noise: noise)
        flags = "readings.parquet --households households.parquet --extent 0,0,4,4 --grid 4x4 --start 2013-02-04T00:00 "
        flags += f"--steps 24 {bounds} --epsilon 3 --mechanism even --no-ledger --out release"
        monkeypatch.setattr(sys, "argv", ["gridveil", "publish", *flags.split()])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        seen.append((stopped.value.code, capfd.readouterr().out, town.content(Path("release"))))
    assert seen[0][0] == 0
    assert all(other == seen[0] for other in seen)
    assert "Spent epsilon" in seen[0][1]


def test_test_noise_is_marked_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    label = run(make_spec(town.settings("even")), noise=Tape.record(seed=5), today=TODAY).label
    assert not label.private
    assert not open_release(Path("release")).label.private
    assert "NOT PRIVATE" in Path("release/README.md").read_text()


@pytest.mark.usefixtures("read_once")
def test_no_trace_of_the_input_in_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path, file name, household or row count of the input in any byte, compressed or not; nor in a ledger."""
    homes, rows = town.town()
    traces = ("secret_folder_name", "readings.parquet", "households.parquet", "household-29")
    folder = tmp_path / "secret_folder_name"
    town.write(folder, homes, rows)
    monkeypatch.chdir(folder)
    ledger = create_ledger("secret_folder_name.db")
    ledger.add_population(Population("Borden", Fraction(10**6)))
    for name, bound in town.PUBLICATIONS:
        out = Path(f"release-{name}-{bound}")
        with_ledger = {"no_ledger": False, "ledger": Path("secret_folder_name.db")}
        published = run(make_spec({**town.settings(name, bound), "out": out, **with_ledger}), today=TODAY)
        told = json.dumps(published.label.model_dump(mode="json")) + (out / "README.md").read_text()
        assert published.label.ledger_entry is not None
        for digits in (published.label.ledger_entry.hash, published.label.ledger_entry.hash[:12]):
            assert digits in told
            told = told.replace(digits, "")  # random ones, among which there may be any number
        assert not re.search(rf"(?<![\d.]){len(rows)}(?!\d)", told)  # as a number: digits of others may be alike
        everything = b"".join(seen.content for seen in town.content(out).values()) + told.encode()
        assert not [trace for trace in traces if trace.encode() in everything]
    kept = "".join(entry.text for entry in ledger.entries("Borden"))
    assert kept.count('"kind":"release"') == len(town.PUBLICATIONS)
    assert not [trace for trace in traces if trace in kept]
