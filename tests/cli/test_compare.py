"""`gridveil compare` as people run it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridveil.cli.main import main
from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.simulate.town import DEMO_WINDOW, make_town

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
SPEC = """
extent = [0, 0, 800, 800]
grid = "8x8"
start = 2013-02-04T00:00:00Z
steps = 24
bound_step = 20
bound_window = 48
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("researcher")
    window = Window(DEMO_WINDOW.start, DEMO_WINDOW.step, 24)
    make_town(80, grid=Grid(0, 0, 800, 800, nx=8, ny=8), window=window).write(folder)
    (folder / "spec.toml").write_text(SPEC)
    return folder


def compare(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    command = [GRIDVEIL, "compare", "readings.parquet", *line.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_comparison_writes_records_tables_and_a_figure_all_stamped(work: Path) -> None:
    done = compare(
        work,
        "--households households.parquet --spec spec.toml --mechanisms even,identity,count-rule-5 --epsilon 1,3 "
        "--repeats 2 --clip 1.5 --workload 2x2x6 --workload authors --json out.json --figure out.svg",
    )
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    assert "NOT PRIVATE" in (work / "out.txt").read_text()
    assert (work / "out.svg").read_bytes().startswith(b"<?xml")
    assert not list(work.glob("*.partial*"))
    records = json.loads((work / "out.json").read_text())
    # Three methods, two epsilons, two repeats; two names of the bound, eight workloads, two truths.
    assert len(records) == 3 * 2 * 2 * 2 * 8 * 2
    assert {record["workload"] for record in records} >= {"random", "small", "large", "2x2x6", "authors-small"}
    assert {record["clip"] for record in records} == {1.5}
    assert {record["bound"] for record in records} == {"own", "common"}
    assert "epsilon 3, common bound: WAPE" in done.stdout
    assert "no guarantee" in done.stdout
    assert "80 households" in done.stderr


def test_private_bounds_stand_beside_the_common_one(work: Path) -> None:
    line = "--households households.parquet --spec spec.toml --mechanisms even,outer:share=0.6 --epsilon 3 --repeats 1"
    done = compare(work, f"{line} --bound auto --json private.json")
    assert done.returncode == 0, done.stderr
    records = json.loads((work / "private.json").read_text())
    assert {record["bound"] for record in records} == {"common", "own", "auto"}
    assert {str(record["parameters"]) for record in records} == {"{}", "{'share': '0.6'}"}
    assert "Under bounds chosen privately" in done.stdout
    assert "outer:share=0.6" in done.stdout


def test_a_stopped_comparison_goes_on(work: Path) -> None:
    line = (
        "--placement normal --spec spec.toml --mechanisms even,identity --epsilon 1,3 --repeats 200 --json later.json"
    )
    kept = work / "later.json.partial.jsonl"
    command = [GRIDVEIL, "compare", "readings.parquet", *line.split()]
    stopped = subprocess.Popen(command, cwd=work, stderr=subprocess.PIPE, text=True)
    while not (kept.exists() and len(kept.read_text().splitlines()) > 3):
        assert stopped.poll() is None
        time.sleep(0.05)
    stopped.send_signal(signal.SIGINT)
    output = stopped.communicate(timeout=60)[1]
    assert stopped.returncode == 130
    assert "interrupted; give the same command again to go on" in output
    assert "Traceback" not in output
    assert not (work / "later.json").exists()
    held = [json.loads(found) for found in kept.read_text().splitlines()[1:]]
    # Asked for fewer repeats, it needs no more trials than those that it has, or few.
    done = compare(work, line.replace("--repeats 200", "--repeats 2"))
    assert done.returncode == 0, done.stderr
    records = json.loads((work / "later.json").read_text())
    assert len(records) == 2 * 2 * 2 * 2 * 3 * 2
    assert held[0]["records"][0] in records  # to the fraction of a second that it took: it was not run again
    assert not kept.exists()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("--mechanisms even", 2, "--households"),
        ("--mechanisms even", 2, "--placement"),
        ("--households households.parquet --mechanisms even --figure x.jpg", 2, "[figure-format]"),
        ("--households households.parquet --mechanisms even --figure x", 2, "[figure-format]"),
        ("--households households.parquet --mechanisms evn", 2, "[mechanism-unknown]"),
        ("--households households.parquet --mechanisms outer:share=2", 2, "share"),
        ("--households households.parquet --mechanisms even --epsilon one", 2, "[epsilon-syntax]"),
        ("--households households.parquet --mechanisms even --epsilon 0", 4, "[epsilon-not-positive]"),
        ("--households households.parquet --mechanisms even --workload big", 2, "[workload-syntax]"),
        ("--households households.parquet --mechanisms even --json spec.toml", 2, "[out-exists]"),
        ("--households households.parquet --mechanisms even --json out.txt", 2, "[json-name]"),
        ("--placement density --mechanisms even --points nowhere.csv", 3, "nowhere.csv"),
        ("--placement somewhere --mechanisms even", 2, "[placement-unknown]"),
    ],
)
def test_mistakes_get_an_exit_code_and_words_that_help(
    work: Path, line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "argv", f"gridveil compare readings.parquet --spec spec.toml {line}".split())
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == code
    assert words in capfd.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bench paper --out out", "interrupted; give the same command again to go on"),
        ("convert lcl a.zip --out out", "interrupted; the new folder is there whole or not at all"),
        ("query release", "interrupted"),
    ],
)
def test_each_command_says_what_is_true_after_an_interrupt(
    line: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise SystemExit(130)

    monkeypatch.setattr("gridveil.cli.main.app", stop)
    monkeypatch.setattr(sys, "argv", ["gridveil", *line.split()])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err == f"gridveil: {words}\n"


def test_a_partial_file_in_which_all_failed_is_not_in_the_way(work: Path) -> None:
    line = "--households households.parquet --spec spec.toml --epsilon 1 --repeats 1 --json failed.json"
    kept = work / "failed.json.partial.jsonl"
    kept.write_text('{"study": {"data": "another"}}\n{"trial": {}, "error": "ValueError"}\n')
    done = compare(work, f"{line} --mechanisms even")
    assert done.returncode == 0, done.stderr
    assert not kept.exists()
