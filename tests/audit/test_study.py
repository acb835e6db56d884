"""The audit itself, with few runs; `docs/audit.json` is a full one.

False alarms: the errors of all lower bounds here add up to less than 1e-6.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gridveil.audit import together
from gridveil.audit.draws import Pair, draw
from gridveil.audit.effort import ERROR, FIRST, Attack, Effort, attacks_on, error_of_each
from gridveil.audit.least import LEAST
from gridveil.audit.outcomes import Case, run_once
from gridveil.audit.result import entries, objections
from gridveil.audit.statistics import FILE_STATISTICS, STATISTICS
from gridveil.audit.study import TRANSCRIPT, Carried, Finding, _worlds, carry_out, family
from gridveil.audit.words import markdown
from gridveil.mechanisms.registry import names
from gridveil.privacy.noise import ExactNoise

EACH = 1e-10
KEPT = Path(__file__).parents[2] / "docs" / "audit.json"
NAMES = {"mechanism", "epsilon", "lower", "confidence", "runs", "statistic"}


@pytest.fixture(scope="module", autouse=True)
def _worlds_are_let_go() -> Iterator[None]:
    """DuckDB complains of connections that are open when the process ends."""
    yield
    _worlds.cache_clear()


@pytest.mark.parametrize("mechanism", names())
def test_every_mechanism_can_be_attacked_and_no_answer_loses_more_than_is_claimed(mechanism: str) -> None:
    """Under a given bound and a private one. The loss of all answers is exact: no chance takes part."""
    losses = []
    for canary, runs in ((FIRST, 4), ("private bound", 0)):
        carried = carry_out(Attack(mechanism, canary, runs, 0, pairs=1, draws=600), "1", EACH)
        assert carried.faults == []
        assert len(carried.findings) == 1 + bool(runs) * len(STATISTICS)
        assert all(0 <= found.lower <= 1 for found in carried.findings)
        losses.append(carried.loss)
    assert 0 < max(losses) <= 1


def test_identity_at_epsilon_1_gives_at_least_0_7_away() -> None:
    """By the answers' likelihood. With 40,000 runs the bound is 0.85 or so; 0.7 is five standard deviations below."""
    (found,) = carry_out(Attack("identity", FIRST, 0, 0, pairs=1, draws=120_000), "1", EACH).findings
    assert 0.7 <= found.lower <= 1
    assert (found.statistic, found.runs) == (TRANSCRIPT, 40_000)


def test_the_published_value_alone_gives_a_canary_away() -> None:
    """By whole runs, at an epsilon where few of them do: about 1.2 of 4 is proven, and guessing would prove nothing."""
    carried = carry_out(Attack("identity", FIRST, 400, 4, pairs=1, draws=600), "4", EACH)
    by_name = {found.statistic: found.lower for found in carried.findings}
    assert set(by_name) == {TRANSCRIPT, *STATISTICS, *FILE_STATISTICS}
    assert by_name["value at the canary's cell and step"] > 0.5
    assert by_name["words of the label"] == by_name["names of the files"] == 0


def test_transcripts_are_drawn_as_runs_draw_them() -> None:
    """The log-ratio of whole runs and of drawn transcripts: the same distribution, of values that both take."""
    case = Case.of("even", "1", _worlds(FIRST, trains=False))
    pairs = [Pair(case, canary=True) for _ in range(200)]
    drawn = draw(pairs[0].with_canary, pairs[0].without, 4000, ExactNoise())
    whole = np.array([pair.ratio for pair in pairs])
    assert max(abs(whole).max(), abs(drawn).max()) <= 1 + 1e-9
    # One answer: at its far side the ratio is 1 with chance 1/2 with the canary. Six standard deviations.
    assert abs((whole > 1 - 1e-9).mean() - 0.5) < 6 * 0.5 / np.sqrt(200)
    assert abs((drawn > 1 - 1e-9).mean() - 0.5) < 6 * 0.5 / np.sqrt(4000)


def test_errors_are_shared_out_among_all_bounds() -> None:
    effort = Effort()
    attacks = [attack for name in family("mine") for attack in attacks_on(name, effort)]
    assert error_of_each(family("mine"), effort) * sum(attack.tests for attack in attacks) == pytest.approx(ERROR)
    assert {attack.mechanism for attack in attacks} == {*names(), "mine"}
    assert {attack.canary for attack in attacks_on("mosaic", effort)} == {attack.canary for attack in attacks}


def test_processes_side_by_side_carry_out_all_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [Attack("even", canary, 4, 0, 1, 60) for canary in (FIRST, "in an empty cell")]
    monkeypatch.setattr(together, "attacks_on", lambda *_: two)
    told: list[float] = []
    found = together.audit_all(["even"], "1", Effort(), told.append, workers=2)["even"]
    assert len(found.findings) == sum(attack.tests for attack in two)
    assert {one.canary for one in found.findings} == {attack.canary for attack in two}
    assert told == [0.5, 1.0]


def test_a_release_of_a_run_says_what_a_publication_says() -> None:
    outcome = run_once(Case.of("identity", "1", _worlds(FIRST, trains=False)), canary=True, write=True)
    assert outcome.label.private
    assert outcome.label.privacy.epsilon == 1
    assert {"consumption.nc", "label.yaml", "README.md"} <= set(outcome.files)


def finding(lower: float, mechanism: str = "identity") -> Finding:
    return Finding(mechanism, 1.0, lower, 1 - ERROR, 100, TRANSCRIPT, FIRST, "given", {})


@pytest.mark.parametrize(
    ("carried", "words"),
    [
        (Carried([finding(0.9), finding(0.1)], 1.0, []), []),
        (Carried([finding(1.01)], 1.0, []), ["above the claim"]),
        (Carried([finding(0.69)], 1.0, []), ["they got weaker"]),
        (Carried([finding(0.9)], 1.0, ["the same answers"]), ["the same answers"]),
        (Carried([], np.inf, ["broken"]), ["broken", "they got weaker"]),
    ],
)
def test_what_is_objected_to(carried: Carried, words: list[str]) -> None:
    found = entries({"identity": carried}, 1.0)
    json.dumps(found, allow_nan=False)
    said = objections(found)
    assert len(said) == len(words)
    assert all(part in whole for part, whole in zip(words, said, strict=True))


def test_the_page_shows_the_kept_audit() -> None:
    assert markdown(json.loads(KEPT.read_text())) in KEPT.with_suffix(".md").read_text()


def test_the_kept_audit_is_of_all_mechanisms_and_objects_to_nothing() -> None:
    found = json.loads(KEPT.read_text())
    assert [entry["mechanism"] for entry in found] == names()
    assert set(LEAST) == set(names())
    assert objections(found) == []
    for entry in found:
        assert set(entry) >= NAMES
        assert entry["epsilon"] == 1
        assert entry["confidence"] == 1 - ERROR
        assert entry["lower"] >= max(other["lower"] for other in entry["others"])
        assert entry["lower"] <= entry["loss"] <= 1
        assert 1 + len(entry["others"]) == sum(attack.tests for attack in attacks_on(entry["mechanism"], Effort()))
