"""What outer, pgm, fast, ar1 and dawa have in common: the whole budget, any shape, nothing but noisy answers."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.mechanisms.registry import make
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource, Tape, kernel_on, kernel_without_data
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.kernel import Kernel

NAMES = ("outer", "pgm", "fast", "ar1", "dawa")
BOUNDS = (Bound(step=1000, window=4000), Bound(step=300, window=7200), Bound(step=9000, window=2500))


def window(steps: int) -> Window:
    return Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), steps)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 24), (1, 1, 9), (3, 2, 37), (4, 4, 1)])
@pytest.mark.parametrize("name", NAMES)
def test_the_whole_budget_is_used_on_any_shape(name: str, shape: tuple[int, int, int], bound: Bound) -> None:
    readings = np.random.default_rng(0).integers(0, 400, shape)
    for epsilon in ("0.1", "3", "30"):
        kernel = kernel_on(readings, window(shape[2]), epsilon=epsilon, bound=bound)
        estimate = make(name, {}).release(kernel.session())
        assert float(epsilon) * (1 - 1e-9) <= kernel.spent <= float(epsilon)
        assert estimate.values.shape == shape
        assert estimate.values.dtype == np.float64
        assert np.isfinite(estimate.values).all()


@pytest.mark.parametrize("epsilon", ["0.01", "1e9"])
@pytest.mark.parametrize("name", NAMES)
def test_a_town_without_consumption_is_no_special_case(name: str, epsilon: str) -> None:
    estimate = make(name, {}).release(
        kernel_on(np.zeros((4, 4, 24)), window(24), epsilon=epsilon, bound=BOUNDS[0]).session()
    )
    assert np.isfinite(estimate.values).all()
    if epsilon == "1e9":
        np.testing.assert_allclose(estimate.values, 0, atol=1e-2)


@pytest.mark.parametrize("name", NAMES)
def test_only_noisy_answers_count(name: str) -> None:
    """A town without households that gives the same noisy answers gives the same questions and the same estimate."""
    grid, tape = Grid(0, 0, 4, 3, 4, 3), Tape.record(seed=1)
    cells = np.argwhere(np.ones((4, 3)))
    readings = np.random.default_rng(0).integers(0, 2000, (12, 60))
    source = ArraySource(grid, window(60), cells, readings)
    bound = Bound(step=1000, window=30_000)
    recorded = make(name, {}).release(Kernel(source, window(60), budget=PureDP(30), bound=bound, noise=tape).session())
    replayed = make(name, {}).release(kernel_without_data(tape, grid, window(60), epsilon=30, bound=bound).session())
    np.testing.assert_array_equal(recorded.values, replayed.values)
    assert recorded.details == replayed.details


@pytest.mark.parametrize(("name", "parameter"), [("outer", "share=1"), ("pgm", "rounds=0"), ("fast", "fraction=0")])
def test_parameters_are_checked(name: str, parameter: str) -> None:
    key, _, value = parameter.partition("=")
    with pytest.raises(UsageError, check=has_code("parameter-invalid", key)):
        make(name, {key: value})
