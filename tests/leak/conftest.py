"""The tables of the town and of its neighbours, written and read once; and a process that makes releases again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.leak import town

from gridveil.publishing import plan
from gridveil.trusted.source.ingest import IngestedSource

REPLAY = Path(__file__).parent / "replay.py"


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of the town ("unchanged") and, by name, of every change of one household."""
    top = tmp_path_factory.mktemp("tables")
    homes, rows = town.town()
    town.write(top / "unchanged", homes, rows)
    for what, change in town.CHANGES.items():
        town.write(top / what, *change(homes, rows))
    return top


@pytest.fixture(scope="session")
def sources() -> dict[str, Any]:
    """What was read, by what was asked for."""
    return {}


@pytest.fixture
def read_once(sources: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the same tables for the same grid and window once: reading them is told nothing of the mechanism, and what
    it returns is never changed.
    """
    ingest = plan.ingest

    def kept(*asked: Any) -> Any:
        key = repr((Path.cwd(), [one for one in asked if not callable(one)]))  # whoever is told of progress
        if key not in sources:
            sources[key] = ingest(*asked)
        return sources[key]

    monkeypatch.setattr(plan, "ingest", kept)
    for end in ("close", "forget"):
        monkeypatch.setattr(IngestedSource, end, lambda _: None)  # it is asked again


@pytest.fixture(scope="session")
def make_again(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], None]]:
    """Make a release again in a process that is told of nothing but folders with a label and noisy answers."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    start = [sys.executable, str(REPLAY)]
    with subprocess.Popen(start, cwd=elsewhere, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout

        def ask(folder: Path) -> None:
            print(folder, file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{folder}\n", "it could not be made again; the complaint is above"

        yield ask
