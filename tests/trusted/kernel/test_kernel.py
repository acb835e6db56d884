"""The kernel's own rules: what it costs, what it refuses, what it hands out."""

import copy
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.running import Limits
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource, SeededLaplace, kernel_on
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel import kernel as kernel_module
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.labels import check_held
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.questions import ask_sums

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
BOUND = Bound(step=10, window=25)
READINGS = np.arange(3 * 2 * 4).reshape(3, 2, 4)


def kernel(epsilon: float | str = 1, train_steps: int = 0, seed: int | None = 0) -> Kernel:
    readings = np.concatenate([READINGS] * 2, axis=-1)[..., : 4 + train_steps]
    return kernel_on(readings, WINDOW, epsilon=epsilon, bound=BOUND, seed=seed, train_steps=train_steps)


def test_one_measurement_uses_the_whole_budget_and_no_more() -> None:
    for epsilon in ("1", "0.1", "3", "1e-6", "700"):
        asked = kernel(epsilon)
        asked.session().sums(np.arange(4), float(epsilon))
        assert Fraction(asked.spent) <= Fraction(epsilon)
        assert asked.spent >= float(epsilon) * (1 - 1e-9)


def test_many_measurements_use_the_whole_budget_and_no_more() -> None:
    asked = kernel("1")
    for _ in range(10):
        asked.session().sums(0, 0.1)
    assert 1 - 1e-9 <= asked.spent <= 1
    assert 0 <= asked.remaining <= 1e-9


def test_what_would_go_over_is_refused_and_changes_nothing() -> None:
    asked = kernel("1")
    asked.session().sums(0, 0.6)
    before = asked.spent
    with pytest.raises(BudgetError, check=has_code("over-budget", "remaining 0.4")):
        asked.session().sums(0, 0.5)
    with pytest.raises(BudgetError):
        asked.session().household_totals([0, 10], 0.5)
    assert asked.spent == before
    assert len(asked.records) == 1
    asked.session().sums(0, 0.4)


def test_scales_are_those_of_the_window_bound() -> None:
    everything = kernel().session().sums(0, 0.5)
    assert everything.scales == pytest.approx([25 / 0.5], rel=1e-9)
    every_step = kernel().session().sums(np.arange(4), 0.5)
    assert every_step.scales == pytest.approx([25 / 0.5] * 4, rel=1e-9)
    two_steps = kernel().session().sums(np.array([0, 0, -1, -1]), 0.5)
    assert two_steps.scales == pytest.approx([20 / 0.5], rel=1e-9)


def test_disjoint_cells_cost_once_and_disjoint_steps_share_the_window_bound() -> None:
    by_cell = kernel()
    by_cell.session().sums(np.arange(6).reshape(3, 2, 1), 1.0)
    assert by_cell.spent == pytest.approx(1.0)
    halves = kernel("1.0")
    first, second = np.array([0, 0, -1, -1]), np.array([-1, -1, 0, 0])
    halves.session().sums(first, 0.5)
    halves.session().sums(second, 0.5)  # each alone can reach 20 Wh, together no more than 25
    assert halves.spent == pytest.approx(0.5 * 25 / 20)


def test_windows_and_bounds_have_accounts_of_their_own() -> None:
    asked = kernel("2", train_steps=2)
    asked.session().sums(0, 1.0, window=WINDOW.before(2))
    asked.session().sums(0, 0.5)
    asked.session().sums(0, 0.5, bound=Bound(5, 5))
    assert asked.spent == pytest.approx(2.0)


def test_training_bound_is_carried_over_pro_rata() -> None:
    asked = kernel("1", train_steps=2)
    asked.session().sums(0, 1.0, window=WINDOW.before(2))
    assert asked.records[0].bound == Bound(10, 12)


def test_theorem_8_and_joint_calibration_as_published() -> None:
    """Two kinds of pillars with (1, 119) and (119, 1) steps in two parts, epsilon 20: methods, oracle 8."""
    window = Window(WINDOW.start, WINDOW.step, 120)
    bound = Bound(step=100, window=100 * 120)
    labels = np.zeros((2, 1, 120), dtype=int)
    labels[0, 0, 1:], labels[1, 0, :1] = 1, 1
    readings = np.zeros((2, 1, 120))
    most = np.array([119, 119])
    eight = kernel_on(readings, window, epsilon=20, bound=bound)
    measured = eight.session().sums(labels, 20, relative=most ** (1 / 3), sequential=True)
    assert measured.scales / 100 == pytest.approx([11.9, 11.9], rel=1e-6)
    joint = kernel_on(readings, window, epsilon=20, bound=bound).session().sums(labels, 20)
    assert joint.scales / 100 == pytest.approx([6.0, 6.0], rel=1e-6)


def test_household_totals_cost_the_same_in_every_pillar() -> None:
    asked = kernel("1")
    counted = asked.session().household_totals([0, 50, 10**6], 0.25)
    assert counted.scales == pytest.approx([4.0] * 3)
    assert asked.spent == pytest.approx(0.25)
    asked.session().sums(0, 0.75)
    assert 1 - 1e-9 <= asked.spent <= 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda k: k.session().sums(np.array([0.5, 1.0]), 1),
        lambda k: k.session().sums(np.zeros((3, 2, 5), dtype=int), 1),
        lambda k: k.session().sums(np.zeros((1, 3, 2, 4), dtype=int), 1),
        lambda k: k.session().sums(np.array([-2, 0, 0, 0]), 1),
        lambda k: k.session().sums(-1, 1),
        lambda k: k.session().sums(np.arange(4), 1, relative=[1.0, 2.0]),
        lambda k: k.session().sums(np.arange(4), 1, relative=[1.0, 1.0, 0.0, 1.0]),
        lambda k: k.session().sums(np.arange(4), 1, relative=[1.0, 1.0, np.inf, 1.0]),
        lambda k: k.session().household_totals([3, 2], 1),
        lambda k: k.session().household_totals([], 1),
    ],
)
def test_questions_without_meaning_are_refused_before_anything_is_spent(ask: Any) -> None:
    asked = kernel()
    with pytest.raises(UsageError):
        ask(asked)
    assert asked.spent == 0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf, 1e-300])
def test_epsilons_without_meaning_are_refused(epsilon: float) -> None:
    asked = kernel()
    for ask in (lambda: asked.session().sums(0, epsilon), lambda: asked.session().household_totals([0], epsilon)):
        with pytest.raises(BudgetError):
            ask()
    assert asked.spent == 0


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize(
    ("relative", "epsilon"),
    [
        *(([1.0, 1e-320], 1.0), ([1e300, 1.0], 1.0), ([1.0, 1e-20], 1.0)),
        *(([1.0, 1.0], 1e20), ([1.0, 1.0], 1e300), ([1.0, 1.0], 5e-324)),
    ],
)
def test_scales_beyond_what_floats_hold_are_refused(relative: list[float], epsilon: float, *, sequential: bool) -> None:
    asked = kernel("1e30")
    with pytest.raises((BudgetError, UsageError)):
        asked.session().sums(np.array([0, 1, 0, 1]), epsilon, relative=relative, sequential=sequential)
    assert asked.spent == 0


def test_answers_are_exact_up_to_noise() -> None:
    asked = kernel("1e15", seed=None)
    labels = np.arange(6).reshape(3, 2, 1) % 4
    bounded = np.minimum(READINGS, 10)
    totals = bounded.sum(axis=-1, keepdims=True)
    bounded = np.where(totals > 25, bounded * 25 // totals, bounded)
    expected = [bounded.sum(axis=-1)[labels[..., 0] == i].sum() for i in range(4)]
    assert asked.session().sums(labels, 1e14).values.tolist() == expected
    totals_of_capped_steps = asked.session().household_totals(
        [0, 20, 25, 37, 38, 40, 41], 1e14
    )  # 6, 22, 37, 40, 40, 40
    assert totals_of_capped_steps.values.tolist() == [1, 1, 0, 1, 0, 3, 0]


def test_household_totals_are_of_the_window_that_was_asked_for() -> None:
    """In the two steps before the published ones, household `i` used `4 i` and `4 i + 1` Wh, capped at 10 each."""
    asked = kernel("1e15", train_steps=2, seed=None)
    before = asked.session().household_totals([0, 6, 14, 20, 21], 1e14, window=WINDOW.before(2))
    assert before.values.tolist() == [1, 1, 1, 3, 0]  # totals 1, 9, 17, 20, 20, 20
    assert [record.window for record in asked.records] == [WINDOW.before(2)]


def test_the_session_has_no_way_to_the_source() -> None:
    """Follow every attribute, except a function's closure and globals: Python is no sandbox."""
    seen: list[object] = []

    def walk(thing: object) -> None:
        if any(thing is known for known in seen):
            return
        seen.append(thing)
        assert not isinstance(thing, ArraySource | Kernel), "a mechanism could reach the true data"
        attributes = dict(getattr(thing, "__dict__", {}))
        for name in (
            "__self__",
            "__wrapped__",
            "__func__",
            "func",
            "args",
            "keywords",
            "__defaults__",
            "__kwdefaults__",
        ):
            attributes[name] = getattr(thing, name, None)
        for value in attributes.values():
            walk(value)

    session = kernel().session()
    walk(session)
    assert any(thing is session._ask for thing in seen)


def test_a_question_that_was_not_worked_out_by_the_kernel_is_not_answered() -> None:
    """Somebody who finds the way to the kernel still cannot ask for less noise than is charged for."""
    asked = kernel("1", seed=None)
    session = asked.session()
    question, _ = session._ask("household_totals", WINDOW, None, 0.25, edges=[0])
    forged = replace(question, scales=np.full(1, 1e-9))
    for kind in (forged, ask_sums, "exact"):
        with pytest.raises(UsageError, check=has_code("question-unknown")):
            session._ask(kind, WINDOW, BOUND, 0.25)
    assert len(asked.records) == 1


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_labels_of_any_integer_type_mean_the_same(kind: type) -> None:
    labels = np.arange(6).reshape(3, 2, 1)
    expected, given = kernel(seed=1), kernel(seed=1)
    assert (
        expected.session().sums(labels, 1).values.tolist()
        == given.session().sums(labels.astype(kind), 1).values.tolist()
    )
    assert expected.spent == given.spent


def test_only_the_real_noise_is_believed_to_be_private() -> None:
    class Claims(SeededLaplace):
        private = True

    class Derived(ExactNoise):
        """Inherits the right name, and could add anything."""

    assert kernel(seed=None).private
    assert not kernel(seed=0).private
    source = ArraySource(Grid(0, 0, 1, 1, 1, 1), WINDOW, np.zeros((0, 2), dtype=int), np.zeros((0, 4), dtype=int))
    derived = Kernel(source, WINDOW, budget=PureDP(1), bound=BOUND, noise=Derived())
    assert not derived.private
    claimed = Kernel(source, WINDOW, budget=PureDP(1), bound=BOUND, noise=Claims(0))
    assert not claimed.private
    with pytest.raises(AttributeError):
        claimed.private = True  # type: ignore[misc]  # refused, as the test shows
    with pytest.raises(AttributeError):
        claimed.budget = PureDP(100)  # type: ignore[misc]  # refused, as the test shows


def test_many_threads_cannot_overspend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are given the time to come between what is allowed and what is charged."""
    worst = kernel_module._largest_loss  # the moment between the two

    def slowly(*losses: Any) -> float:
        found = worst(*losses)
        time.sleep(0.001)
        return found

    monkeypatch.setattr(kernel_module, "_largest_loss", slowly)
    asked = kernel("1")
    session = asked.session()

    def ask(_: int) -> int:
        try:
            session.sums(np.zeros((3, 2, 1), dtype=int), 0.3)
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        answered = sum(pool.map(ask, range(64)))
    assert answered == 3
    assert asked.spent == pytest.approx(0.9)


def test_bounds_and_windows_are_python_integers_or_refused() -> None:
    assert type(Bound(np.int32(10), np.int64(25)).step) is int
    assert type(Window(WINDOW.start, WINDOW.step, np.int16(4)).steps) is int
    for make in (lambda: Bound(1.5, 3), lambda: Bound(2, 2.0), lambda: Window(WINDOW.start, WINDOW.step, 4.0)):
        with pytest.raises(TypeError):
            make()
    step, steps = np.int32(2**20), np.int16(125)
    window = Window(WINDOW.start, WINDOW.step, steps)
    asked = kernel_on(np.zeros((1, 1, 125)), window, epsilon=1, bound=Bound(step, np.int64(2**30)))
    assert asked.session().sums(0, 1).scales[0] == pytest.approx(2**20 * 125, rel=1e-9)


def test_short_floats_are_charged_as_what_they_are() -> None:
    asked = kernel("1")
    tenth = np.float16(0.1)
    counted = asked.session().household_totals([0], tenth)
    assert 1 / counted.scales[0] <= asked.spent
    assert asked.spent == pytest.approx(float(tenth), rel=1e-9)


def test_sequential_charges_do_not_overflow() -> None:
    window = Window(WINDOW.start, WINDOW.step, 90_123)
    bound = Bound(step=409_368_176_241_571, window=4)
    asked = kernel_on(np.zeros((1, 1, 90_123)), window, epsilon=1, bound=bound)
    assert asked.session().sums(0, 1.0, sequential=True).scales[0] == pytest.approx(4, rel=1e-9)


def test_windows_are_the_same_if_they_are_the_same_time() -> None:
    london = ZoneInfo("Europe/London")
    first, second = (Window(datetime(2013, 10, 27, 1, 30, fold=fold, tzinfo=london), WINDOW.step, 4) for fold in (0, 1))
    assert first != second
    assert first == Window(datetime(2013, 10, 27, 0, 30, tzinfo=UTC), WINDOW.step, 4)
    assert first.end == first.times()[-1] + first.step


def test_labels_that_change_after_the_charge_change_nothing() -> None:
    """Another thread, or a memory-mapped file, may write into the caller's array while the cube is being built."""
    labels = np.array([0, -1, -1, -1])

    class Slow(ArraySource):
        def bounded_cube(self, window: Window, bound: Bound) -> Any:  # type: ignore[override]  # an old signature on purpose
            labels[:] = 0
            return super().bounded_cube(window, bound)

    source = Slow(Grid(0, 0, 1, 1, 1, 1), WINDOW, np.zeros((1, 2), dtype=int), np.full((1, 4), 6))
    asked = Kernel(source, WINDOW, budget=PureDP("1e9"), bound=BOUND)
    assert asked.session().sums(labels, 1e9).values.tolist() == [6]


def test_the_real_noise_cannot_be_tampered_with() -> None:
    with pytest.raises(AttributeError):
        ExactNoise().add = lambda values, _: values  # type: ignore[assignment, method-assign]  # refused, as the test shows


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_kernel_cannot_be_had_twice(again: Any) -> None:
    with pytest.raises(UsageError, check=has_code("kernel-copied")):
        again(kernel())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_kernel_does_not_spend_the_budget_again() -> None:
    asked = kernel("1")
    child = os.fork()
    if not child:
        try:
            asked.session().sums(0, 0.5)
        except UsageError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    asked.session().sums(0, 0.5)


def test_look_alikes_of_bounds_and_windows_are_refused() -> None:
    class Pair(NamedTuple):
        step: int
        window: int

    asked = kernel()
    for options in ({"bound": Pair(2**40, 2**41)}, {"window": "tomorrow"}):
        with pytest.raises(UsageError, check=has_code("scope-invalid")):
            asked.session().sums(0, 1.0, **options)
    assert asked.spent == 0


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64])
def test_counts_of_any_integer_type_are_answered_in_64_bits(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArraySource, "count_totals", lambda *_: np.full(2, 255 if kind is np.uint8 else 2, kind))
    counts = kernel("1").session().household_totals([0, 10], 1e-3).values
    assert counts.dtype == np.int64
    assert np.abs(counts).max() > 300  # the noise has a scale of a thousand, and does not wrap


def test_counts_that_are_not_one_for_each_bin_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArraySource, "count_totals", lambda *_: np.zeros(2, np.int64))
    with pytest.raises(UsageError, check=has_code("source-shape")):
        kernel("1").session().household_totals([0, 10, 20], 0.5)


def test_no_limits_hold_more_than_the_proof_allows() -> None:
    with pytest.raises(UsageError, check=has_code("cube-too-large")):
        check_held((2**11, 2**11, 2**12), Limits(held_values=2**40))
