"""Sentences are made of numbers: other numbers make other sentences."""

from itertools import product

import pytest

from gridveil.evaluate.paper.comparison import BENCHMARKS, CLAIMED, comparison_findings
from gridveil.evaluate.paper.detail_findings import bucket_findings, pattern_findings, runtime_findings
from gridveil.evaluate.paper.findings import AGREES, DISAGREES, IN_PART, Finding, listed, verdict
from gridveil.evaluate.paper.leak import TWIN, leak_findings
from gridveil.evaluate.paper.numbers import Case, Line, Lines, average
from gridveil.evaluate.paper.rankings import mean_ranks, rank_table
from gridveil.evaluate.paper.towns import STANDINS, plain_clip
from gridveil.evaluate.summary import Spread
from gridveil.evaluate.workloads import AUTHORS, WORKLOADS


def line(error: float) -> Line:
    spread = Spread(error, 0.0)
    return Line(1, spread, spread, spread, spread, spread, 0, 0)


def panels(errors: dict[str, float], clustered: float = 2.0) -> Lines:
    """The same errors in every panel, larger by a factor where households are clustered."""
    return {
        Case(dataset, placement, 30.0, "common", workload, "clipped", name): line(error * factor)
        for dataset, workload, (placement, factor), (name, error) in product(
            STANDINS, WORKLOADS, {"uniform": 1.0, "normal": clustered}.items(), errors.items()
        )
    }


def by_topic(lines: Lines) -> dict[str, Finding]:
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
        Case("lcl", "uniform", 30.0, "common", "random", "clipped", "stpt-paper", f"buckets={k}"): line(error)
        for k, error in errors.items()
    }
    (finding,) = bucket_findings(lines)
    assert finding.verdict == expected
    assert finding.numbers["mre"] == errors


def test_run_time_is_the_median_and_yardsticks_do_not_count() -> None:
    facts = {"epsilon": 30.0, "repeat": 0}
    records = [
        {**facts, "mechanism": "stpt", "seconds": 8.0, "learning": 6.0},
        {**facts, "mechanism": "even", "seconds": 0.01, "learning": None},
        {**facts, "mechanism": "stpt-leaky", "seconds": 99.0, "learning": None},
    ]
    seconds, learning = runtime_findings(records)
    assert "2 of 2 methods" in seconds.ours
    assert "75 % of `stpt`'s time" in learning.ours


def test_the_leak_is_compared_with_the_same_settings_without_it() -> None:
    errors = {"stpt-leaky": 5.0, TWIN: 10.0, "stpt-paper": 4.0, "stpt": 2.5}
    lines = {}
    for workload, (name, error) in product([*AUTHORS, *WORKLOADS], errors.items()):
        mechanism, _, parameters = name.partition(" ")
        lines[Case("lcl", "one-per-cell", 30.0, "common", workload, "clipped", mechanism, parameters)] = line(error)
    theirs, ours = leak_findings(lines, 30.0)
    assert "beats stpt-paper, authors' settings in 3 of 3" in theirs.ours
    assert "with 0.50 times its error" in ours.ours
    assert "beats stpt in 0 of 3 cases (none), with 2.00 times" in ours.ours


def test_ranks_leave_out_yardsticks_and_contests_that_are_not_complete() -> None:
    lines = panels({"stpt": 1.0, "even": 2.0, "count-rule": 0.0})
    lines[Case("lcl", "uniform", 30.0, "common", "random", "clipped", "even")] = line(0.0)
    assert mean_ranks(lines) == {"stpt": 1.0, "even": 2.0}
    assert rank_table(lines, "common", "clipped")[1] == ["`stpt`", "1.0", "1.0"]


def test_a_run_under_a_bound_that_is_both_counts_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = plain_clip("CA")
    monkeypatch.setattr("gridveil.evaluate.paper.numbers.method_bound", lambda *_: bound)
    facts = {"dataset": "CA", "placement": "uniform", "epsilon": 30.0, "workload": "random", "truth": "raw"}
    scores = {"mre": 1.0, "mre_floor": 1.0, "wape": None, "mae": 1.0, "bias": 1.0, "zero_truths": 0, "suppressed": 0}
    record = {**facts, **scores, "mechanism": "even", "parameters": {}, "bound": "common"}
    both = average([{**record, "bound_step": 1.51, "bound_window": 181.2}])
    assert sorted(case.bound for case in both) == ["common", "own"]
    assert {found.wape for found in both.values()} == {None}
    one = average([{**record, "bound_step": 20.0, "bound_window": 181.2}])
    assert [case.bound for case in one] == ["common"]
