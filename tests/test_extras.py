"""What a plain installation does, and what commands say where an extra is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from datetime import UTC, datetime, timedelta
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]

BLOCKING = 'import json, os, sys; sys.modules.update(dict.fromkeys(json.loads(os.environ["BLOCKED_MODULES"])))'
"""Makes modules look as if they were not installed, from the start of a process on."""

COMMAND = f"{BLOCKING}\nfrom gridveil.cli.main import main\nmain()"


def installed_by(requirements: list[str]) -> set[str]:
    """Return all packages that requirements install, those of their own requirements included."""
    found: set[str] = set()
    todo = [Requirement(text) for text in requirements]
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        extras = ["", *wanted.extras]
        if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        if name in found and not wanted.extras:
            continue
        found.add(name)
        for text in requires(name) or []:
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                inner.marker = None
                todo.append(inner)
    return found


def modules_beyond(requirements: list[str]) -> list[str]:
    """Return the modules of this environment that requirements do not install."""
    there = installed_by(requirements)
    owners = packages_distributions()
    return sorted(
        module
        for module, packages in owners.items()
        if not there & {canonicalize_name(package) for package in packages}
        and not {"gridveil"} & set(packages)
        and module not in sys.stdlib_module_names
    )


def environment(blocked: list[str]) -> dict[str, str]:
    return os.environ | {"BLOCKED_MODULES": json.dumps(blocked)}


def gridveil(blocked: list[str], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, words)],
        env=environment(blocked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Readings of a day, and places, of 30 households."""
    folder = tmp_path_factory.mktemp("town")
    start = datetime(2013, 2, 4, tzinfo=UTC)
    names = [f"home-{number}" for number in range(30)]
    rows = [(name, start + timedelta(hours=hour), 0.3 + 0.01 * hour) for name in names for hour in range(24)]
    household, timestamp, kwh = zip(*rows, strict=True)
    pq.write_table(pa.table({"household": household, "timestamp": timestamp, "kwh": kwh}), folder / "readings.parquet")
    places = {"household": names, "x": [n % 4 + 0.5 for n in range(30)], "y": [n // 8 + 0.5 for n in range(30)]}
    pq.write_table(pa.table(places), folder / "households.parquet")
    return folder / "readings.parquet", folder / "households.parquet"


WHAT = ("--extent", "0,0,4,4", "--grid", "4x4", "--start", "2013-02-04T00:00", "--steps", "24")


def test_a_plain_installation_publishes_opens_queries_and_serves(tables: tuple[Path, Path], tmp_path: Path) -> None:
    blocked = modules_beyond(PROJECT["dependencies"])
    assert {"torch", "pyspark", "psycopg", "scipy", "pytest"} <= set(blocked)
    assert not {"numpy", "duckdb", "ibis", "h5py"} & set(blocked)
    readings, households = tables
    release = tmp_path / "release"
    published = gridveil(
        blocked, "publish", readings, "--households", households, *WHAT, "--epsilon", 1, "--no-ledger", "--out", release
    )
    assert published.returncode == 0, published.stderr
    for words in (
        ["query", release],
        ["info", release],
        ["verify", release],
        ["report", release, "-o", tmp_path / "r.html"],
    ):
        done = gridveil(blocked, *words)
        assert done.returncode == 0, done.stderr
    for kind in ("csv", "parquet", "xlsx", "zarr", "geojson"):
        done = gridveil(blocked, "export", release, "--to", kind, "--out", tmp_path / f"town.{kind}")
        assert done.returncode == 0, done.stderr
    serving = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", str(release), "--port", "0"],
        env=environment(blocked),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[-4]
        with urllib.request.urlopen(f"{address}/api/releases/release/query", timeout=60) as answer:  # noqa: S310 - on loopback
            assert json.load(answer)["value"] > 0
    finally:
        serving.kill()
        serving.communicate()


NOWHERE = "postgresql://nobody@127.0.0.1:1/none"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("stpt", ["publish", "READINGS", "--mechanism", "stpt", "--epsilon", "1", "--no-ledger", "--out", "OUT"]),
        ("spark", ["check", "READINGS", "--engine", "spark"]),
        ("postgres", ["check", "metering.readings", "--engine", "postgres", "--database", NOWHERE]),
        ("postgres", ["ledger", "show", NOWHERE]),
        ("postgres", ["publish", "READINGS", "--epsilon", "1", "--ledger", NOWHERE, "--out", "OUT"]),
        ("research", ["audit", "--mechanism", "even"]),
        ("research", ["bench", "paper", "--quick", "--out", "OUT"]),
        ("research", ["compare", "--mechanisms", "even", "--json", "OUT"]),
    ],
)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    extra: str, words: list[str], tables: tuple[Path, Path], tmp_path: Path
) -> None:
    blocked = modules_beyond(PROJECT["dependencies"])
    readings, households = tables
    given = [{"READINGS": str(readings), "OUT": str(tmp_path / "out")}.get(word, word) for word in words]
    if given[0] in {"publish", "check"}:
        given += ["--households", str(households), *WHAT]
    done = gridveil(blocked, *given)
    assert done.returncode == 2, done.stderr
    assert done.stderr.rstrip().endswith("[extra-missing]")
    assert f"pip install 'gridveil[{extra}]'" in done.stderr
    assert not (tmp_path / "out").exists()
