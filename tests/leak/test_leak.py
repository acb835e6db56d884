"""Nothing gets past the kernel: if the noisy answers coincide, everything that is published coincides, byte for byte.

The second run's noise is the first one's, shifted by the difference of the true answers: a tape plays the same noisy
answers again. Holds for every registered mechanism, so that a new one is tested the day it is registered.
"""

import json
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from tests.leak import town

from gridveil.cli import main as cli
from gridveil.mechanisms.registry import make, names
from gridveil.privacy import kernel
from gridveil.publish import Plan, run
from gridveil.release.open import open_release
from gridveil.release.write import write_release
from gridveil.spec import make_spec
from gridveil.testing import Tape, replay_measure

TODAY = date(2026, 1, 1)
CHANGES = 7


@pytest.mark.parametrize("name", names())
def test_neighbours_with_the_same_noisy_answers_publish_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes, rows = town.town()
    town.write(tmp_path / "a", homes, rows)
    monkeypatch.chdir(tmp_path / "a")
    tape = Tape.record(seed=1)
    run(make_spec(town.settings(name)), noise=tape, today=TODAY)
    published = town.content(tmp_path / "a" / "release")
    for change in range(CHANGES):
        folder = tmp_path / f"b{change}"
        town.write(folder, *town.poison(np.random.default_rng(change))(homes, rows))
        monkeypatch.chdir(folder)
        run(make_spec(town.settings(name)), noise=tape.replay(), today=TODAY)
        assert town.content(folder / "release") == published


@pytest.mark.parametrize("name", names())
def test_measurements_alone_give_the_same_release(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    tape = Tape.record(seed=2)
    spec = make_spec(town.settings(name))
    published = run(spec, noise=tape, today=TODAY)
    plan = Plan.of(spec)
    face = replay_measure(tape, plan.grid, plan.window, spec.to_bound(), float(np.nextafter(3.0, 0)))
    estimate = make(name, spec.parameters).release(face)
    write_release(Path("again"), grid=plan.grid, window=plan.window, estimate=estimate, label=published.label)
    assert town.content(Path("again")) == town.content(Path("release"))


@pytest.mark.parametrize("name", names())
def test_the_whole_budget_is_used_and_no_more(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    for epsilon in ("0.1", "3", "30"):
        spec = make_spec({**town.settings(name), "epsilon": epsilon, "out": Path(f"release-{epsilon}")})
        spent = run(spec, noise=Tape.record(seed=3), today=TODAY).label.privacy.epsilon_accounted
        assert float(epsilon) * (1 - 1e-9) <= spent <= float(epsilon)


def test_what_recipients_see_of_the_command_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output, exit code and files of the real command, for neighbours that drop rows or do not."""
    homes, rows = town.town()
    tape = Tape.record(seed=4)
    seen = []
    for number, change in enumerate((None, 2, 3)):
        folder = tmp_path / str(number)
        data = (homes, rows) if change is None else town.poison(np.random.default_rng(change))(homes, rows)
        town.write(folder, *data)
        monkeypatch.chdir(folder)
        noise = tape if number == 0 else tape.replay()
        monkeypatch.setattr(kernel, "ExactLaplace", lambda noise=noise: noise)
        flags = "readings.parquet --households households.parquet --extent 0,0,4,4 --grid 4x4 --start 2013-02-04T00:00 "
        flags += "--steps 24 --bound-step 5 --bound-window 40 --epsilon 3 --mechanism even --out release"
        monkeypatch.setattr(sys, "argv", ["gridveil", "publish", *flags.split()])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        seen.append((stopped.value.code, capfd.readouterr().out, town.content(Path("release"))))
    assert seen[0][0] == 0
    assert seen[0] == seen[1] == seen[2]
    assert "Spent epsilon" in seen[0][1]


def test_test_noise_is_marked_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    label = run(make_spec(town.settings("even")), noise=Tape.record(seed=5), today=TODAY).label
    assert not label.private
    assert not open_release(Path("release")).label.private
    assert "NOT PRIVATE" in Path("release/README.md").read_text()


def test_no_trace_of_the_input_in_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path, file name, household or row count of the input in any byte, compressed or not."""
    homes, rows = town.town()
    folder = tmp_path / "secret_folder_name"
    town.write(folder, homes, rows)
    monkeypatch.chdir(folder)
    for name in names():
        out = Path(f"release-{name}")
        published = run(make_spec({**town.settings(name), "out": out}), today=TODAY)
        release = open_release(out)
        text = json.dumps(published.label.model_dump(mode="json")) + str(release.values().tolist())
        everything = b"".join(town.content(out).values()) + text.encode()
        traces = ("secret_folder_name", "readings.parquet", "households.parquet", "H29", str(len(rows)))
        assert not [trace for trace in traces if trace.encode() in everything]
