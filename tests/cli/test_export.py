"""`gridveil export`: what it says, what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label
from typer.testing import CliRunner

from gridveil.cli.main import app
from gridveil.model.errors import UsageError
from gridveil.release.export import EXPORTERS
from gridveil.release.export import export as write_export
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")


def gridveil(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRIDVEIL, *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, private in (("release", True), ("test-noise", False)):
        label = make_label(private=private)
        write_release(tmp_path / name, grid=GRID, window=WINDOW, estimate=make_estimate("parts"), label=label)
    return tmp_path


def test_it_says_what_it_wrote(work: Path) -> None:
    done = gridveil(work, "export", "release", "--to", "csv", "--out", "out/town.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Wrote out/town.csv\nWrote out/town.csv.label.json\n"
    assert done.stderr == ""  # no progress of what takes no time
    assert len((work / "out/town.csv").read_text().splitlines()) == 1 + 8 * 5 * 30


def test_test_noise_is_said_to_be_not_private(work: Path) -> None:
    done = gridveil(work, "export", "test-noise", "--to", "parquet", "--out", "town.parquet")
    assert done.returncode == 0
    assert "NOT PRIVATE: made with test noise" in done.stdout


def test_mistakes_are_sentences_and_leave_nothing(work: Path) -> None:
    unknown = gridveil(work, "export", "release", "--to", "xls", "--out", "town.xls")
    assert unknown.returncode == 2
    assert all(name in unknown.stderr for name in EXPORTERS.names())
    there = gridveil(work, "export", "release", "--to", "csv", "--out", "release")
    assert (there.returncode, "[out-exists]" in there.stderr) == (2, True)
    missing = gridveil(work, "export", "nowhere", "--to", "csv", "--out", "town.csv")
    assert (missing.returncode, "[label-missing]" in missing.stderr) == (3, True)
    assert {file.name for file in work.iterdir()} == {"release", "test-noise"}


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_a_name_that_is_taken_is_refused_before_anything_is_computed(
    work: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "town").write_text("mine")
    release = open_release(work / "release")
    computed: list[str] = []
    for name in ("cells", "over", "answers_of", "values"):
        monkeypatch.setattr(Release, name, lambda *_, name=name, **__: computed.append(name))
    with pytest.raises(UsageError, check=has_code("out-exists")):
        write_export(release, work / "town", form, lambda stage, _: computed.append(stage))
    assert not computed


def test_help_names_every_format() -> None:
    help_text = CliRunner().invoke(app, ["export", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in help_text for name in EXPORTERS.names())
