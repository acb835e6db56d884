"""Cubes that are too large to be held: asked for in slabs, with the same answers and charges, and little memory."""

import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.mechanisms.literature.even import Even
from gridveil.mechanisms.literature.identity import Identity
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.running import DEFAULT_LIMITS, Limits
from gridveil.model.window import Window
from gridveil.research.audit.transcript import Recorder
from gridveil.simulate.sources import InventedSource, Nobody, SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import SUM_STAGE, Kernel
from gridveil.trusted.kernel.noise import check_scales
from gridveil.trusted.kernel.transforms import Haar

SHAPE = (5, 3, 8)
MB = 2**20


def source_of(shape: tuple[int, int, int]) -> InventedSource:
    nx, ny, steps = shape
    return InventedSource(
        Grid(0, 0, nx, ny, nx, ny), Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), steps)
    )


def kernel_on(source: Any, epsilon: float = 1, limits: Limits = DEFAULT_LIMITS) -> Kernel:
    steps = source.window.steps
    bound = Bound(step=1000, window=100 * steps)
    return Kernel(source, source.window, budget=PureDP(epsilon), bound=bound, noise=SeededLaplace(0), limits=limits)


@st.composite
def labels(draw: st.DrawFn) -> Any:
    shape = tuple(draw(st.sampled_from([1, full])) for full in SHAPE)
    size = int(np.prod(shape))
    marks = np.array(draw(st.lists(st.integers(-1, 4), min_size=size, max_size=size))).reshape(shape)
    marks.flat[0] = 4  # there is something to measure
    return marks


@given(marks=labels(), slab=st.integers(1, 130), options=st.sampled_from([{}, {"sequential": True}]))
def test_sums_of_slabs_are_those_of_the_whole(marks: Any, slab: int, options: dict[str, Any]) -> None:
    at_once = kernel_on(source_of(SHAPE))
    in_slabs = kernel_on(source_of(SHAPE), limits=Limits(held_values=0, slab_values=slab))
    whole = at_once.session().sums(marks, 0.5, **options)
    parts = in_slabs.session().sums(marks, 0.5, **options)
    assert parts.values.tolist() == whole.values.tolist()
    assert parts.scales.tolist() == whole.scales.tolist()
    assert in_slabs.spent == at_once.spent


@given(slab=st.integers(1, 130), held=st.sampled_from([0, 10**6]), bound=st.none() | st.just(Bound(30, 90)))
def test_every_cell_and_step_by_itself_is_as_if_they_were_numbered(slab: int, held: int, bound: Bound | None) -> None:
    numbered = kernel_on(source_of(SHAPE))
    alone = kernel_on(source_of(SHAPE), limits=Limits(held_values=held, slab_values=slab))
    expected = numbered.session().sums(np.arange(np.prod(SHAPE)).reshape(SHAPE), 0.5, bound=bound)
    found = alone.session().sums(None, 0.5, bound=bound)
    assert found.values.tolist() == expected.values.tolist()
    assert found.values.dtype == np.int64
    assert found.scales.tolist() == expected.scales.tolist()
    assert alone.spent == numbered.spent
    assert alone.records == numbered.records
    for kernel in (alone, numbered):  # and what is asked next costs the same
        kernel.session().sums(np.arange(8), 0.25, bound=bound)
    assert alone.spent == numbered.spent


@pytest.mark.parametrize("slab", [7, 1000])
def test_noise_that_remembers_true_answers_is_not_written_over(slab: int) -> None:
    """The audit compares them between worlds: if noisy ones came in their place, it would find nothing."""
    source, recorder = source_of(SHAPE), Recorder(SeededLaplace(0))
    bound = Bound(30, 90)
    limits = Limits(held_values=0, slab_values=slab)
    kernel = Kernel(source, source.window, budget=PureDP(1), bound=bound, noise=recorder, limits=limits)
    kernel.session().sums(None, 1.0)
    true = np.concatenate([said.true for said in recorder.entries])
    np.testing.assert_array_equal(true, source.bounded_cube(source.window, bound).ravel())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"relative": [1.0] * 120}, "sums-need-labels"),
        ({"sequential": True}, "sums-need-labels"),
        ({"noise": "staircase"}, "staircase-options"),
    ],
)
def test_options_that_need_labels_are_refused_without(options: dict[str, Any], code: str) -> None:
    source = source_of(SHAPE)
    kernel = kernel_on(source)
    with pytest.raises(UsageError, check=has_code(code)):
        kernel.session().sums(None, 0.5, **options)
    assert (kernel.spent, source.asked) == (0, [])


class Empty(InventedSource):
    """The same source without households."""

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Any:
        return 0 * super().bounded_cube(window, bound, rows)


def test_slabs_follow_from_public_sizes_alone() -> None:
    """The same rows are asked for whatever the data are; none twice, and no more than fit."""
    asked = []
    for town in (source_of(SHAPE), Empty(source_of(SHAPE).grid, source_of(SHAPE).window)):
        kernel_on(town, limits=Limits(held_values=119, slab_values=50)).session().sums(0, 1)
        asked.append(town.asked)
    assert asked[0] == asked[1] == [slice(0, 2), slice(2, 4), slice(4, 5)]


def test_cubes_are_held_while_there_is_room_for_them() -> None:
    source = source_of(SHAPE)
    kernel = kernel_on(source, epsilon=100, limits=Limits(held_values=2 * 120, slab_values=50))
    first, second, third = Bound(1, 8), Bound(2, 16), Bound(3, 24)
    for bound in (first, second, second, first, second):
        kernel.session().sums(0, 1, bound=bound)
    assert source.asked == [None, None]
    kernel.session().sums(0, 1, bound=third)  # `first` was asked for longest ago
    kernel.session().sums(0, 1, bound=second)
    assert source.asked == [None] * 3
    kernel.session().sums(0, 1, bound=first)
    assert source.asked == [None] * 4
    kernel.session().sums(0, 1, bound=second)
    assert source.asked == [None] * 4


@pytest.mark.parametrize(
    "ask",
    [
        lambda k: k.session().matrix(None, None, np.eye(8), 0.5),
        lambda k: k.session().transform(Haar(), 0.5),
        lambda k: k.session().deviations(np.zeros((1, 1, 1), dtype=int), 0.5),
    ],
)
def test_questions_about_the_whole_cube_are_refused_if_it_is_too_large(ask: Callable[[Kernel], Any]) -> None:
    source = source_of(SHAPE)
    kernel = kernel_on(source, limits=Limits(held_values=119, slab_values=50))
    with pytest.raises(UsageError, check=has_code("cube-too-large", "5 x 3 x 8", "119", "mosaic")):
        ask(kernel)
    assert (kernel.spent, kernel.records, source.asked) == (0, (), [])
    ask(kernel_on(source, limits=Limits(held_values=120, slab_values=50)))


@pytest.mark.parametrize("held", [0, 1000])
def test_a_source_that_gives_other_rows_than_those_asked_for_is_not_believed(held: int) -> None:
    class Deaf(Nobody):
        def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Any:
            return super().bounded_cube(window, bound, None if rows else slice(0, 1))

    source = Deaf(source_of(SHAPE).grid, source_of(SHAPE).window)
    kernel = kernel_on(source, limits=Limits(held_values=held, slab_values=50))
    with pytest.raises(UsageError, check=has_code("source-shape")):
        kernel.session().sums(0, 1)


def test_scales_that_are_one_number_are_checked_as_one() -> None:
    """A terabyte would be needed to compare each of them."""
    check_scales(np.broadcast_to(1.0, 10**12))
    for scale in (2.0**51, 2.0**-51, np.nan):
        with pytest.raises(BudgetError):
            check_scales(np.broadcast_to(scale, 10**12))


LARGE = (64, 64, 2000)
"""62.5 MB as integers."""


BLOCK = (np.arange(64) // 16).astype(np.int16)
PARTS = (BLOCK[:, None] * 4 + BLOCK)[:, :, None] * np.int16(6) + np.arange(2000, dtype=np.int16) % 6
"""Labels of every cell and step, 15.6 MB: parts of the day in blocks of the map."""


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        pytest.param(lambda session: Identity().release(session), 62.5 + 10, id="identity"),
        pytest.param(lambda session: Even().release(session), 10, id="even"),
        pytest.param(lambda session: session.sums(np.arange(2000), 1), 10, id="time"),
        pytest.param(lambda session: session.sums(np.arange(64 * 64).reshape(64, 64, 1), 1), 10, id="space"),
        pytest.param(lambda session: session.sums(PARTS, 1), 16 + 10, id="labels"),
        pytest.param(lambda session: session.sums(PARTS, 1, sequential=True), 16 + 10, id="sequential"),
        pytest.param(lambda session: session.sums(PARTS, 1, noise="staircase"), 16 + 10, id="staircase"),
    ],
)
def test_nothing_of_the_size_of_the_cube_is_made_but_what_was_asked_for(ask: Callable[[Any], Any], most: float) -> None:
    """In slabs of 2 MB. Labels are copied once: what is charged for is what is answered."""
    source = source_of(LARGE)
    session = kernel_on(source, limits=Limits(held_values=2**20, slab_values=2**18)).session()
    tracemalloc.start()
    kept = ask(session)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    assert peak < most * MB
    assert len(source.asked) == 32


def test_progress_is_told_when_a_source_is_asked_and_of_large_cubes_how_far_it_is() -> None:
    source = source_of(SHAPE)
    told: list[tuple[str, float]] = []
    asked = {"budget": PureDP(2), "bound": Bound(step=1000, window=800), "noise": SeededLaplace(0)}
    kernel = Kernel(source, source.window, progress=lambda *how_far: told.append(how_far), **asked)
    kernel.session().sums(None, 0.5)
    assert told == [(SUM_STAGE, 0.0), (SUM_STAGE, 1.0)]
    kernel.session().sums(None, 0.5)
    assert len(told) == 2  # it is held
    kernel.session().household_totals([0, 100], 0.5)
    assert told[2:] == [(SUM_STAGE, 0.0), (SUM_STAGE, 1.0)]
    told.clear()
    limits = Limits(held_values=10, slab_values=48)
    large = Kernel(source, source.window, progress=lambda *how_far: told.append(how_far), **asked, limits=limits)
    large.session().sums(None, 0.5)
    assert told == [
        *[(SUM_STAGE, part) for part in (0.0, 0.4, 0.8, 1.0)],
        *[("draw the noise", part) for part in (0.4, 0.8, 1.0)],
    ]
