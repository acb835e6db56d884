"""Releases that somebody changed: asked, or refused in words; never an error of a library, and never long."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.oracle import refusal
from tests.fuzz.releases import CHANGES, KINDS, VALUES, change_file, change_label, names, write

from gridveil.release.export import export
from gridveil.release.query.open import open_release
from gridveil.report.page import make_page

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"  # looks for new examples; else they are the same in every run


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("originals")
    return {kind: write(top / kind, kind) for kind in KINDS}


def ask(path: Path, *, more: bool = False) -> None:
    """Ask a release what commands ask it."""
    release = open_release(path)
    release.query(x=(0, 2), time=(1, 3))
    release.cells(0, 2)
    release.values()
    if more:
        export(release, path / "out.csv", "csv")
        make_page(release, name="changed")


@given(
    kind=st.sampled_from(KINDS),
    places=st.lists(st.tuples(st.integers(0, 99), CHANGES), max_size=3),
    facts=st.lists(st.tuples(st.integers(0, 99), VALUES), max_size=2),
)
@settings(max_examples=3000 if LONG else 60, derandomize=not LONG, suppress_health_check=list(HealthCheck))
def test_changed_releases_answer_or_are_refused(
    originals: dict[str, Path], tmp_path: Path, kind: str, places: list[tuple[int, Any]], facts: list[tuple[int, Any]]
) -> None:
    path = tmp_path / "release"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(originals[kind], path)
    os.mkfifo(path / "pipe")  # a link to it must not be followed: nobody ever writes
    for place, (how, value) in places:
        known = names(path) if h5py.is_hdf5(path / "consumption.nc") else []
        with h5py.File(path / "consumption.nc", "r+") as file:
            change_file(file, known[place % len(known)], how, value)
    change_label(path, facts)
    said = refusal(lambda: ask(path, more=len(places) + len(facts) == 1))
    assert said is None or "label.json" in said or "consumption.nc" in said
