import fcntl
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.model.files import write_new
from gridveil.model.window import Window
from gridveil.publishing.spec import Spec, make_spec
from gridveil.report.figures.chart import as_file, check_format, spaced
from gridveil.research.compare import bounds as own
from gridveil.research.compare.bounds import TrialBounds, own_bound, scaled_bound
from gridveil.research.compare.compare import ComparisonQuestion, as_json, compare, make_trials, parse_method
from gridveil.research.compare.figure import draw_comparison
from gridveil.research.compare.results import as_text, make_frame, notes, on_screen, rank_methods, summarise, tables
from gridveil.research.compare.study import Study, discard_failures
from gridveil.research.datasets.ingested import ingest_town
from gridveil.simulate.town import DEMO_WINDOW, Town, make_town
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import ReadingsTable

GRID = Grid(0, 0, 800, 800, nx=8, ny=8)
WINDOW = Window(DEMO_WINDOW.start, DEMO_WINDOW.step, 24)
COMMON = Bound(20_000, 192_000)
OF_STEPS = Bound(20_000, 2_400_000)


@pytest.fixture(scope="module")
def town() -> Town:
    return make_town(60, grid=GRID, window=WINDOW)


@pytest.fixture(scope="module")
def spec(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Spec:
    readings, households = town.write(tmp_path_factory.mktemp("town"))
    return make_spec(
        {
            "readings": readings,
            "households": households,
            "extent": (0, 0, 800, 800),
            "grid": (8, 8),
            "start": WINDOW.start,
            "steps": 24,
            "bound_step": 20,
            "bound_window": 48,
        }
    )


def test_ingest_gives_the_town_as_it_is(town: Town, spec: Spec) -> None:
    placed, report = ingest_town(spec, 0, placed=True)
    np.testing.assert_allclose(placed.truth(), town.cube(WINDOW), atol=1e-9)
    assert len(placed.cells) == 60
    assert not report.faults


def test_steps_before_the_window_are_read_too(town: Town, spec: Spec) -> None:
    later = spec.model_copy(update={"start": WINDOW.times()[10], "steps": 14})
    placed, _ = ingest_town(later, 10, placed=True)
    np.testing.assert_allclose(placed.truth(), town.cube(WINDOW)[:, :, 10:], atol=1e-9)
    assert placed.dataset.readings.shape == (60, 24)
    assert placed.dataset.readings.sum() == round(1000 * town.cube(WINDOW).sum())


@pytest.mark.parametrize("without", [(), ("households",), ("households", "extent")])
def test_households_without_a_place_are_placed(spec: Spec, without: tuple[str, ...]) -> None:
    spec = spec.model_copy(update=dict.fromkeys(without))
    study, report = compare(spec, ComparisonQuestion(("even",), (3.0,), 2, placement="uniform"), workers=1)
    assert report.households == 60
    assert {record["placement"] for record in study.records} == {"uniform"}
    assert not study.failures
    by_repeat = [[r for r in study.records if r["repeat"] == repeat and r["truth"] == "raw"] for repeat in (0, 1)]
    assert by_repeat[0][0]["mae"] != by_repeat[1][0]["mae"]


def test_points_draw_households_to_them(spec: Spec, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y,meters\n50,50,1\n750,750,3\n")
    question = ComparisonQuestion(
        ("identity",), (1e6,), 1, placement="density", points=tmp_path / "points.csv", weight="meters"
    )
    study, _ = compare(spec, question, workers=1)
    assert not study.failures
    # All is in two cells of 64: most of 300 cells asked for have nothing in them.
    small = next(record for record in study.records if record["workload"] == "small")
    assert small["zero_truths"] > 200


def test_points_are_looked_at_before_the_data(spec: Spec, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y,meters\n50,50,1\n750,750,3\n")
    nowhere = spec.model_copy(update={"readings": ReadingsTable("nowhere.parquet")})
    question = ComparisonQuestion(("even",), (1.0,), 1, placement="density", points=tmp_path / "points.csv")
    with pytest.raises(InputError, check=has_code("points-columns", "weight", "x, y, meters")):
        compare(nowhere, question, tmp_path / "kept.jsonl", workers=1)
    assert not (tmp_path / "kept.jsonl").exists()


def test_all_that_is_missing_is_told_at_once_and_households_first(spec: Spec) -> None:
    empty = spec.model_copy(update=dict.fromkeys(("households", "extent", "grid", "start", "steps")))
    with pytest.raises(UsageError, check=has_code("households-missing", "--households", "--placement")):
        compare(empty, ComparisonQuestion(("even",)))
    with pytest.raises(UsageError, check=has_code("settings-missing", "--grid", "--start", "--steps")):
        compare(empty, ComparisonQuestion(("even",), placement="uniform"))


HEAD = json.dumps({"study": {"data": "other"}}) + "\n"
FAILED = json.dumps({"trial": {}, "error": "ValueError"}) + "\n"
DONE = json.dumps({"trial": {}, "records": []}) + "\n"


@pytest.mark.parametrize("text", [HEAD, HEAD + FAILED, HEAD + FAILED + DONE[:-3]])
def test_a_kept_file_without_a_successful_trial_blocks_nothing(spec: Spec, tmp_path: Path, text: str) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(text)
    study, _ = compare(spec, ComparisonQuestion(("even",), (1.0,), 1), kept, workers=1)
    assert study.records
    assert "other" not in kept.read_text()


@pytest.mark.parametrize("text", [HEAD + FAILED + DONE, "a diary\n", '{"a": 1}\n', "[]\n", ""])
def test_what_is_worth_something_is_kept(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(text)
    discard_failures(kept)
    assert kept.read_text() == text


def test_a_study_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    kept.write_text(HEAD)
    with kept.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        discard_failures(kept)
    assert kept.read_text() == HEAD


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"mechanisms": ("evn",)}, ("mechanism-unknown", "evn;", "mosaic")),
        ({"mechanisms": ()}, ("mechanism-unknown", "mosaic")),
        ({"mechanisms": ("evn:a=1",)}, ("mechanism-unknown", "evn")),
        ({"mechanisms": ("outer:share",)}, ("parameter-syntax",)),
        ({"mechanisms": ("outer:part=1",)}, ("parameter-unknown", "part")),
        ({"mechanisms": ("outer:share=much",)}, ("parameter-invalid", "share")),
        ({"mechanisms": ("count-rule:households=3",)}, ("parameter-unknown", "count-rule")),
        ({"epsilons": ()}, ("no-epsilon",)),
        ({"repeats": 0}, ("no-epsilon",)),
        ({"clip": -1.0}, ("clip-invalid", "-1")),
        ({"points": Path("p.csv")}, ("placement-points", "density")),
        ({"placement": "density"}, ("placement-points", "--points")),
        ({"placement": "somewhere"}, ("placement-unknown", "somewhere", "uniform")),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: dict[str, Any], told: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, check=has_code(*told)):
        ComparisonQuestion(**{"mechanisms": ("even",), **wrong})


def test_each_method_runs_under_the_common_bound_and_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_table", lambda: {"even": {"1": ["clip", "1/2"], "10": ["cap", "1"]}})
    trials = make_trials(
        ComparisonQuestion(("even", "identity"), (1.0, 10.0), 1), TrialBounds(COMMON, OF_STEPS, auto=False), 120
    )
    assert [(t.mechanism, t.epsilon, t.bound, t.bound_names) for t in trials] == [
        ("even", 1, COMMON, ("common",)),
        ("even", 1, Bound(800, 96_000), ("own",)),
        ("even", 10, COMMON, ("common", "own")),
        ("identity", 1, COMMON, ("common", "own")),
        ("identity", 10, COMMON, ("common", "own")),
    ]
    assert {trial.clip for trial in trials} == {1600}
    assert own_bound("even", 2, COMMON, 120) == Bound(800, 96_000)  # 2 is nearer to 1 than to 10, by ratio
    assert own_bound("even", 4, COMMON, 120) == COMMON


@pytest.mark.parametrize(
    ("bounds", "names", "clip"),
    [
        (TrialBounds(None, OF_STEPS, auto=True), [("auto",)], 20_000),
        (TrialBounds(COMMON, OF_STEPS, auto=True), [("common", "own"), ("auto",)], 1600),
    ],
)
def test_methods_choose_bounds_privately_alone_or_beside_the_common_one(
    bounds: TrialBounds, names: list[tuple[str, ...]], clip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "_table", dict)
    trials = make_trials(ComparisonQuestion(("identity", "count-rule"), (1.0,), 1), bounds, 120)
    assert [(t.mechanism, t.bound_names) for t in trials] == [(m, n) for m in ("identity", "count-rule") for n in names]
    assert all(trial.bound == (OF_STEPS if trial.bound_names == ("auto",) else COMMON) for trial in trials)
    assert {trial.clip for trial in trials} == {clip}


@pytest.mark.parametrize(
    ("stated", "bounds"),
    [
        ({"bound_step": 20, "bound_window": 192}, TrialBounds(COMMON, OF_STEPS, auto=False)),
        ({"bound_step": 20, "bound_window": 192, "bound": "auto"}, TrialBounds(COMMON, OF_STEPS, auto=True)),
        ({"bound_step": 20, "bound": "auto"}, TrialBounds(None, OF_STEPS, auto=True)),
        ({}, TrialBounds(None, Bound(23_000, 2_760_000), auto=True)),
    ],
)
def test_a_spec_says_which_bounds_are_compared(stated: dict[str, Any], bounds: TrialBounds) -> None:
    assert TrialBounds.of(make_spec({"steps": 120, **stated})) == bounds


def test_a_method_is_compared_with_itself_under_other_parameters(spec: Spec) -> None:
    assert parse_method("outer") == ("outer", ())
    free = spec.model_copy(update={"bound_step": None, "bound_window": None})
    study, _ = compare(free, ComparisonQuestion(("outer", "outer:share=0.9"), (3.0,), 2), workers=1)
    assert not study.failures
    assert {record["mechanism"] for record in study.records} == {"outer"}
    assert set(make_frame(study.records)["method"]) == {"outer", "outer:share=0.9"}
    assert {record["bound"] for record in study.records} == {"auto"}
    assert {record["bound_step"] for record in study.records} == {23}
    chosen = {record["bound_window"] for record in study.records}
    assert len(chosen) == 4  # another one with every noise
    assert max(chosen) < 23 * 24
    text = as_text(study.records)
    assert "chosen privately" in text
    assert "outer:share=0.9" in text
    figure = draw_comparison(study.records, "A title")
    assert any("chosen privately" in words.get_text() for words in figure.texts)


def test_what_is_said_of_the_tuning_is_what_the_table_says() -> None:
    about = json.loads((files("gridveil.research.compare") / "own_bounds.json").read_text("utf-8"))["about"]
    assert "lcl" in about
    assert "London" in own.TUNED
    for words in ("uniform", "random and large", "2 repeats"):
        assert words in about
        assert words in own.TUNED


def test_the_packaged_table_of_bounds_makes_bounds() -> None:
    for mechanism, tuned in own._table().items():
        for epsilon, (kind, factor) in tuned.items():
            assert kind in own.KINDS
            assert factor in own.FACTORS
            assert own_bound(mechanism, float(epsilon), COMMON, 120) == scaled_bound(COMMON, 120, kind, factor)


@pytest.mark.parametrize("kind", own.KINDS)
@pytest.mark.parametrize("factor", own.FACTORS)
def test_scaled_bounds_stay_bounds(kind: str, factor: str) -> None:
    for steps in (1, 7, 120):
        bound = scaled_bound(Bound(3, 5), steps, kind, factor)
        assert bound.window <= bound.step * steps


def invented(mechanism: str, epsilon: float, repeat: int, wape: float | None, **more: object) -> dict[str, Any]:
    record = {"mechanism": mechanism, "epsilon": epsilon, "repeat": repeat, "wape": wape, "truth": "raw"}
    record |= dict.fromkeys(("mre", "mre_floor", "mae", "bias"), wape)
    record |= {"bound": "own", "workload": "random", "suppressed": 0, "seconds": 0.5, "bound_step": 1}
    return {**record, "bound_window": 2, "parameters": {}, **more}


RECORDS = [
    invented(name, epsilon, repeat, error / epsilon + repeat, workload=workload, truth=truth, bound=bound)
    for name, error in (("stpt", 20.0), ("even", 10.0), ("count-rule", 5.0))
    for epsilon in (1.0, 3.0)
    for repeat in (0, 1)
    for workload in ("random", "small")
    for truth in ("raw", "clipped")
    for bound in ("own", "common")
]


def test_means_and_spreads_are_over_repeats() -> None:
    case = ("even", 1.0, "own", "random")
    assert summarise(make_frame(RECORDS)).loc[case].tolist() == [10.5, pytest.approx(0.5**0.5)]
    undefined = [invented("even", 1.0, 0, None), invented("even", 1.0, 1, 4.0)]
    assert summarise(make_frame(undefined)).loc[case].tolist() == [4.0, pytest.approx(np.nan, nan_ok=True)]


def test_baselines_are_not_ranked_though_they_err_less() -> None:
    assert rank_methods(summarise(make_frame(RECORDS))) == ["even", "stpt"]
    text = as_text(RECORDS)
    assert text.startswith("NOT PRIVATE")
    first = [line for line in text.splitlines() if "│ " in line or "├" in line][:4]
    assert [line.split()[1] for line in first if "│" in line] == ["even", "stpt", "count-rule"]
    assert "*" in first[0]
    assert first[2].startswith("├")
    assert "*" not in first[3]
    assert any("no guarantee" in line for line in notes(RECORDS))


OTHER = [{**record, "bound_window": 96 if record["bound"] == "own" else 192} for record in RECORDS]


def shown(records: list[dict[str, Any]], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(*on_screen(records, width), sep="\n")
    return console.file.getvalue()


def test_the_common_bound_is_told_first_and_own_ones_only_where_they_differ() -> None:
    same = shown(RECORDS, 120)
    assert "own" not in same
    text = shown(OTHER, 120)
    assert text.index("1 kWh a step, 192 kWh in all") < text.index("common bound: WAPE")
    assert text.rindex("common bound: WAPE") < text.index(own.TUNED[:40]) < text.index("own bound: WAPE")
    assert text.count("1 / 96") == 3 * 2  # each method at each epsilon
    assert "192" not in text[text.index(own.TUNED[:40]) :]
    for words in (own.TUNED[:80], "1 / 96", "1 kWh a step, 192 kWh in all"):
        assert words in as_text(OTHER)


def test_private_bounds_are_told_after_the_common_and_own_ones() -> None:
    private = [
        {**record, "bound": "auto", "bound_window": 50 + 10 * record["repeat"]}
        for record in OTHER
        if record["bound"] == "common"
    ]
    text = shown([*OTHER, *private], 120)
    assert text.rindex("own bound: WAPE") < text.index("chosen privately") < text.index("auto bound: WAPE")
    assert text.count("1 / 55") == 3 * 2  # each method at each epsilon
    assert "own bound" not in shown([*RECORDS, *private], 120)


def test_records_of_own_bounds_alone_are_shown() -> None:
    assert "own bound" in shown([record for record in OTHER if record["bound"] == "own"], 120)


@pytest.mark.parametrize("width", [80, 60])
def test_tables_fit_narrow_screens_whole(width: int) -> None:
    records = [
        {**record, "workload": workload, "wape": 12_345.6 + record["repeat"] * 7_000, "bound_step": 12.345}
        for record in OTHER
        for workload in ("random", "small", "large", "authors-random", "authors-small", "authors-large", "4x4x24")
    ]
    text = shown(records, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    rows = [line for line in text.splitlines() if "│ count-rule" in line]
    # Every method has one line in each table, with a figure for each workload in whole: no cell goes on in the next.
    assert sum(row.count("15,846") for row in rows) == 7 * 2 * 2
    assert "seconds" in shown(OTHER, 120)
    assert "12.345 / 96" in text


def test_a_method_that_failed_at_an_epsilon_is_missing_there() -> None:
    rest = [record for record in RECORDS if (record["mechanism"], record["epsilon"]) != ("stpt", 3.0)]
    assert [table.row_count for table in tables(make_frame(rest))] == [3, 2]


def test_high_epsilons_get_plain_words_and_gaps_are_told() -> None:
    told = notes([invented("even", 30.0, 0, 1.0), invented("count-rule", 30.0, 0, 1.0, suppressed=7)])
    assert any("count as zero" in line for line in told)
    assert any("epsilon" in line.lower() for line in told)


def test_the_figure_is_stamped_and_has_a_panel_for_each_workload() -> None:
    worse = [{**record, "wape": 1e6} if record["bound"] == "own" else record for record in OTHER]
    figure = draw_comparison(worse, "A title")
    assert isinstance(figure, Figure)
    assert len(figure.axes) == 2
    assert any("NOT PRIVATE" in text.get_text() for text in figure.texts)
    assert [text.get_text() for text in figure.axes[0].texts] == ["count-rule", "even", "stpt"]
    assert any("common bound" in text.get_text() and "192 kWh in all" in text.get_text() for text in figure.texts)
    highest = max(line.get_ydata().max() for line in figure.axes[0].lines)
    assert highest < 30  # nothing of own bounds


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_a_figure_is_of_the_format_of_its_name(name: str, start: bytes) -> None:
    assert as_file(draw_comparison(RECORDS, "A title"), check_format(Path(name))).startswith(start)


def test_labels_keep_their_distance() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = np.sort(rng.uniform(0, 100, 25))
        at = spaced(wanted, 3.0)
        assert (np.diff(at) >= 3.0 - 1e-9).all()
        assert at.mean() == pytest.approx(wanted.mean())


def test_files_are_new_and_json(tmp_path: Path) -> None:
    write_new(tmp_path / "deep" / "out.json", as_json(Study(RECORDS, {})))
    assert json.loads((tmp_path / "deep" / "out.json").read_text()) == RECORDS
    with pytest.raises(UsageError, check=has_code("out-exists")):
        write_new(tmp_path / "deep" / "out.json", b"")
    assert len(list((tmp_path / "deep").iterdir())) == 1


def test_names_stay_beside_their_panel_and_near_their_lines() -> None:
    records = [
        invented(name, 1.0, 0, error, bound="common")
        for name, error in [("count-rule", 100.0), *((f"m{number}", 1 + number / 1000) for number in range(15))]
    ]
    panel = draw_comparison(records, "A title").axes[0]
    heights = [text.xyann[1] for text in panel.texts]
    assert min(heights) >= 0
    assert max(heights) <= 1
    farthest = panel.texts[-1]
    assert farthest.get_text() == "count-rule"
    assert abs(farthest.xyann[1] - farthest.xy[1]) < 0.01  # not pushed by names that are far below
