"""The command as people run it: its own process, exit codes, words."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import gridveil
from gridveil.cli.main import main
from gridveil.geography.grid import Grid
from gridveil.simulate.town import DEMO_WINDOW, make_town

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
PLACE = "--extent 0,0,800,800 --grid 8x8 --start 2013-02-04T00:00 --steps 120"
TABLES = "readings.parquet --households households.parquet --no-ledger"
BOUNDS = "--bound-step 20 --bound-window 192"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("publisher")
    make_town(200, grid=Grid(0, 0, 800, 800, nx=8, ny=8), window=DEMO_WINDOW).write(folder)
    done = gridveil_command(
        folder,
        f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 3 --mechanism even --out release",
    )
    assert done.returncode == 0, done.stderr
    return folder


def gridveil_command(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GRIDVEIL, *line.split()], cwd=folder, capture_output=True, text=True, check=False)


def test_publish_says_what_was_spent_and_keeps_counts_off_standard_output(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 1 --mechanism identity"
    done = gridveil_command(work, f"{line} --out second")
    assert done.returncode == 0
    assert "Spent epsilon 1 of 1.\n" in done.stdout
    assert "publishing the same households again adds to it" in done.stdout
    *_, browse, ask, mail = done.stdout.splitlines()
    assert browse.endswith("gridveil serve second --open")
    assert ask.endswith("gridveil query second")
    assert mail.endswith("report second -o report.html")
    assert "200 households" in done.stderr
    assert "200" not in done.stdout


def test_bounds_need_not_be_stated(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} --epsilon 30 --mechanism even"
    done = gridveil_command(work, f"{line} --out without")
    assert done.returncode == 0, done.stderr
    assert "Spent epsilon 30 of 30" in done.stdout
    assert "A household counts for at most 23 kWh a step" in done.stdout
    assert "a 100 A supply at 230 V" in done.stdout
    assert "corrected upwards by the factor" in done.stdout
    release = gridveil.open(work / "without")
    label = release.label
    assert label.correction == label.mechanism.details["debias_factor"]
    histogram, sums = label.measurements
    assert (histogram.kind, histogram.bound_kwh) == ("household_totals", None)
    assert histogram.epsilon == label.private_bound_epsilon
    assert sums.bound_kwh == label.bounds[0].window_kwh < 23 * 120
    assert (label.bounds[0].window_origin, label.bounds[0].step_origin) == ("histogram", "supply")
    assert "corrected" in label.not_covered
    asked = gridveil_command(work, "query without --x 0:4")
    assert "A 95 % interval covers the added noise" in asked.stdout
    truth = make_town(200, grid=Grid(0, 0, 800, 800, nx=8, ny=8), window=DEMO_WINDOW).cube(DEMO_WINDOW).sum()
    # At epsilon 30 the noise is about 2 % of the total: 50 % off is not by chance.
    assert release.query().value == pytest.approx(truth, rel=0.5)


def test_flags_override_the_spec_and_paths_are_relative_to_it(work: Path) -> None:
    (work / "specs").mkdir()
    (work / "specs" / "spec.toml").write_text(
        """
        readings = "../readings.parquet"
        households = "../households.parquet"
        extent = [0, 0, 800, 800]
        grid = "8x8"
        start = 2013-02-04T00:00:00Z
        steps = 120
        bound_step = 20
        bound_window = 192
        epsilon = 1
        mechanism = "even"
        no_ledger = true
        out = "from-spec"
        """
    )
    done = gridveil_command(work, "publish specs/spec.toml --epsilon 2")
    assert done.returncode == 0, done.stderr
    assert gridveil.open(work / "specs" / "from-spec").label.privacy.epsilon == 2


def test_query_and_info(work: Path) -> None:
    asked = "query release --x 0:4 --y 2 --time 2013-02-04T00/2013-02-05T00"
    words, figures = gridveil_command(work, asked), gridveil_command(work, f"{asked} --json")
    answer = json.loads(figures.stdout)
    assert answer["low"] < answer["value"] < answer["high"]
    assert f"{answer['value']:,.1f} kWh" in words.stdout
    same = gridveil.open(work / "release").query(x=(0, 4), y=(2, 3), time=(0, 24))
    assert answer["value"] == pytest.approx(same.value)
    info = gridveil_command(work, "info release")
    assert "one household" in info.stdout
    assert "epsilon 3" in info.stdout
    record = yaml.safe_load(gridveil_command(work, "info release --registry").stdout)
    assert record["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 3


def test_mechanisms_are_listed_with_a_line_each(work: Path) -> None:
    listed = gridveil_command(work, "mechanisms").stdout
    for name in ("stpt", "stpt-paper", "identity", "even"):
        assert f"{name}\n  " in listed
    assert "depth=5" in listed


def test_check_reports_and_strict_fails(work: Path) -> None:
    line = "check readings.parquet --households households.parquet --extent 0,0,800,800 --grid 8x8 --mechanism even"
    clean = gridveil_command(work, f"{line} --start 2013-02-04T00:00 --steps 120 --strict")
    assert clean.returncode == 0, clean.stderr
    assert "every row counts" in clean.stdout
    partial = gridveil_command(work, f"{line} --start 2013-02-05T00:00 --steps 24")
    assert partial.returncode == 0
    assert "outside the steps read" in partial.stdout
    strict = gridveil_command(work, f"{line} --start 2013-02-05T00:00 --steps 24 --strict")
    assert strict.returncode == 3


def test_check_fails_if_nothing_counts(work: Path) -> None:
    line = f"check readings.parquet --households households.parquet {PLACE} --mechanism even"
    done = gridveil_command(work, line.replace("0,0,800,800", "5000,0,5800,800"))
    assert done.returncode == 3
    assert "the extent is x 5000 to 5800" in done.stdout
    assert "no reading counts" in done.stderr


def test_longitude_and_latitude_need_a_coordinate_system(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text("household,timestamp,kwh\na,2013-02-04 00:00,1\n")
    (tmp_path / "homes.csv").write_text("household,lon,lat\na,-0.4,51.4\n")
    place = "--extent -0.5,51.3,-0.2,51.6 --grid 2x2 --start 2013-02-04T00:00 --steps 2 --mechanism even"
    tables = "readings.csv --households homes.csv"
    seen = gridveil_command(tmp_path, f"check {tables} {place}")
    assert seen.returncode == 0
    assert "give --crs EPSG:4326" in seen.stdout
    assert "--crs" not in gridveil_command(tmp_path, f"check {tables} {place} --crs EPSG:4326").stdout
    refused = gridveil_command(tmp_path, f"publish {tables} {place} --no-ledger --epsilon 3 --out release")
    assert (refused.returncode, (tmp_path / "release").exists()) == (2, False)
    assert "give --crs EPSG:4326" in refused.stderr
    assert "read the tables" not in refused.stderr
    done = gridveil_command(tmp_path, f"publish {tables} {place} --no-ledger --epsilon 3 --out release --crs local")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even", 2, "--out"),
        (f"{BOUNDS} --epsilon 3 --mechanism even --out new --grid 8x8", 2, "--extent"),
        (f"{PLACE} {BOUNDS} --mechanism even --out new", 2, "--epsilon"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism evn --out new", 2, "[name-unknown]"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --set depth=5 --out new", 2, "[parameter-unknown]"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism stpt --set depth=deep --out new", 2, "depth"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --out release", 2, "[out-exists]"),
        (f"{PLACE} {BOUNDS} --epsilon 0 --mechanism even --out new", 4, "[epsilon-not-positive]"),
        (f"{PLACE} {BOUNDS} --epsilon 31 --mechanism even --out new", 4, "[epsilon-not-acknowledged]"),
        (f"{PLACE} {BOUNDS} --epsilon 1e-20 --mechanism even --out new", 4, "[noise-too-large]"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --grid 8by8 --out new", 2, "32x32"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --timezone Mars/Olympus --out new", 2, "[timezone-unknown]"),
        (
            f"{PLACE} {BOUNDS} --epsilon 3 --set profile_zone=Mars/Olympus --out new",
            2,
            "mosaic: profile_zone",
        ),
        (f"{PLACE} {BOUNDS} --epsilon 3 --set profile_zone=../etc --out new", 2, "mosaic: profile_zone"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --interval soon --out new", 2, "readings.interval"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --unit MWh --out new", 2, "readings.unit"),
        (f"{PLACE} {BOUNDS} --epsilon 3 --mechanism even --set depth --out new", 2, "[set-syntax]"),
    ],
)
def test_mistakes_get_an_exit_code_and_words_that_help(
    work: Path, line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "argv", f"gridveil publish {TABLES} {line}".split())
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == code
    assert words in capfd.readouterr().err
    assert not (work / "new").exists()


@pytest.mark.parametrize(
    ("bound", "flags", "words"), [("auto", BOUNDS, "[bound-given-twice]"), ("tight", "", "bound: ")]
)
def test_a_bound_of_the_spec_is_checked(work: Path, tmp_path: Path, bound: str, flags: str, words: str) -> None:
    tables = "\n".join(f"[{name}]\npath = '{work / name}.parquet'" for name in ("readings", "households"))
    (tmp_path / "spec.toml").write_text(f"no_ledger = true\nbound = '{bound}'\n{tables}")
    done = gridveil_command(tmp_path, f"publish spec.toml {PLACE} {flags} --epsilon 3 --mechanism even --out new")
    assert (done.returncode, words in done.stderr, (tmp_path / "new").exists()) == (2, True, False)


def test_an_empty_publication_warns_the_operator_only(work: Path) -> None:
    line = f"publish {TABLES} {BOUNDS} --epsilon 1 --mechanism even --grid 8x8"
    done = gridveil_command(work, f"{line} --extent 5000,0,5800,800 --start 2013-02-04T00:00 --steps 120 --out empty")
    assert done.returncode == 0
    assert "WARNING: no reading counts" in done.stderr
    assert "WARNING" not in done.stdout


def test_a_clock_that_is_not_known_is_refused_before_anything_is_read(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 1 --out new"
    done = gridveil_command(work, f"{line} --set profile_zone=Mars/Olympus")
    assert done.returncode == 2
    assert "mechanism mosaic: profile_zone" in done.stderr
    assert "read the tables" not in done.stderr


def test_what_cannot_be_written_is_refused_before_anything_is_read(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 1 --mechanism even"
    done = gridveil_command(work, f"{line} --out readings.parquet/release")
    assert done.returncode == 2
    assert "[out-not-writable]" in done.stderr
    assert "read the tables" not in done.stderr


def test_the_label_can_be_filled_in_by_flags(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 1 --mechanism even"
    words = ["--title", "A town", "--publisher", "The grid", "--bound-origin", "statistics"]
    done = subprocess.run([GRIDVEIL, *line.split(), "--out", "output", *words], cwd=work, check=False)
    assert done.returncode == 0
    label = gridveil.open(work / "output").label
    assert (label.title, label.publisher, label.choices) == ("A town", "The grid", "not stated")
    assert label.bound_origin == "statistics"


def test_publishing_twice_from_python(work: Path) -> None:
    for number in (1, 2):
        published = gridveil.publish(
            readings=work / "readings.parquet",
            households=str(work / "households.parquet"),
            extent=(0, 0, 800, 800),
            grid="8x8",
            start="2013-02-04T00:00",
            steps=120,
            bound_step=20,
            bound_window=192,
            epsilon=1,
            mechanism="even",
            no_ledger=True,
            out=work / f"python-{number}",
        )
        assert "24,000 rows of readings, 24,000 of them counted; 200 households" in str(published.report)
        assert gridveil.open(published.path).label.privacy.epsilon == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("query release --time 2013-02-31", "[time-syntax]"),
        ("query release --x -1.1:-1.05", "[range-syntax]"),
        ("check spec.tml", "[spec-missing]"),
        ("query readings.parquet", "[label-unreadable]"),
    ],
)
def test_questions_asked_wrongly(work: Path, line: str, words: str) -> None:
    done = gridveil_command(work, line)
    assert done.returncode in (2, 3)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_version(work: Path) -> None:
    assert gridveil_command(work, "--version").stdout == f"gridveil {gridveil.__version__}\n"


def test_interrupting_says_so_and_leaves_nothing(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 1 --out cut"
    line += " --mechanism stpt --set epochs=100000"
    before = set(work.iterdir())
    with subprocess.Popen([GRIDVEIL, *line.split()], cwd=work, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert any(line.startswith("learn the pattern") for line in running.stderr)  # it is measuring
        running.send_signal(signal.SIGINT)
        try:
            output = running.communicate(timeout=120)[1]
        finally:
            running.kill()
    assert running.returncode == 130
    assert "interrupted; a release is there whole or not at all" in output
    assert "Traceback" not in output
    assert set(work.iterdir()) == before


def test_missing_files_are_input_errors(work: Path) -> None:
    done = gridveil_command(
        work,
        f"publish nothing.parquet --no-ledger --households households.parquet {PLACE} {BOUNDS} --epsilon 3 --out new",
    )
    assert done.returncode == 3
    assert "nothing.parquet" in done.stderr
    assert gridveil_command(work, "query nothing").returncode == 3


def test_an_acknowledged_epsilon_is_in_the_label(work: Path) -> None:
    line = f"publish {TABLES} {PLACE} {BOUNDS} --epsilon 50 --mechanism even"
    done = gridveil_command(work, f"{line} --acknowledge --out weak")
    assert done.returncode == 0, done.stderr
    warning = "WARNING: epsilon 50 is high"
    assert warning in done.stdout
    assert warning in gridveil_command(work, "info weak").stdout


HELP = """
import sys
from gridveil.cli.main import app
try:
    app(["--help"])
finally:
    slow = "duckdb fastapi h5py ibis matplotlib numpy opendp pandas pyarrow pyproj scipy shapely torch uvicorn zarr"
    print([name for name in slow.split() if name in sys.modules], file=sys.stderr)
"""


def test_help_loads_no_library_that_takes_long() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert "publish" in done.stdout
    assert done.stderr == "[]\n"
