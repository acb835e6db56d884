"""A series as recipients use it: three days by `publish --next` over a change to summer time, then every command."""

from __future__ import annotations

import json
import shutil
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest
from tests import lake
from tests.cli.test_next import SPEC
from tests.codes import has_code
from typer.testing import CliRunner

import gridveil
from gridveil.cli.main import app
from gridveil.model.errors import InputError, UsageError
from gridveil.release.series.catalogue import read_catalogue, write_catalogue
from gridveil.trusted.ledger.book import create_ledger
from gridveil.trusted.ledger.population import Population

DAYS = ("2013-03-30", "2013-03-31", "2013-04-01")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    lake.write_lake(folder / "lake", date(2013, 3, 30), 3)
    (folder / "spec.toml").write_text(SPEC.format(start=DAYS[0]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for _ in DAYS:
            done = CliRunner().invoke(app, ["publish", "spec.toml", "--next"], catch_exceptions=False)
            assert done.exit_code == 0, done.output
    return folder / "series"


@pytest.fixture
def series(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(made, tmp_path / "series"))


def say(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def with_gap(series: Path) -> None:
    catalogue = read_catalogue(series)
    first, _, last = catalogue.releases
    write_catalogue(series, catalogue.model_copy(update={"releases": (first, last)}))


def test_info_lists_releases_with_their_epsilons(series: Path) -> None:
    output = say("info", "series")
    assert "epsilon 9." in output
    for day, steps in zip(DAYS, (24, 23, 24), strict=True):
        assert f"  {day}: {steps} steps from" in output
    assert output.count("epsilon 3, even") == 3
    assert output.count(" UTC, epsilon 3") == 3
    assert "71 steps of 3600 s from 2013-03-30 00:00 UTC." in output
    assert "Whatever someone does with these 3 releases together" in output
    assert "from these 3 releases together" in output
    assert "this release" not in output
    assert '"release_type": "Many releases"' in say("info", "series", "--registry")
    one = say("info", str(series / DAYS[0]))
    assert "Releases\n" not in one
    assert "from this release" in one


@pytest.mark.parametrize("unit", ["household", "household-window"])
def test_what_a_ledger_knew_before_a_gap_is_not_told_as_what_it_knows_now(
    made: Path, tmp_path: Path, unit: str
) -> None:
    where, calendar = str(tmp_path / "town.db"), ("day", "Europe/London") if unit == "household-window" else ()
    create_ledger(where).add_population(Population("town", Fraction(9), unit, *calendar))
    changes = {"cadence": "day", "ledger": where, "no_ledger": False, "bound_window": 40}
    for _ in DAYS:
        gridveil.publish_next(**lake.settings(made.parent / "lake", tmp_path / "series", DAYS[0], **changes))
    with_gap(tmp_path / "series")
    output = say("info", str(tmp_path / "series"))
    assert "so far" not in output
    assert output.count("All 2 releases of this series, also those beyond its gaps, have epsilon 6 together.") == 2
    if unit == "household":
        assert "with the last of these, epsilon 3 of at most 9 was spent." in output
    else:
        for spent in (3, 9):
            assert f"does not limit the sum of all releases: epsilon {spent} up to the last of these" in output
    assert "from all releases of population 'town' up to the last of these" in output
    assert "In the data, or not: at most 99.9878 % (loss 9)" in output


def test_queries_add_up_over_releases(series: Path) -> None:
    whole = json.loads(say("query", "series", "--json"))
    own = [json.loads(say("query", str(series / day), "--json")) for day in DAYS]
    assert whole["value"] == pytest.approx(sum(answer["value"] for answer in own))
    across = json.loads(say("query", "series", "--json", "--time", "2013-03-30T12/2013-03-31T12"))
    assert 0 < across["value"] < whole["value"]
    assert gridveil.open("series").query().value == pytest.approx(whole["value"])


def test_a_series_is_shown_in_a_line_and_one_without_its_catalogue_is_refused(series: Path) -> None:
    assert repr(gridveil.open("series")) == (
        "<Release 'Electricity consumption': 3 releases, 71 steps of 1:00:00 from 2013-03-30 00:00 UTC, 4 x 4 cells, "
        "epsilon 9>"
    )
    assert "3 releases" not in repr(gridveil.open(series / DAYS[0]))
    (series / "catalogue.json").unlink()
    with pytest.raises(InputError, check=has_code("catalogue-missing")):
        gridveil.open("series")


def test_exports_and_reports(series: Path) -> None:
    assert "Wrote" in say("export", "series", "--to", "csv", "--out", "series.csv")
    rows = (series.parent / "series.csv").read_text().splitlines()
    assert sum("2013-0" in row for row in rows) == 71 * 16
    say("report", "series", "--out", "page.html")
    page = (series.parent / "page.html").read_text()
    assert "30 March" in page
    assert "by the clock in Europe/London" in page
    assert "The release itself" not in page
    assert "3 releases of epsilon 3 each (their sum is 9)" in page
    assert "series/2013-04-01/consumption.nc&quot;" in page
    assert "these 3 releases together" in page
    say("report", "series/2013-04-01", "--out", "one.html")
    one = (series.parent / "one.html").read_text()
    assert "The release itself is the folder <code>2013-04-01</code>" in one
    assert "2013-04-01/consumption.nc&quot;" in one


def test_verify_looks_at_every_release(series: Path) -> None:
    output = say("verify", "series")
    assert output.count(" ok ") == 1 + len(DAYS)
    assert "without gaps" in " ".join(output.split())
    shutil.copytree(series / DAYS[0], series / "another")
    assert "'another'" in say("verify", "series")
    with_gap(series)
    output = " ".join(say("verify", "series").replace("│", " ").split())
    assert "nothing was published from 2013-03-31 00:00 to 2013-03-31 23:00" in output


def test_verify_finds_what_does_not_fit(series: Path) -> None:
    values = series / DAYS[1] / "consumption.nc"
    raw = bytearray(values.read_bytes())
    raw[-100] ^= 1
    values.write_bytes(raw)
    shutil.rmtree(series / DAYS[2])
    done = CliRunner().invoke(app, ["verify", "series"])
    assert isinstance(done.exception, InputError)
    assert done.exception.code == "release-faulty"
    output = "".join(done.output.replace("│", " ").split())
    assert f"{DAYS[1]}/SHA256SUMS" in output
    assert "itismissing" in output


def test_gaps_are_told_and_never_filled(series: Path) -> None:
    with_gap(series)
    with pytest.warns(UserWarning, match="This series has gaps"):
        opened = gridveil.open("series")
    with pytest.raises(UsageError, check=has_code("range-in-gap", "2013-03-31 00:00")):
        opened.query(time=("2013-03-30T12", "2013-04-01T12"))
    done = CliRunner().invoke(app, ["query", "series", "--time", "2013-03-30"], catch_exceptions=False)
    assert "This series has gaps" in done.stderr
    assert "kWh" in done.stdout
    for day in ("2013-03-30T00/2013-03-30T12", "2013-04-01T00/2013-04-01T12"):
        assert "kWh" in say("query", "series", "--time", day)
    assert CliRunner().invoke(app, ["query", "series", "--time", "2013-03-31"]).exit_code != 0
    assert say("info", "series").count("This series has gaps") == 2
    assert "only" in CliRunner().invoke(app, ["export", "series", "--to", "csv", "--out", "a.csv"]).stderr
