from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.research.compare.bounds import own_bound
from gridveil.research.compare.compare import all_methods
from gridveil.research.compare.trial import steps_before
from gridveil.research.paper import experiments
from gridveil.research.paper.experiments import FULL, QUICK, SLOW, make_stages
from gridveil.research.paper.trials import LONDON, LONDON_TUNED_FROM, PaperTowns, common_bound, method_bound
from gridveil.trusted.budget import Bound


def test_the_full_run_has_every_method_placement_and_epsilon_ten_times_under_the_common_bound() -> None:
    trials = experiments.list_london(FULL, ("uniform", "normal", "density"))
    common = Counter(
        (trial.placement, trial.mechanism, trial.epsilon) for trial in trials if trial.bound_names == ("common",)
    )
    assert set(common.values()) == {10}
    assert len(common) == 3 * len(all_methods()) * 4
    panels = [trial for epsilon, _ in FULL.panels for trial in experiments.list_panels(FULL, epsilon)]
    seen = Counter((t.dataset, t.placement, t.mechanism, t.epsilon) for t in panels if t.bound_names == ("common",))
    assert set(seen.values()) == {10}
    assert len(seen) == 4 * 2 * len(all_methods()) * 4


def test_no_trial_is_there_twice_and_all_quick_ones_are_part_of_the_full_run() -> None:
    towns = PaperTowns()
    for size in (FULL, QUICK):
        for stage in make_stages(size, towns):
            assert len(set(stage.trials)) == len(stage.trials), stage.title
    full = {trial for stage in make_stages(FULL, towns) for trial in stage.trials}
    quick = {trial for stage in make_stages(QUICK, towns) for trial in stage.trials}
    assert quick <= full


def test_the_most_telling_comes_first() -> None:
    order = [stage.title for stage in make_stages(FULL, PaperTowns())]
    assert order[:2] == ["London", "stand-ins at epsilon 30"]
    assert order[-1] == "stand-ins at epsilon 10, 3, 1, networks"
    assert [trial.epsilon for trial in make_stages(FULL, PaperTowns())[-1].trials[:1]] == [10.0]
    methods = [trial.mechanism for trial in experiments.list_london(FULL, ("uniform",))]
    first_slow = next(number for number, name in enumerate(methods) if name in SLOW)
    assert set(methods[first_slow:]) == set(SLOW)


def test_methods_have_their_own_bounds_and_baselines_the_common_one() -> None:
    assert common_bound("CER") == Bound(1850, 1850 * 120)
    assert common_bound(LONDON) == Bound(20_000, 136_800)
    for name in all_methods():
        own = method_bound(LONDON, name, 30.0)
        tuned = own_bound(name, 30.0, LONDON_TUNED_FROM, 120)
        assert own == (common_bound(LONDON) if name in COMPARISON_ONLY else tuned)
    # One run stands for both, if the two are the same.
    trials = experiments.list_london(FULL, ("uniform",))
    assert all(trial.bound != common_bound(LONDON) for trial in trials if trial.bound_names == ("own",))


def test_the_paper_s_budget_of_the_pattern() -> None:
    trials = experiments.list_patterns(FULL)
    assert {trial.per_point for trial in trials} == {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}
    assert {trial.depth for trial in trials if trial.per_point == 0.1} == {0, 1, 2, 3, 4, 5}
    assert steps_before("stpt") * 0.1 == pytest.approx(10)


def test_towns_keep_their_households_and_move_them(tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("lon,lat,meters\n0.0,51.0,1\n0.1,51.1,3\n")
    towns = PaperTowns(points=str(points), weight="meters")
    one, other = (towns("CA", "density", seed) for seed in (0, 1))
    assert np.array_equal(one.dataset.readings, other.dataset.readings)
    assert not np.array_equal(one.cells, other.cells)
    # Homes lie around the two points, not on them.
    assert 2 < len(np.unique(one.cells, axis=0)) < 30
    assert towns.about() != PaperTowns().about()
