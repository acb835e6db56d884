"""An export is there whole or not at all, never in the place of something else, and made in bounded memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zarr
from tests.codes import has_code
from tests.release.export.conftest import Publish
from tests.release.export.readers import read
from tests.release.export.test_round_trip import check_error_bars, check_sums
from tests.work import wait_until

from gridveil.model.errors import UsageError
from gridveil.release.export import EXPORTERS, as_zarr, export
from gridveil.release.export import table as walk
from gridveil.release.export.table import Slab, slabs

KILLED = """
import os, signal, sys
from gridveil.release.export import export
from gridveil.release.query.open import open_release
def progress(stage, done):
    if done >= 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
export(open_release(sys.argv[1]), sys.argv[2], sys.argv[3], progress)
"""


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_killed_half_way_leaves_nothing_under_the_name(release_of: Publish, tmp_path: Path, form: str) -> None:
    release_of()
    words = [sys.executable, "-c", KILLED, str(tmp_path / "release"), str(tmp_path / "town"), form]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert {file.name for file in tmp_path.iterdir() if not file.name.startswith(".gridveil-")} == {"release"}


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_a_failure_half_way_leaves_nothing_at_all(release_of: Publish, tmp_path: Path, form: str) -> None:
    def fail(_stage: str, done: float) -> None:
        if done >= 0.5:
            raise KeyboardInterrupt

    release = release_of()
    with pytest.raises(KeyboardInterrupt):
        export(release, tmp_path / "town", form, fail)
    assert [file.name for file in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_what_is_there_is_never_overwritten(release_of: Publish, tmp_path: Path, form: str) -> None:
    release = release_of()
    (tmp_path / "town").write_text("mine")
    with pytest.raises(UsageError, check=has_code("out-exists")):
        export(release, tmp_path / "town", form)
    assert (tmp_path / "town").read_text() == "mine"


def test_a_label_beside_is_never_overwritten(release_of: Publish, tmp_path: Path) -> None:
    release = release_of()
    (tmp_path / "town.csv.label.json").write_text("mine")
    with pytest.raises(UsageError, check=has_code("out-exists", "town.csv.label.json")):
        export(release, tmp_path / "town.csv", "csv")
    assert {file.name for file in tmp_path.iterdir()} == {"release", "town.csv.label.json"}


def test_a_table_whose_name_was_taken_meanwhile_leaves_no_label(release_of: Publish, tmp_path: Path) -> None:
    release = release_of()

    def interfere(_stage: str, done: float) -> None:
        if done == 1:
            (tmp_path / "town.csv").write_text("mine")

    with pytest.raises(UsageError, check=has_code("out-exists", "town.csv")):
        export(release, tmp_path / "town.csv", "csv", interfere)
    assert {file.name for file in tmp_path.iterdir()} == {"release", "town.csv"}
    assert (tmp_path / "town.csv").read_text() == "mine"


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_everybody_may_read_it(release_of: Publish, tmp_path: Path, form: str) -> None:
    for path in export(release_of(), tmp_path / "town", form):
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("form", ["parquet", "csv", "geoparquet", "zarr"])
def test_only_a_slab_or_two_are_held_at_a_time(
    release_of: Publish, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, path, alive = release_of(), tmp_path / "town", []
    held: list[weakref.ref[Any]] = []

    def count_alive() -> int:
        return sum(number() is not None for number in held)

    def watch(release: Any, progress: Any, size: int = 0) -> Iterator[Slab]:
        for slab in slabs(release, progress, size or 4 * release.grid.cells):
            held.append(weakref.ref(slab.value.base))
            # Zarr writes in threads of its own, which may let go of a slab a little later.
            wait_until(lambda: count_alive() <= 2)
            alive.append(count_alive())
            yield slab

    module = import_module(f"gridveil.release.export.as_{'parquet' if form == 'geoparquet' else form}")
    monkeypatch.setattr(module, "slabs", watch)
    monkeypatch.setattr(as_zarr, "MAX_STEPS", 4)
    export(release, path, form)
    assert len(alive) == 8  # 30 steps
    got = read(form, path, release)
    check_sums(got, release)
    check_error_bars(got, release)
    if "parquet" in form:
        groups = pq.ParquetFile(path).metadata
        assert [groups.row_group(group).num_rows for group in range(8)] == [160] * 7 + [80]
    if form == "zarr":
        assert zarr.open_group(path, mode="r", use_consolidated=False)["consumption"].chunks == (4, 5, 8)


def test_slabs_have_about_a_million_cells_and_at_least_one_step(release_of: Publish) -> None:
    release = release_of()
    assert walk.SLAB == 2**20
    assert [len(slab.value) for slab in slabs(release)] == [30]
    assert [len(slab.value) for slab in slabs(release, size=1)] == [1] * 30
    parts = list(slabs(release, size=40 * 7))
    assert [part.steps for part in parts] == [slice(0, 7), slice(7, 14), slice(14, 21), slice(21, 28), slice(28, 30)]
    told: list[float] = []
    list(slabs(release, lambda _stage, done: told.append(done)))
    assert told == pytest.approx([(step + 1) / 30 for step in range(30)])
