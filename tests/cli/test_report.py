from pathlib import Path
from typing import Any

import pytest
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label
from typer.testing import CliRunner

from gridveil.cli import releases
from gridveil.cli.main import app, main
from gridveil.model.errors import UsageError
from gridveil.release.format.netcdf import write_release
from gridveil.simulate import demo


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "a town"
    write_release(path, grid=GRID, window=WINDOW, estimate=make_estimate("parts"), label=make_label())
    return path


def test_a_report_is_one_file(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", str(release), "-o", str(out), "--timezone", "Europe/London"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(str(out))
    assert result.stderr == "draw the report\n"
    page = out.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "the clock in Europe/London" in page
    assert "gridveil serve &#x27;a town&#x27; --open" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a town", "page.html"]


@pytest.mark.parametrize("arguments", [["-o", "there.html"], ["-o", "new.html", "--timezone", "Nowhere"]])
def test_a_report_is_refused_before_anything_is_written(
    release: Path, tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.html").write_text("mine")
    result = CliRunner().invoke(app, ["report", str(release), *arguments])
    assert isinstance(result.exception, UsageError)
    assert (tmp_path / "there.html").read_text() == "mine"
    assert not (tmp_path / "new.html").exists()


def test_what_a_disk_refuses_is_told_without_a_traceback(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below a file: not even root can make a folder there. Of any command: it is `main` that tells it."""
    (tmp_path / "file").touch()
    monkeypatch.setattr("sys.argv", ["gridveil", "report", str(release), "-o", str(tmp_path / "file" / "page.html")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err.splitlines()[1:] == [f"gridveil: {tmp_path / 'file'}: File exists"]


@pytest.mark.parametrize("flags", [[], ["--open"]])
def test_the_demo_says_how_to_open_the_map_and_can_do_it(
    tmp_path: Path, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, served = tmp_path / "demo", []
    monkeypatch.setattr(demo, "run_demo", lambda folder, _: {"mosaic": folder / "release-mosaic"})

    def run(releases: list[Path], **settings: Any) -> None:
        served.append((releases, settings))

    monkeypatch.setattr(releases, "serve", run)
    result = CliRunner().invoke(app, ["demo", "--out", str(out), *flags])
    assert result.exit_code == 0, result.output
    assert f"serve {out / 'release-mosaic'} --open" in result.output.splitlines()[-1]
    assert served == ([([out / "release-mosaic"], {"port": 0, "browse": True})] if flags else [])
