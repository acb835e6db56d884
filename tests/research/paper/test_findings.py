"""Sentences are made of numbers: other numbers make other sentences."""

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gridveil.research.compare.summary import MeanSpread
from gridveil.research.paper.comparison import BENCHMARKS, CLAIMED, comparison_findings
from gridveil.research.paper.detail_findings import bucket_findings, pattern_findings, runtime_findings
from gridveil.research.paper.figures import in_order
from gridveil.research.paper.findings import AGREES, DISAGREES, IN_PART, PaperFinding, listed, verdict, verdicts
from gridveil.research.paper.held import PaperResults
from gridveil.research.paper.leak import TWIN, leak_findings
from gridveil.research.paper.numbers import Lines, PaperCase, ResultLine, average, averaged_rows, write_lines
from gridveil.research.paper.page import told
from gridveil.research.paper.rankings import mean_ranks, rank_table
from gridveil.research.paper.repeats import repeats_note
from gridveil.research.paper.report import figures
from gridveil.research.paper.tables import london_tables
from gridveil.research.paper.towns import STANDINS, plain_clip
from gridveil.simulate.workloads import AUTHORS, WORKLOADS


def line(error: float) -> ResultLine:
    spread = MeanSpread(error, 0.0)
    return ResultLine(1, spread, spread, spread, spread, spread, 0, 0)


def panels(errors: dict[str, float], clustered: float = 2.0) -> Lines:
    """The same errors in every panel, larger by a factor where households are clustered."""
    return {
        PaperCase(dataset, placement, 30.0, "common", workload, "clipped", name): line(error * factor)
        for dataset, workload, (placement, factor), (name, error) in product(
            STANDINS, WORKLOADS, {"uniform": 1.0, "normal": clustered}.items(), errors.items()
        )
    }


def by_topic(lines: Lines) -> dict[str, PaperFinding]:
    return {finding.topic: finding for finding in comparison_findings(lines)}


ERRORS = {"stpt": 5.0, "stpt-paper": 8.0, "stpt-leaky": 4.0} | dict(
    zip(BENCHMARKS, (60, 20, 30, 25, 35, 40), strict=True)
)


def test_numbers_as_the_paper_tells_them_agree_with_it() -> None:
    found = by_topic(panels(ERRORS))
    assert found["stpt-paper against the benchmarks"].numbers == {"count": 24, "of": 24}
    assert "in 24 of 24 panels" in found["Identity is the weakest"].ours
    assert "8 of 8" in found["Fourier against wavelet"].ours
    gains = found["Improvements for random queries, uniform"]
    assert gains.numbers["stpt-paper"] == dict.fromkeys(STANDINS, pytest.approx(60))
    assert gains.verdict == AGREES
    everything = {topic for topic, finding in found.items() if finding.verdict != AGREES}
    assert everything == {"Identity where data are uniform"}  # it is last in every panel here


def test_other_numbers_do_not() -> None:
    found = by_topic(panels(ERRORS | {"stpt-paper": 30.0, "identity": 1.0, "wavelet": 2.0, "wavelet-20": 2.0}, 0.5))
    assert {topic for topic, finding in found.items() if finding.verdict == DISAGREES} >= {
        "stpt-paper against the benchmarks",
        "Identity is the weakest",
        "Fourier against wavelet",
        "Clustered households",
        "Improvements for random queries, uniform",
    }
    assert "stpt-paper` CER -2900 %" in found["Improvements for random queries, uniform"].ours


def test_a_sentence_counts_once_and_is_decided_by_the_paper_s_own() -> None:
    found = list(comparison_findings(panels(ERRORS | {"stpt-paper": 30.0})))
    improvements = [finding for finding in found if finding.paper.startswith("Significant improvements")]
    assert [(finding.verdict, finding.counts) for finding in improvements] == [(DISAGREES, True), (AGREES, False)]
    decided = verdicts(found)
    assert decided[improvements[0].paper] == DISAGREES
    assert len(decided) == 7
    assert not verdicts([improvements[1]])
    other = replace(improvements[0], verdict=AGREES)
    assert verdicts([improvements[0], other]) == {other.paper: IN_PART}
    (text,) = told(improvements)
    assert text.count("> Significant") == 1
    assert "- Not counted: stpt against the benchmarks: agrees." in text


def test_all_algorithms_are_the_paper_s() -> None:
    lines = panels(ERRORS)
    lines |= {
        case._replace(mechanism=f"m{number}"): line(1.0)
        for case in lines
        if case.mechanism == "identity"
        for number in range(20)
    }
    clustered = by_topic(lines)["Clustered households"]
    assert clustered.verdict == AGREES
    assert "in 84 of 84 cases" in clustered.ours
    assert "Of all methods here: 96 of 336" in clustered.ours


def test_panels_that_lack_a_benchmark_say_nothing() -> None:
    assert not by_topic(panels({name: 1.0 for name in BENCHMARKS if name != "fast"}))
    assert "stpt against the benchmarks" not in by_topic(panels(dict.fromkeys(BENCHMARKS, 1.0)))
    assert sum(CLAIMED.values()) == 60 + 31 + 54 + 32


def test_verdicts() -> None:
    assert [verdict([0] * count, [0] * 4)[0] for count in range(5)] == [DISAGREES, IN_PART, IN_PART, AGREES, AGREES]
    assert listed(list("abc"), most=2) == "a, b and 1 more"


def pattern_rows(maes: dict[float, float], depths: dict[int, float]) -> list[dict]:
    facts = {"dataset": "lcl", "mechanism": "stpt-paper", "flat_mae": 0.5}
    rows = [{**facts, "depth": 3, "per_point": point, "mae": mae, "rmse": mae} for point, mae in maes.items()]
    return rows + [{**facts, "depth": d, "per_point": 0.1, "mae": mae, "rmse": mae} for d, mae in depths.items()]


def test_the_knee_and_the_depth() -> None:
    budgets = {0.005: 1.0, 0.01: 0.9, 0.05: 0.3, 0.5: 0.2}
    knee, depth = pattern_findings(pattern_rows(budgets, {0: 0.5, 2: 0.3, 5: 0.6}))
    assert (knee.verdict, depth.verdict) == (AGREES, AGREES)
    assert "falls by 67 %, which is 75 % of the whole fall" in knee.ours
    assert "Best at depth 2" in depth.ours
    knee, depth = pattern_findings(pattern_rows({0.005: 1.0, 0.01: 0.3, 0.05: 0.4, 0.5: 0.2}, {0: 0.3, 2: 0.3, 5: 0.6}))
    assert (knee.verdict, depth.verdict) == (DISAGREES, DISAGREES)
    assert "grows by 33 %" in knee.ours


@pytest.mark.parametrize(("last", "expected"), [(30.0, AGREES), (10.0, DISAGREES)])
def test_buckets(last: float, expected: str) -> None:
    errors = {10: 12.0, 50: 10.0, 200: last}
    lines = {
        PaperCase("lcl", "uniform", 30.0, "common", "random", "clipped", "stpt-paper", f"buckets={k}"): line(error)
        for k, error in errors.items()
    }
    (finding,) = bucket_findings(lines)
    assert finding.verdict == expected
    assert finding.numbers["mre"] == errors


def test_run_time_is_the_median_and_yardsticks_do_not_count() -> None:
    facts = {"epsilon": 30.0, "repeat": 0}
    records = [
        {**facts, "mechanism": "stpt", "seconds": 80.0, "learning": 60.0},
        {**facts, "mechanism": "stpt-paper", "seconds": 8.0, "learning": 2.0},
        {**facts, "mechanism": "even", "seconds": 0.01, "learning": None},
        {**facts, "mechanism": "stpt-leaky", "seconds": 99.0, "learning": None},
    ]
    seconds, learning, ours = runtime_findings(records)
    assert "1 of 1 of the paper's methods" in seconds.ours
    assert "2 of 3 of all here" in seconds.ours
    assert "25 % of `stpt-paper`'s time" in learning.ours
    assert "75 % of `stpt`'s time" in ours.ours
    assert [finding.counts for finding in (seconds, learning, ours)] == [True, True, False]
    assert verdicts([seconds, learning, ours]) == {seconds.paper: AGREES, learning.paper: DISAGREES}


def test_the_leak_is_compared_with_the_same_settings_without_it() -> None:
    errors = {"stpt-leaky": 5.0, TWIN: 10.0, "stpt-paper": 4.0, "stpt": 2.5}
    lines = {}
    for workload, (name, error) in product([*AUTHORS, *WORKLOADS], errors.items()):
        mechanism, _, parameters = name.partition(" ")
        lines[PaperCase("lcl", "one-per-cell", 30.0, "common", workload, "clipped", mechanism, parameters)] = line(
            error
        )
    theirs, ours = leak_findings(lines, 30.0)
    assert "beats stpt-paper, authors' settings in 4 of 4" in theirs.ours
    assert "with 0.50 times its error" in ours.ours
    assert "beats stpt in 0 of 3 cases (none), with 2.00 times" in ours.ours


def test_one_repeat_has_no_spread_and_unequal_repeats_are_told(tmp_path: Path) -> None:
    case = PaperCase("lcl", "uniform", 3.0, "common", "random", "raw", "even")
    facts = {name: getattr(case, name) for name in PaperCase._fields if name not in {"bound", "parameters"}}
    bounds = {"bound": "other", "bound_step": 1.0, "bound_window": 1.0, "parameters": {}}
    scores = {"mre_floor": 1.0, "wape": 4.0, "mae": 1.0, "bias": 1.0, "zero_truths": 0, "suppressed": 0}
    records = [
        {**facts, **bounds, **scores, "workload": workload, "mechanism": name, "mre": mre}
        for workload in WORKLOADS
        for name, mre in (("even", 1.0), ("even", 3.0), ("ug", 4.0))
    ]
    lines = {case._replace(bound="common"): line for case, line in average(records).items()}
    ((what, table),) = london_tables(lines, "uniform", 3.0)
    assert what.endswith("raw truth, 1 to 2 repeats")
    even, ug = table.splitlines()[2:]
    assert even.startswith("| even | 2.00 ± 1.41 |")
    assert even.endswith("| 2 |")
    assert ug == "| ug | 4.00 | 4.00 | 4.00 | 4.00 | 4.00 | 4.00 | 1 |"
    assert repeats_note(lines) == "Not all rest on as many repeats: epsilon 3: 2 repeats (`ug`: 1 repeat)."
    write_lines(lines, tmp_path / "lines.csv")
    with (tmp_path / "lines.csv").open() as file:
        sds = {row["mechanism"]: row["mre_sd"] for row in csv.DictReader(file)}
    assert sds == {"even": "1.414", "ug": ""}
    rows = averaged_rows([{"method": "a", "mae": 1.0}], ["method"])
    assert rows == [{"method": "a", "repeats": 1, "mae": 1.0, "mae_sd": ""}]
    assert repeats_note(panels({"stpt": 1.0})) == "All rest on 1 repeat."


def test_a_curve_needs_two_epsilons_and_names_stay_beside_their_panel() -> None:
    one = panels(dict.fromkeys(in_order(), 5.0) | {"hdmm": 500.0, "stpt": 0.1})
    nothing: dict = {"buckets": {}, "leak": {}, "london": {}, "pattern": [], "runtime": []}
    drawn = dict(figures(PaperResults(1, 1, panels=one, **nothing)))
    assert drawn["panels"]
    assert drawn["curves-uniform"] is None
    two = one | {case._replace(epsilon=3.0): held for case, held in one.items() if case.placement == "uniform"}
    drawn = dict(figures(PaperResults(1, 1, panels=two, **nothing)))
    assert drawn["curves-normal"] is None
    assert drawn["curves-uniform"] is not None
    for axes in drawn["curves-uniform"].axes:
        heights = sorted(text.xyann[1] for text in axes.texts)
        assert len(heights) == len(in_order())
        assert -1e-9 <= heights[0] <= heights[-1] <= 1 + 1e-9
        assert np.diff(heights).min() * axes.bbox.height > 10
        assert all(drawn_line.get_marker() == "o" for drawn_line in axes.lines)


def test_ranks_leave_out_yardsticks_and_contests_that_are_not_complete() -> None:
    lines = panels({"stpt": 1.0, "even": 2.0, "count-rule": 0.0})
    lines[PaperCase("lcl", "uniform", 30.0, "common", "random", "clipped", "even")] = line(0.0)
    assert mean_ranks(lines) == {"stpt": 1.0, "even": 2.0}
    assert rank_table(lines, "common", "clipped")[1] == ["`stpt`", "1.0", "1.0"]


def test_a_run_under_a_bound_that_is_both_counts_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = plain_clip("CA")
    monkeypatch.setattr("gridveil.research.paper.numbers.method_bound", lambda *_: bound)
    facts = {"dataset": "CA", "placement": "uniform", "epsilon": 30.0, "workload": "random", "truth": "raw"}
    scores = {"mre": 1.0, "mre_floor": 1.0, "wape": None, "mae": 1.0, "bias": 1.0, "zero_truths": 0, "suppressed": 0}
    record = {**facts, **scores, "mechanism": "even", "parameters": {}, "bound": "common"}
    both = average([{**record, "bound_step": 1.51, "bound_window": 181.2}])
    assert sorted(case.bound for case in both) == ["common", "own"]
    assert {found.wape for found in both.values()} == {None}
    one = average([{**record, "bound_step": 20.0, "bound_window": 181.2}])
    assert [case.bound for case in one] == ["common"]
