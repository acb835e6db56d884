"""Tables and figures of the paper's evaluation, from invented records."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gridveil.research.paper import tables as paper_tables
from gridveil.research.paper.comparison_figures import draw_comparisons
from gridveil.research.paper.detail_figures import draw_details
from gridveil.research.paper.experiments import AUTHORS_SETTINGS, FULL, QUICK
from gridveil.research.paper.style import order_methods
from gridveil.research.paper.tables import (
    MEASURES,
    average_errors,
    average_numbers,
    format_repeats,
    make_tables,
    rank_methods,
    select,
    write_tables,
)
from gridveil.research.paper.trials import STANDINS, plain_clip
from gridveil.simulate.rehearse import AUTHORS, WORKLOADS


def record(mechanism: str, mre: float | None, **facts: object) -> dict[str, Any]:
    """A record of a trial under a bound that is no method's own."""
    where = {"dataset": "CER", "placement": "uniform", "epsilon": 30.0, "workload": "random", "truth": "clipped"}
    bound = {"bound": "common", "bound_step": 1.0, "bound_window": 1.0, "parameters": {}}
    scores = dict.fromkeys(MEASURES, 1.0) | {"wape": 4.0, "zero_truths": 0, "suppressed": 0, "mre": mre}
    return {**where, **bound, **scores, "mechanism": mechanism, **facts}


def panels(errors: dict[str, float], **facts: object) -> list[dict[str, Any]]:
    """The same errors in every panel."""
    return [
        record(name, error, **{"dataset": dataset, "placement": placement, "workload": workload, **facts})
        for dataset, workload, placement, (name, error) in product(
            STANDINS, WORKLOADS, ("uniform", "normal"), errors.items()
        )
    ]


def test_one_repeat_has_no_spread_and_repeats_are_counted(tmp_path: Path) -> None:
    records = [record("even", 1.0), record("even", 3.0), record("ug", 4.0)]
    write_tables({"london": average_errors(records)}, tmp_path)
    written = pd.read_csv(tmp_path / "london.csv").set_index("mechanism")
    assert written.loc["even", ["repeats", "mre", "mre_sd"]].tolist() == [2, 2.0, 1.414]  # type: ignore[operator]  # numbers, of any type for pandas
    assert written.loc["ug", "repeats"] == 1
    assert (tmp_path / "london.csv").read_text().splitlines()[2] == (
        "CER,uniform,30,common,random,clipped,ug,,1,4,1,4,1,1,,,0,0"
    )
    assert format_repeats(average_errors(records)) == "1 to 2 repeats"
    (row,) = average_numbers([{"method": "a", "repeat": 0, "mae": 1.0}], ["method"]).to_dict("records")
    assert (row["repeats"], row["mae"]) == (1, 1.0)
    assert np.isnan(row["mae_sd"])


def test_an_error_that_is_not_defined_does_not_count() -> None:
    (row,) = average_errors([record("even", None), record("even", 3.0), record("even", 5.0)]).to_dict("records")
    assert (row["repeats"], row["mre"], row["mre_sd"]) == (3, 4.0, pytest.approx(2**0.5))


def test_a_run_under_a_bound_that_is_both_counts_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = plain_clip("CA")
    monkeypatch.setattr(paper_tables, "method_bound", lambda *_: bound)
    of_ca = record("even", 1.0, dataset="CA", wape=None, bound_step=1.51, bound_window=181.2)
    both = average_errors([of_ca])
    assert sorted(both["bound"]) == ["common", "own"]
    assert both["wape"].isna().all()
    assert average_errors([{**of_ca, "bound_step": 20.0}])["bound"].tolist() == ["common"]
    # Without runs under own bounds, those of the few whose own bound is the common one would mislead.
    assert set(make_tables({"panels": [of_ca]}, QUICK)["panels"]["bound"]) == {"common"}
    assert set(make_tables({"panels": [of_ca]}, FULL)["panels"]["bound"]) == {"common", "own"}


def test_ranks_leave_out_baselines_and_contests_that_are_not_complete() -> None:
    records = panels({"stpt": 1.0, "even": 2.0, "count-rule": 0.0})
    records.append(record("even", 0.0, dataset="lcl"))
    ranks = rank_methods(average_errors(records), [("common", "clipped")])
    assert ranks[["mechanism", "all", "epsilon 30"]].to_numpy().tolist() == [["stpt", 1.0, 1.0], ["even", 2.0, 2.0]]


def test_ranks_are_means_over_contests() -> None:
    records = [*panels({"stpt": 1.0, "even": 2.0}), *panels({"stpt": 3.0, "even": 2.0}, epsilon=1.0)]
    (stpt,) = select(rank_methods(average_errors(records), [("common", "clipped")]), mechanism="stpt").to_dict(
        "records"
    )
    assert (stpt["all"], stpt["epsilon 1"], stpt["epsilon 30"]) == (1.5, 2.0, 1.0)


def test_run_times_have_their_median() -> None:
    times = [
        {"mechanism": "even", "epsilon": 30.0, "repeat": repeat, "seconds": seconds, "learning": None}
        for repeat, seconds in enumerate((1.0, 2.0, 9.0))
    ]
    (row,) = make_tables({"runtime": times}, FULL)["runtime"].to_dict("records")
    assert (row["repeats"], row["seconds"], row["seconds_median"]) == (3, 4.0, 2.0)
    assert np.isnan(row["learning"])


def test_tables_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "leak.csv").touch()
    write_tables(make_tables({"panels": panels({"stpt": 1.0}), "leak": []}, FULL), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["panels-ranks.csv", "panels.csv"]


def test_a_curve_needs_two_epsilons_and_names_stay_beside_their_panel() -> None:
    one = panels(dict.fromkeys(order_methods(), 5.0) | {"hdmm": 500.0, "stpt": 0.1})
    assert set(dict(draw_comparisons(make_tables({"panels": one}, FULL)))) == {"panels"}
    two = [*one, *({**each, "epsilon": 3.0} for each in one if each["placement"] == "uniform")]
    drawn = dict(draw_comparisons(make_tables({"panels": two}, FULL)))
    assert set(drawn) == {"panels", "curves-uniform"}
    for axes in drawn["curves-uniform"].axes:
        heights = sorted(text.xyann[1] for text in axes.texts)
        assert len(heights) == len(order_methods())
        assert -1e-9 <= heights[0] <= heights[-1] <= 1 + 1e-9
        assert np.diff(heights).min() * axes.bbox.height > 10
        assert all(drawn_line.get_marker() == "o" for drawn_line in axes.lines)


def test_details_are_drawn_from_their_tables() -> None:
    scores = {"repeat": 0} | {f"{prefix}{name}": 0.5 for prefix in ("", "flat_") for name in ("mae", "rmse")}
    patterns = [
        {"dataset": "lcl", "placement": "uniform", "mechanism": "stpt", "per_point": point, "depth": depth, **scores}
        for point, depth in ((0.01, 5), (0.1, 5), (0.1, 2))
    ]
    times = [
        {"mechanism": name, "epsilon": 30.0, "repeat": 0, "seconds": 2.0, "learning": None} for name in ("even", "ug")
    ]
    buckets = [record("stpt", 3.0, workload=w, parameters={"buckets": k}) for w in WORKLOADS for k in (10, 50)]
    leak = [record("stpt-paper", 3.0, workload=w, parameters=dict(AUTHORS_SETTINGS)) for w in (*AUTHORS, *WORKLOADS)]
    records = {
        "pattern": [{**row, "repeat": 0} for row in patterns],
        "runtime": times,
        "buckets": buckets,
        "leak": leak,
    }
    drawn = dict(draw_details(make_tables(records, FULL)))
    assert set(drawn) == {"pattern-budget", "pattern-depth", "runtime", "buckets", "leak"}
    budget, depth = (drawn[name].axes[0].lines[-1] for name in ("pattern-budget", "pattern-depth"))
    assert np.asarray(budget.get_xdata()).tolist() == [0.01, 0.1]
    assert np.asarray(depth.get_xdata()).tolist() == [2, 5]
    assert [text.get_text() for text in drawn["runtime"].axes[0].get_yticklabels()] == ["ug", "even"]
    assert all(text == "2.00" for text in (text.get_text() for text in drawn["runtime"].axes[0].texts))
    assert np.asarray(drawn["buckets"].axes[0].lines[0].get_xdata()).tolist() == [10, 50]
    shown = [line for line in drawn["leak"].axes[0].lines if np.isfinite(np.asarray(line.get_ydata())).any()]
    assert [line.get_label() for line in shown] == ["stpt-paper, authors' settings"]
