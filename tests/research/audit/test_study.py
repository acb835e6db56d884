"""The audit itself, with few runs; `docs/audit.json` is a full one.

False alarms: the errors of all lower bounds here add up to less than 1e-6.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gridveil.mechanisms.base import list_names
from gridveil.research.audit import study
from gridveil.research.audit.bound import lower_bound
from gridveil.research.audit.canaries import list_canaries
from gridveil.research.audit.effort import (
    ERROR,
    FIRST,
    MINIMA,
    SMALL_CANARY,
    Attack,
    Effort,
    list_attacks,
    share_error,
)
from gridveil.research.audit.outcomes import AuditCase, replay_run, run_once
from gridveil.research.audit.report import (
    as_json,
    list_objections,
    list_powerless,
    make_entries,
    make_markdown,
    state_verdict,
)
from gridveil.research.audit.statistics import FILE_STATISTICS, STATISTICS
from gridveil.research.audit.study import TRANSCRIPT, AttackResult, AuditFinding, _worlds, list_audited, run_attack
from gridveil.trusted.kernel.noise import ExactNoise

EACH = 1e-10
KEPT = Path(__file__).parents[3] / "docs" / "audit.json"
NAMES = {"mechanism", "epsilon", "lower", "confidence", "runs", "statistic"}


@pytest.fixture(scope="module", autouse=True)
def _worlds_are_let_go() -> Iterator[None]:
    """DuckDB complains of connections that are open when the process ends."""
    yield
    _worlds.cache_clear()


@pytest.mark.parametrize("mechanism", list_names())
def test_every_mechanism_can_be_attacked_and_no_answer_loses_more_than_is_claimed(mechanism: str) -> None:
    """Under a given bound and a private one. The loss of all answers is exact: no chance takes part."""
    losses = []
    for canary, runs in ((FIRST, 4), ("private bound", 0)):
        carried = run_attack(Attack(mechanism, canary, runs, 0, pairs=1, draws=600), "1", EACH)
        assert carried.faults == []
        assert len(carried.findings) == 1 + bool(runs) * len(STATISTICS)
        assert all(0 <= found.lower <= 1 for found in carried.findings)
        losses.append(carried.loss)
    assert 0 < max(losses) <= 1


def test_identity_at_epsilon_1_gives_at_least_0_7_away() -> None:
    """By the answers' likelihood. With 40,000 runs the bound is 0.85 or so; 0.7 is five standard deviations below."""
    (found,) = run_attack(Attack("identity", FIRST, 0, 0, pairs=1, draws=120_000), "1", EACH).findings
    assert 0.7 <= found.lower <= 1
    assert (found.statistic, found.runs) == (TRANSCRIPT, 40_000)


def test_the_published_value_alone_gives_a_canary_away() -> None:
    """By whole runs, at an epsilon where few of them do: about 1.2 of 4 is proven, and guessing would prove nothing."""
    carried = run_attack(Attack("identity", FIRST, 400, 4, pairs=1, draws=600), "4", EACH)
    by_name = {found.statistic: found.lower for found in carried.findings}
    assert set(by_name) == {TRANSCRIPT, *STATISTICS, *FILE_STATISTICS}
    assert by_name["value at the canary's cell and step"] > 0.5
    assert by_name["words of the label"] == by_name["names of the files"] == 0


def test_transcripts_are_drawn_as_runs_draw_them() -> None:
    """The log-ratio of whole runs and of drawn transcripts: the same distribution, of values that both take."""
    case = AuditCase.of("even", "1", _worlds(FIRST, trains=False))
    pairs = [replay_run(case, canary=True) for _ in range(200)]
    drawn = pairs[0].draw(4000, ExactNoise(), present=True)
    whole = np.array([pair.ratio for pair in pairs])
    assert max(abs(whole).max(), abs(drawn).max()) <= 1 + 1e-9
    # One answer: at its far side the ratio is 1 with chance 1/2 with the canary. Six standard deviations.
    assert abs((whole > 1 - 1e-9).mean() - 0.5) < 6 * 0.5 / np.sqrt(200)
    assert abs((drawn > 1 - 1e-9).mean() - 0.5) < 6 * 0.5 / np.sqrt(4000)


def test_errors_are_shared_out_among_all_bounds() -> None:
    effort = Effort()
    attacks = [attack for name in list_audited("mine") for attack in list_attacks(name, effort)]
    assert share_error(list_audited("mine"), effort) * sum(attack.tests for attack in attacks) == pytest.approx(ERROR)
    assert {attack.mechanism for attack in attacks} == {*list_names(), "mine"}
    assert {attack.canary for attack in list_attacks("mosaic", effort)} == {attack.canary for attack in attacks}


def test_processes_side_by_side_carry_out_all_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    two = [Attack("even", canary, 4, 0, 1, 60) for canary in (FIRST, "in an empty cell")]
    monkeypatch.setattr(study, "list_attacks", lambda *_: two)
    told: list[float] = []
    found = study.audit_all(["even"], "1", Effort(), told.append, workers=2)["even"]
    assert len(found.findings) == sum(attack.tests for attack in two)
    assert {one.canary for one in found.findings} == {attack.canary for attack in two}
    assert told == [0.5, 1.0]


def test_a_release_of_a_run_says_what_a_publication_says() -> None:
    outcome = run_once(AuditCase.of("identity", "1", _worlds(FIRST, trains=False)), canary=True, write=True)
    assert outcome.label.private
    assert outcome.label.privacy.epsilon == 1
    assert {"consumption.nc", "label.json", "README.md"} <= set(outcome.files)


def finding(lower: float, statistic: str = TRANSCRIPT, runs: int = 100, ceiling: float = 5.0) -> AuditFinding:
    return AuditFinding("identity", 1.0, lower, 1 - ERROR, runs, statistic, ceiling, FIRST, "given", {})


SEEN = finding(0.6, "total of the map")
FULL, SMALL = {FIRST: 1.0}, {FIRST: 1.0, SMALL_CANARY: 0.1}


@pytest.mark.parametrize(
    ("carried", "words"),
    [
        (AttackResult([finding(0.9), SEEN, finding(0.1)], SMALL, []), []),
        (AttackResult([finding(1.01), SEEN], FULL, []), ["above the claim"]),
        (AttackResult([finding(1 + 1e-8), SEEN], FULL, []), ["attained 1.00000001 by its transcript"]),
        (AttackResult([finding(0.69), SEEN], FULL, []), ["the attacks attained 0.69"]),
        (AttackResult([finding(0.9), finding(0.4, "total of the map")], FULL, []), ["whole runs attained 0.4"]),
        (
            AttackResult([finding(0.9), SEEN], {**FULL, "every step full": 0.8}, []),
            ["canary every step full attained 0.8"],
        ),
        (AttackResult([finding(0.9), SEEN], {FIRST: 0.95}, []), ["the largest exact loss attained 0.95"]),
        (
            AttackResult([finding(0.9), SEEN], {**FULL, SMALL_CANARY: 0.01}, []),
            [f"canary {SMALL_CANARY} attained 0.01"],
        ),
        (AttackResult([finding(0.9), SEEN], FULL, ["the same answers"]), ["the same answers"]),
        (AttackResult([], {FIRST: np.inf}, ["broken"]), ["broken", "the attacks attained 0", "whole runs attained 0"]),
    ],
)
def test_what_is_objected_to(carried: AttackResult, words: list[str]) -> None:
    found = make_entries({"identity": carried}, 1.0)
    assert set(json.loads(as_json(found))[0]) >= NAMES
    said = list_objections(found)
    assert len(said) == len(words)
    assert all(part in whole for part, whole in zip(words, said, strict=True))


def test_attacks_that_are_blind_are_objected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics that are always zero, and a canary that uses nothing: nothing is above the claim, and yet it fails."""
    monkeypatch.setattr(study, "STATISTICS", dict.fromkeys(STATISTICS, lambda *_: 0.0))
    blind = run_attack(Attack("identity", FIRST, 8, 0, pairs=1, draws=600), "1", EACH)
    assert {found.lower for found in blind.findings if found.statistic != TRANSCRIPT} == {0}
    assert any("whole runs attained 0," in words for words in list_objections(make_entries({"identity": blind}, 1.0)))

    dead = replace(list_canaries()[0], name="dead", steps=())
    monkeypatch.setattr(study, "list_canaries", lambda: [dead])
    absent = run_attack(Attack("identity", "dead", 0, 0, pairs=1, draws=600), "1", EACH)
    assert any(
        "exact loss of canary dead attained 0," in words
        for words in list_objections(make_entries({"identity": absent}, 1.0))
    )


def test_attacks_that_cannot_refute_a_claim_say_so() -> None:
    found = make_entries(
        {"identity": AttackResult([finding(0.9), finding(0.1, "total of the map", 20, 0.5)], FULL, [])}, 1.0
    )
    assert list_powerless(found) == ["20 runs prove 0.50 at most and cannot refute a claim of 1: identity"]
    assert state_verdict(found).endswith("every attack was as strong as it must be.")
    more = [{**found[0], "epsilon": 3.0}]
    assert "not checked" in state_verdict(more)


def test_every_attack_of_a_full_audit_at_epsilon_1_could_refute_it() -> None:
    each, effort = share_error(list_audited(), Effort()), Effort()
    least_runs = min(attack.runs for name in list_names() for attack in list_attacks(name, effort) if attack.runs)
    certain = lower_bound([1.0] * least_runs, [0.0] * least_runs, error=each)
    assert 1 < certain.lower == certain.ceiling < 3


def test_the_page_shows_the_kept_audit() -> None:
    assert make_markdown(json.loads(KEPT.read_text())) in KEPT.with_suffix(".md").read_text()


def test_the_kept_audit_is_of_all_mechanisms_and_objects_to_nothing() -> None:
    found = json.loads(KEPT.read_text())
    assert [entry["mechanism"] for entry in found] == list_names()
    assert set(MINIMA) == set(list_names())
    assert list_objections(found) == []
    for entry in found:
        assert set(entry) >= NAMES
        assert entry["epsilon"] == 1
        assert entry["confidence"] == 1 - ERROR
        assert entry["lower"] >= max(other["lower"] for other in entry["others"])
        assert entry["lower"] <= entry["loss"] <= 1
        assert set(entry["losses"]) == {attack.name for attack in list_attacks(entry["mechanism"], Effort())}
        assert all(one["lower"] <= one["ceiling"] > 1 for one in (entry, *entry["others"]))
        assert 1 + len(entry["others"]) == sum(attack.tests for attack in list_attacks(entry["mechanism"], Effort()))
