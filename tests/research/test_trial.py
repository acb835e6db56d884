import pickle
from dataclasses import replace

import numpy as np
import pytest
from tests.codes import has_code
from tests.research.towns import STEPS, SmallTowns, small_town

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.model.errors import BudgetError, UsageError
from gridveil.research import nonprivate
from gridveil.research.compare.trial import PROMISE, RunTrial, Trial, promise, release
from gridveil.trusted.budget import Bound

GENEROUS = Bound(10_000, 10_000 * STEPS)
TRIAL = Trial("small", "drawn", "identity", 3.0, GENEROUS, 500, 0)
RUN = RunTrial(SmallTowns())


def test_a_trial_is_repeatable_and_repeats_differ() -> None:
    once, again, other = RUN(TRIAL), RUN(TRIAL), RUN(replace(TRIAL, repeat=1))
    for record in (*once, *again, *other):
        record.pop("seconds")
    assert once == again
    assert [r["mae"] for r in once] != [r["mae"] for r in other]


def test_noise_differs_between_methods_epsilons_and_bounds() -> None:
    others = [
        replace(TRIAL, mechanism="even"),
        replace(TRIAL, epsilon=1.0),
        replace(TRIAL, bound=Bound(1, 1)),
        replace(TRIAL, repeat=1),
        replace(TRIAL, parameters=(("k", 3),)),
    ]
    assert len({trial.noise_seed() for trial in (TRIAL, *others)}) == 6


def test_records_have_all_that_a_comparison_needs() -> None:
    both = RUN(replace(TRIAL, bound_names=("common", "own")))
    assert [(r["bound"], r["workload"], r["truth"]) for r in both] == [
        (bound, workload, truth)
        for bound in ("common", "own")
        for workload in ("random", "small", "large")
        for truth in ("raw", "clipped")
    ]
    needed = "mechanism epsilon workload truth mre mre_floor wape mae bias seconds repeat bound bound_step bound_window"
    assert set(needed.split()) | {"zero_truths", "promise"} <= set(both[0])
    assert both[0]["promise"] == PROMISE
    assert both[0]["stamp"] == "NOT PRIVATE"
    assert both[0]["bound_step"] == 10


def test_without_noise_and_bounds_nothing_is_wrong() -> None:
    cube, bound = release(replace(TRIAL, epsilon=1e9), small_town())
    assert bound == GENEROUS
    np.testing.assert_allclose(cube, small_town().truth(), atol=0.002)


def test_bounds_show_against_the_raw_truth() -> None:
    tight = replace(TRIAL, epsilon=1e9, bound=Bound(500, 500 * STEPS))
    records = {(r["workload"], r["truth"]): r for r in RUN(tight)}
    assert records["random", "raw"]["bias"] < -1
    assert records["random", "clipped"]["mae"] == pytest.approx(0, abs=0.05)


def test_a_trial_may_choose_its_bound_privately() -> None:
    """The histogram is paid for, and what the bound cuts is put back: little is missing in all."""
    auto = replace(TRIAL, epsilon=100.0, bound_names=("auto",))
    cube, bound = release(auto, small_town())
    assert bound.step == GENEROUS.step
    assert bound.window < GENEROUS.window
    assert cube.sum() == pytest.approx(small_town().truth().sum(), rel=0.2)
    records = RUN(auto)
    assert {record["bound"] for record in records} == {"auto"}
    assert {record["bound_window"] for record in records} == {bound.window / 1000}


def test_a_baseline_has_no_bound_to_choose() -> None:
    exact, _ = release(replace(TRIAL, mechanism="count-rule-5"), small_town())
    again, bound = release(replace(TRIAL, mechanism="count-rule-5", bound_names=("auto",)), small_town())
    np.testing.assert_array_equal(exact, again)
    assert bound == GENEROUS


@pytest.mark.parametrize("name", sorted(COMPARISON_ONLY))
def test_baselines_run_and_say_what_they_promise(name: str) -> None:
    assert set(nonprivate.list_names()) == set(COMPARISON_ONLY)
    assert promise(name) == nonprivate.make(name).promise != PROMISE


def test_a_baseline_that_hides_cells_is_scored() -> None:
    records = RUN(replace(TRIAL, mechanism="count-rule-5"))
    assert any(record["suppressed"] for record in records)
    assert all(record["promise"] == promise("count-rule-5") for record in records)


def test_parameters_reach_the_mechanism() -> None:
    with pytest.raises(UsageError, check=has_code("parameter-unknown", "depth")):
        RUN(replace(TRIAL, parameters=(("depth", 3),)))


def test_a_method_that_learns_from_more_than_there_is_is_refused() -> None:
    with pytest.raises(UsageError, check=has_code("training-too-long")):
        RUN(replace(TRIAL, mechanism="stpt"))


def test_a_budget_that_cannot_be_is_refused() -> None:
    with pytest.raises(BudgetError):
        RUN(replace(TRIAL, epsilon=0))


def test_trials_and_their_runner_go_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps((RUN, TRIAL))) == (RUN, TRIAL)  # noqa: S301  # our own
    assert len({TRIAL, replace(TRIAL)}) == 1
