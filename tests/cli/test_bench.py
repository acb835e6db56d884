"""`gridveil bench paper`, with a few cheap methods: runs, resumes, reports."""

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
def test_a_run_writes_tables_and_figures_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    said = bench("--quick", "--out", out)
    assert "Wrote" in said
    total = int(re.findall(r"0 of (\d+) trials are done", said)[0])
    lines = (out / "london.jsonl").read_text().splitlines()
    (out / "london.jsonl").write_text("\n".join(lines[:-2]) + "\n" + lines[-2][:30])
    first = {path.name: path.read_bytes() for path in (out / "reproduction").iterdir()}
    tables = {"london", "london-ranks", "panels", "panels-ranks", "runtime"}
    figures = {"london", "panels", "runtime"}  # a curve needs two epsilons
    assert set(first) == {f"{name}.csv" for name in tables} | {
        f"{n}.{kind}" for n in figures for kind in ("png", "svg")
    }
    assert all(len(first[f"{name}.png"]) > 1000 for name in figures)
    assert b"NOT PRIVATE" in first["london.svg"]
    assert first["panels.csv"].startswith(b"dataset,placement,epsilon,bound,workload,truth,mechanism")
    partial = bench("--quick", "--report-only", "--out", out)
    assert f"{total - 2} of {total} trials are done" in partial
    assert (out / "reproduction" / "london.csv").read_bytes() != first["london.csv"]
    bench("--quick", "--out", out)
    assert len((out / "london.jsonl").read_text().splitlines()) == len(lines)
    assert {path.name: path.read_bytes() for path in (out / "reproduction").iterdir()} == first


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
