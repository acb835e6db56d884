"""What one household can change, against what the kernel accounts for."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.transforms import Fourier, Haar

STEP = timedelta(hours=1)
START = datetime(2013, 2, 4, tzinfo=UTC)
NX, NY, STEPS, TRAIN = 2, 1, 3, 2
WINDOW = Window(START, STEP, STEPS)
WHOLE = Window(WINDOW.before(TRAIN).start, STEP, TRAIN + STEPS)


class NoNoise:
    """True answers, to see how far they move."""

    def add(self, values: Any, scales: Any) -> Any:
        del scales
        return values

    add_staircase = add


bounds = st.builds(Bound, step=st.integers(1, 3), window=st.integers(1, 7))


def matrices(columns: int) -> st.SearchStrategy[Any]:
    entries = st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.1, 1 / 3, 1.0, 1.7])
    rows = st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=1, max_size=3)
    return rows.map(np.array).filter(np.any)


@st.composite
def strategies(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Questions of the other kinds: strategies, transforms, deviations."""
    training = draw(st.booleans())
    steps = TRAIN if training else STEPS
    place = {
        "epsilon": draw(st.floats(0.1, 1)),
        "window": WINDOW.before(TRAIN) if training else WINDOW,
        "bound": draw(st.none() | bounds),
    }
    space = {"x": draw(st.none() | matrices(NX)), "y": draw(st.none() | matrices(NY))}
    kind = draw(st.sampled_from(["matrix", "transform", "deviations"]))
    if kind == "matrix":
        return kind, {"t": draw(st.none() | matrices(steps)), **space, **place}
    if kind == "transform":
        fourier = st.builds(Fourier, st.integers(1, steps // 2 + 1))
        padded = 1 << (steps - 1).bit_length()
        haar = st.builds(Haar, st.none() | st.integers(1, padded), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
        return kind, {"transform": draw(fourier | haar), **space, **place}
    labels = np.array(draw(st.lists(st.integers(-1, 2), min_size=NX * NY * steps, max_size=NX * NY * steps)))
    labels[:2] = 0  # at least two in one label
    return kind, {"labels": labels.reshape(NX, NY, steps), **place}


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    if draw(st.integers(0, 5)) == 0:
        edges = sorted(draw(st.sets(st.integers(0, 8), min_size=1, max_size=4)))
        return "household_totals", {"edges": edges, "epsilon": draw(st.floats(0.1, 1))}
    training = draw(st.booleans())
    steps = TRAIN if training else STEPS
    shape = tuple(draw(st.sampled_from([1, full])) for full in (NX, NY, steps))
    size = int(np.prod(shape))
    labels = np.array(draw(st.lists(st.integers(-1, 2), min_size=size, max_size=size))).reshape(shape)
    labels.flat[0] = max(labels.flat[0], 0)  # at least one is measured
    return "sums", {
        "labels": labels,
        "epsilon": draw(st.floats(0.1, 1)),
        "window": WINDOW.before(TRAIN) if training else WINDOW,
        "bound": draw(st.none() | bounds),
        "relative": draw(st.none() | st.lists(st.floats(0.2, 5), min_size=3, max_size=3)),
        "sequential": draw(st.booleans()),
    }


def ask(kernel: Kernel, asked: list[tuple[str, dict[str, Any]]]) -> list[tuple[np.ndarray, np.ndarray]]:
    answers = [getattr(kernel.session(), kind)(**options) for kind, options in asked]
    return [(answer.values, answer.scales) for answer in answers]


def source(households: list[tuple[tuple[int, int], list[int]]]) -> ArraySource:
    cells = np.array([cell for cell, _ in households], dtype=np.int64).reshape(-1, 2)
    readings = np.array([series for _, series in households], dtype=np.int64).reshape(-1, TRAIN + STEPS)
    return ArraySource(Grid(0, 0, NX, NY, NX, NY), WHOLE, cells, readings)


def kernel_of(data: ArraySource, bound: Bound) -> Kernel:
    return Kernel(data, WINDOW, budget=PureDP(1000), bound=bound, noise=NoNoise())


household = st.tuples(
    st.tuples(st.integers(0, NX - 1), st.integers(0, NY - 1)),
    st.lists(st.integers(0, 9), min_size=TRAIN + STEPS, max_size=TRAIN + STEPS),
)


TREE = np.concatenate([np.ones((1, STEPS)), np.eye(STEPS)])
WORST = {
    "households": [],
    "one": ((0, 0), [0] * TRAIN + [3, 3, 1]),
    "bound": Bound(step=3, window=7),
    "asked": [
        ("sums", {"labels": 0, "epsilon": 0.5}),
        ("sums", {"labels": np.arange(STEPS), "epsilon": 0.5}),
        ("matrix", {"x": None, "y": None, "t": TREE, "epsilon": 0.5}),
        ("sums", {"labels": 0, "epsilon": 0.5, "bound": Bound(step=1, window=3)}),
        ("household_totals", {"edges": [0, 5], "epsilon": 0.5}),
        ("household_totals", {"edges": [0, 5], "epsilon": 0.5}),
    ],
}
"""Levels of trees and two histograms, and a household that loses all that is accounted for in each of them."""


@given(
    households=st.lists(household, max_size=4),
    one=household,
    bound=bounds,
    asked=st.lists(questions() | strategies(), min_size=1, max_size=4),
)
@example(**WORST)
def test_no_household_moves_the_answers_by_more_than_is_accounted_for(
    households: list[Any], one: Any, bound: Bound, asked: list[Any]
) -> None:
    with_one, without = kernel_of(source([*households, one]), bound), kernel_of(source(households), bound)
    moved = 0.0
    for (values, scales), (other, _) in zip(ask(with_one, asked), ask(without, asked), strict=True):
        moved += float((np.abs(values - other) / scales).sum())
    assert moved <= with_one.spent * (1 + 1e-12)
    assert with_one.spent == without.spent


def test_what_is_accounted_for_can_be_lost() -> None:
    """The example above leaves nothing to spare: a charge that was forgotten would show."""
    kernel = kernel_of(source([WORST["one"]]), WORST["bound"])  # type: ignore[list-item]  # a dict of mixed values
    moved = sum(float((np.abs(values) / scales).sum()) for values, scales in ask(kernel, WORST["asked"]))  # type: ignore[misc]  # a dict of mixed values
    assert moved == pytest.approx(kernel.spent, rel=1e-9) == 3


@settings(max_examples=30)
@given(bound=bounds, asked=st.lists(questions(), min_size=1, max_size=3))
def test_accounted_loss_is_the_worst_over_all_households(bound: Bound, asked: list[Any]) -> None:
    """Brute force: every integer series in every cell, each (window, bound) at its worst, plus the fixed charges."""
    kernel = kernel_of(source([]), bound)
    scales = [scale for _, scale in ask(kernel, asked)]
    worst = 0.0
    for x, y in product(range(NX), range(NY)):
        loss = 0.0
        accounts: dict[tuple[Window, Bound], np.ndarray] = {}
        for (kind, options), b, record in zip(asked, scales, kernel.records, strict=True):
            if kind == "household_totals":
                loss += 1 / b[0]
                continue
            labels = np.broadcast_to(options["labels"], (NX, NY, record.window.steps))
            if options["sequential"]:
                for label in range(len(b)):
                    most = (labels == label).sum(axis=-1).max()
                    loss += min(most * record.bound.step, record.bound.window) / b[label]
                continue
            weight = np.where(labels[x, y] >= 0, 1 / b[labels[x, y]], 0.0)
            key = (record.window, record.bound)
            accounts[key] = accounts.get(key, np.zeros(record.window.steps)) + weight
        for (window, limit), weights in accounts.items():
            series = product(range(limit.step + 1), repeat=window.steps)
            loss += max(float(weights @ np.array(v)) for v in series if sum(v) <= limit.window)
        worst = max(worst, loss)
    assert kernel.spent == pytest.approx(worst, rel=1e-9)
    assert kernel.spent >= worst


HAAR = {
    "bound": Bound(step=2, window=3),
    "asked": ("transform", {"transform": Haar(), "x": None, "y": None, "epsilon": 0.5}),
}


@settings(max_examples=60)
@given(bound=bounds, asked=strategies())
@example(**HAAR)
def test_other_questions_cost_the_worst_over_all_households(bound: Bound, asked: tuple[str, dict[str, Any]]) -> None:
    """Brute force: every integer series in every cell. Equal to what is accounted, where the proof is tight."""
    kind, options = asked
    empty = kernel_of(source([]), bound)
    ((_, scales),) = ask(empty, [asked])
    window, limit = empty.records[0].window, empty.records[0].bound
    first = 0 if window != WINDOW else TRAIN
    worst = 0.0
    for x, y in product(range(NX), range(NY)):
        for v in product(range(limit.step + 1), repeat=window.steps):
            if sum(v) <= limit.window:
                series = [0] * (TRAIN + STEPS)
                series[first : first + window.steps] = v
                ((moved, _),) = ask(kernel_of(source([((x, y), series)]), bound), [asked])
                worst = max(worst, float((np.abs(moved) / scales).sum()))
    assert worst <= empty.spent
    if kind == "transform" and isinstance(options["transform"], Haar) and options["x"] is None and options["y"] is None:
        assert empty.spent == pytest.approx(worst, rel=1e-9)
