"""`gridveil bench paper`, with a few cheap methods: runs, resumes, reports."""

import json
import re
from pathlib import Path

import pytest
from tests.codes import has_code
from typer.testing import CliRunner

from gridveil.cli.main import app
from gridveil.model.errors import InputError, UsageError
from gridveil.research.paper import experiments
from gridveil.research.paper.experiments import ExperimentSize

FEW = ("even", "wavelet", "count-rule")
TINY = ExperimentSize(
    repeats=1,
    london=(3.0, 30.0),
    panels=((30.0, ("uniform",)),),
    own_bounds=True,
    per_point=(),
    depths=(),
    buckets=(),
    detail_sets=(),
    leak_sets=(),
    leak_epsilons=(),
    runtime_repeats=1,
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "QUICK", TINY)
    monkeypatch.setattr(experiments, "all_methods", lambda: list(FEW))


def bench(*words: object) -> str:
    result = CliRunner().invoke(app, ["bench", "paper", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.usefixtures("tiny")
def test_a_run_writes_a_report_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    assert "Wrote" in bench("--quick", "--out", out)
    lines = (out / "london.jsonl").read_text().splitlines()
    (out / "london.jsonl").write_text("\n".join(lines[:-2]) + "\n" + lines[-2][:30])
    first = (out / "reproduction.md").read_text()
    assert "unfinished" not in first
    partial = bench("--quick", "--report-only", "--out", out)
    assert "Wrote" in partial
    assert "unfinished" in (out / "reproduction.md").read_text()
    bench("--quick", "--out", out)
    assert len((out / "london.jsonl").read_text().splitlines()) == len(lines)
    assert (out / "reproduction.md").read_text() == first
    assert "NOT PRIVATE" in first
    assert "20.0855 %" in first  # what epsilon 3 lets an attacker do
    for link in re.findall(r"\]\((reproduction/[^)]+)\)", first):
        assert (out / link).stat().st_size > 1000, link
    header = (out / "reproduction" / "panels.csv").read_text().splitlines()[0]
    assert header.startswith("dataset,placement,epsilon,bound,workload,truth,mechanism")
    assert "±" not in first  # of one repeat
    assert "Not run yet." in first
    assert "normal placement: not run yet" in first
    named = re.findall(r"`(\w+\.(?:csv|json))`", first.partition("## Files")[2])
    assert sorted(named) == sorted(p.name for p in (out / "reproduction").iterdir() if p.suffix in {".csv", ".json"})
    assert json.loads((out / "reproduction" / "findings.json").read_text())["runtime"]


@pytest.mark.usefixtures("tiny")
def test_faults_are_told_before_anything_is_run(tmp_path: Path) -> None:
    for data, code in (
        ("cer=x", "data-syntax"),
        ("lcl", "data-syntax"),
        (f"lcl={tmp_path / 'none.parquet'}", "file-missing"),
    ):
        with pytest.raises(UsageError, check=has_code(code, "--data")):
            bench("--quick", "--out", tmp_path / "out", "--data", data)
    (tmp_path / "points.csv").write_text("x,y,weight\n1,1,1\n")
    with pytest.raises(InputError, check=has_code("points-columns", "meters")):
        bench("--quick", "--out", tmp_path / "out", "--points", tmp_path / "points.csv", "--weight", "meters")
    with pytest.raises(UsageError, check=has_code("no-trials")):
        bench("--quick", "--report-only", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
