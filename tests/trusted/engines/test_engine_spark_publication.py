"""A whole publication on Spark is that on DuckDB, byte for byte, and says nothing of the engine."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.leak import town
from tests.trusted.engines import spark

from gridveil.publishing.run import run
from gridveil.publishing.spec import make_spec, read_spec
from gridveil.release.query.open import open_release
from gridveil.simulate.sources import Tape

EXAMPLES = Path(__file__).parents[3] / "examples" / "spark"
TODAY = date(2026, 11, 16)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "town"
    town.write(folder, *town.town())
    monkeypatch.chdir(folder)
    return folder


def published(settings: dict[str, Any]) -> dict[str, str]:
    out = run(make_spec(settings), noise=Tape.record(seed=6), today=TODAY).path
    files = [file for file in sorted(out.rglob("*")) if file.is_file()]
    return {str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_engine_spark_publishes_as_duckdb_does(here: Path) -> None:
    spark.settings()
    settings = town.settings("mosaic", "auto")
    expected = published(settings)
    assert len(expected) > 3
    assert published({**settings, "engine": "spark", "out": Path("again")}) == expected
    said = b"".join(file.read_bytes() for file in (here / "again").rglob("*") if file.is_file())
    assert b"spark" not in said.lower()


def test_engine_spark_is_submitted(here: Path) -> None:
    """The recipe of docs/engines.md, in a process of its own: exact noise, no rows in logs, nothing left behind."""
    spark.settings()
    lines = ["steps = 24", 'extent = "0,0,4,4"', 'grid = "4x4"', "start = 2013-02-04T00:00:00", "epsilon = 3"]
    lines += ['mechanism = "even"', "bound_step = 5", "bound_window = 40", "no_ledger = true", 'out = "release"']
    lines += ['readings = "readings.parquet"', 'households = "households.parquet"', 'engine = "spark"']
    Path("spec.toml").write_text("\n".join(lines))
    submit = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local[2]", str(EXAMPLES / "submit.py")]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [*submit, "publish", "spec.toml"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert open_release(here / "release").label.mechanism.name == "even"
    logged = [line for line in done.stderr.splitlines() if re.search(" (INFO|WARN|ERROR) ", line)]
    assert logged  # whoever submits it decides on logging
    assert not [line for line in logged if "household-" in line]  # only the operator's report names one
    log = here / "gridveil-operator.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert "operator only" in log.read_text()
    assert "operator only" not in done.stdout  # into which spark-submit puts standard error
    assert str(log) in done.stdout
    made = {"spec.toml", "readings.parquet", "households.parquet", "release", log.name}
    assert {path.name for path in here.iterdir()} == made


def test_engine_spark_addresses_of_clusters_are_not_paths_beside_the_spec() -> None:
    settings = read_spec(EXAMPLES / "lake.toml")
    assert settings["readings"]["path"] == "s3a://metering/readings/%Y/%m/%d/*.parquet"
    assert make_spec(settings).to_engine().name == "spark"
