"""`gridveil audit`: what is written, and when it fails."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gridveil.cli import main as cli
from gridveil.research.audit import study
from gridveil.research.audit.study import AttackResult, AuditFinding


def audit(monkeypatch: pytest.MonkeyPatch, *flags: object) -> int:
    monkeypatch.setattr(sys, "argv", ["gridveil", "audit", *map(str, flags)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0)


@pytest.fixture
def attained(monkeypatch: pytest.MonkeyPatch) -> dict[str, AttackResult]:
    """What the attacks are said to have attained; nothing is run."""
    said: dict[str, AttackResult] = {}
    monkeypatch.setattr(study, "audit_all", lambda names, *_: {name: said.get(name, carried(name)) for name in names})
    return said


def carried(name: str, lower: float = 0.95, *faults: str) -> AttackResult:
    def by(statistic: str, attained: float) -> AuditFinding:
        return AuditFinding(name, 1.0, attained, 0.999999, 1000, statistic, 3.1, "all in one step", "given", {})

    findings = [by("transcript log-likelihood", lower), by("total of the map", 0.55)]
    return AttackResult(findings, {"all in one step": 1.0}, list(faults))


def test_findings_are_written_and_drawn(
    attained: dict[str, AttackResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    del attained
    out, picture = tmp_path / "audit.json", tmp_path / "audit.png"
    assert audit(monkeypatch, "--all", "--epsilon", 1, "--json", out, "--figure", picture) == 0
    found = json.loads(out.read_text())
    assert len(found) == 22
    first = {"mechanism": "mosaic", "epsilon": 1.0, "lower": 0.95, "confidence": 0.999999, "runs": 1000}
    assert {**found[0], **first, "statistic": "transcript log-likelihood"} == found[0]
    assert picture.read_bytes().startswith(b"\x89PNG")
    told = capfd.readouterr().out
    assert "identity" in told
    assert "0.55 of 3.10" in told
    assert "No lower bound is above its claim" in told


@pytest.mark.parametrize(
    ("of_identity", "words"),
    [
        (carried("identity", 1.2), "above the claim"),
        (carried("identity", 0.6), "weaker than they were"),
        (carried("identity", 0.9, "something leaks"), "something leaks"),
        (AttackResult([], {"all in one step": np.inf}, ["nothing could be run"]), "nothing could be run"),
    ],
)
def test_a_bad_audit_fails_and_says_why(
    of_identity: AttackResult,
    words: str,
    attained: dict[str, AttackResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    attained["identity"] = of_identity
    out = tmp_path / "audit.json"
    assert audit(monkeypatch, "--mechanism", "identity", "--json", out) == 1
    assert words in capfd.readouterr().err
    assert out.exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "[audit-needs-mechanism]"),
        (("--all", "--mechanism", "identity"), "[audit-needs-mechanism]"),
        (("--mechanism", "identify"), "[name-unknown]"),
        (("--mechanism", "count-rule"), "[comparison-only]"),
        (("--mechanism", "identity", "--figure", "audit.doc"), "--figure audit.doc"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_runs(
    flags: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert audit(monkeypatch, *flags) == 2
    assert words in capfd.readouterr().err
