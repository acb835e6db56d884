"""What every registered mechanism must satisfy; a new one is tested on the day it is registered."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import Mechanism, list_names, make, train_steps
from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.simulate.sources import ArraySource, Tape, kernel_on
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import Estimate, LinearNoise, NoisyParts, Posterior, Replicates

QUICK: dict[str, dict[str, Any]] = {
    "stpt": {"train_steps": 48, "epochs": 1},
    "stpt-paper": {"train_steps": 48, "epochs": 1, "depth": 1},
}
"""Settings with which a mechanism that trains is quick enough for a test."""

CASES = {
    **{name: (name, QUICK.get(name, {})) for name in list_names()},
    "granularity, fine": ("granularity", {"constant": 0.1}),
    "htf, no search": ("htf", {"rounds": 0}),
    "mosaic, staircase": ("mosaic", {"noise": "staircase"}),
}
SLOW = {"mosaic", "mosaic, staircase", "stpt", "stpt-paper"}
BAD: dict[str, dict[str, Any]] = {
    "mosaic": {"profile": [1.0] * 24},
    "stpt": {"depth": -1},
    "outer": {"share": 1},
    "pgm": {"rounds": 0},
    "fourier": {"k": 0},
    "wavelet": {"k": 0},
    "fast": {"fraction": 0},
    "ug": {"total_share": 1},
    "ag": {"coarse_share": 1},
    "granularity": {"constant": 0},
    "dpcube": {"cells_share": 1},
    "htf": {"rounds": -1},
    "dawa": {"ratio": 0},
}
"""For mechanisms with parameters, one value that makes no sense."""

SHAPES = [(1, 1, 1), (1, 1, 9), (5, 7, 24), (4, 4, 24), (3, 2, 1), (3, 1, 2), (24, 1, 49)]
BOUNDS = [Bound(step=1000, window=4000), Bound(step=300, window=7200), Bound(step=9000, window=2500)]
START, HOUR = datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1)
ERRORS = (LinearNoise, NoisyParts, Posterior, Replicates)

every_case = pytest.mark.parametrize("case", CASES)
every_name = pytest.mark.parametrize("name", list_names())


def kernel_for(mechanism: Mechanism, cube: Floats, epsilon: str, bound: Bound, seed: int = 1) -> Kernel:
    """Return a kernel on a cube; readings before the window, if it learns from some, are the cube's first ones."""
    before, steps = train_steps(mechanism), cube.shape[2]
    readings = np.concatenate([np.resize(cube, (*cube.shape[:2], before)), cube], axis=2)
    window = Window(START, HOUR, steps)
    return kernel_on(readings, window, epsilon=epsilon, bound=bound, seed=seed, train_steps=before)


def random_cube(shape: tuple[int, int, int]) -> Floats:
    return np.random.default_rng(0).integers(0, 400, shape).astype(np.float64)


def check(estimate: Estimate, kernel: Kernel, shape: tuple[int, int, int]) -> None:
    """The whole budget is spent and no more; all cells, steps and intervals have finite numbers."""
    assert float(kernel.budget.epsilon) * (1 - 1e-9) <= kernel.spent <= kernel.budget.epsilon
    values = estimate.dense()
    assert values.shape == shape
    assert values.dtype == np.float64
    assert np.isfinite(values).all()
    assert isinstance(estimate.errors, ERRORS)
    if isinstance(estimate.errors, NoisyParts):
        assert np.isfinite(estimate.errors.scales).all()
        assert (estimate.errors.scales > 0).all()


@every_case
@pytest.mark.parametrize("shape", SHAPES)
def test_the_whole_budget_is_spent_on_any_shape(case: str, shape: tuple[int, int, int]) -> None:
    name, parameters = CASES[case]
    mechanism = make(name, parameters)
    slow = case in SLOW
    epsilons = ("0.01", "1e9") if slow else ("0.01", "0.1", "3", "30", "1e9")
    for epsilon, bound in product(epsilons, BOUNDS[:1] if slow else BOUNDS):
        kernel = kernel_for(mechanism, random_cube(shape), epsilon, bound)
        check(mechanism.release(kernel.session()), kernel, shape)


@every_case
@pytest.mark.parametrize("epsilon", ["0.01", "1e9"])
def test_a_town_without_consumption_is_no_special_case(case: str, epsilon: str) -> None:
    name, parameters = CASES[case]
    mechanism = make(name, parameters)
    for shape in SHAPES[2:3] if case in SLOW else SHAPES:
        kernel = kernel_for(mechanism, np.zeros(shape), epsilon, BOUNDS[0])
        estimate = mechanism.release(kernel.session())
        check(estimate, kernel, shape)
        if epsilon == "1e9":
            np.testing.assert_allclose(estimate.dense(), 0, atol=1e-2)


@every_name
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 24)])
def test_a_bound_may_be_chosen_privately(name: str, shape: tuple[int, int, int]) -> None:
    mechanism = make(name, QUICK.get(name, {}))
    kernel = kernel_for(mechanism, random_cube(shape), "3", Bound(1000, 1000 * shape[2]))
    check(release_with_private_bound(kernel, mechanism), kernel, shape)


@every_name
def test_only_noisy_answers_count(name: str) -> None:
    """Another town that gives the same noisy answers is asked the same questions and gets the same estimate."""
    mechanism, tape = make(name, QUICK.get(name, {})), Tape.record(seed=1)
    before = train_steps(mechanism)
    window, grid, bound = Window(START, HOUR, 60), Grid(0, 0, 4, 3, 4, 3), Bound(step=1000, window=30_000)
    whole = Window(window.before(before).start if before else START, HOUR, before + 60)
    cells = np.argwhere(np.ones((4, 3)))
    readings = np.random.default_rng(0).integers(0, 2000, (12, before + 60))
    recorded, replayed = (
        mechanism.release(
            Kernel(
                ArraySource(grid, whole, cells[:homes], readings[:homes]),
                window,
                budget=PureDP(30),
                bound=bound,
                noise=noise,
            ).session()
        )
        for homes, noise in ((12, tape), (0, tape.replay()))
    )
    np.testing.assert_array_equal(recorded.dense(), replayed.dense())
    assert recorded.details == replayed.details


@every_name
def test_stages_end_at_one(name: str) -> None:
    mechanism = make(name, QUICK.get(name, {}))
    last: dict[str, float] = {}

    def progress(stage: str, done: float) -> None:
        assert last.get(stage, 0.0) <= done <= 1
        last[stage] = done

    kernel = kernel_for(mechanism, random_cube((4, 4, 24)), "30", Bound(1000, 9000))
    mechanism.release(kernel.session(), progress)
    assert last
    assert set(last.values()) == {1.0}


@every_name
def test_a_parameter_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(UsageError, check=has_code("parameter-unknown", "surprise")):
        make(name, {"surprise": 1})


@pytest.mark.parametrize("name", BAD)
def test_a_parameter_that_makes_no_sense_is_refused_be_it_text_or_not(name: str) -> None:
    ((key, value),) = BAD[name].items()
    for given in {repr(value): value, "text": str(value)}.values():
        with pytest.raises(UsageError, check=has_code("parameter-invalid", f"{name}: {key}")):
            make(name, {key: given})
