"""What runs prove. Where chance takes part, a test fails by it with probability 1e-9 at most."""

import numpy as np
import pytest
from scipy import stats
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.research.audit.bound import DIRECTIONS, EpsilonBound, lower_bound, lower_limit, upper_limit

RARE = 1e-9
RESPONSE = 1.0
"""Epsilon of the randomised response: the truth is told with probability `e / (1 + e)`."""


def randomised_response(runs: int, *, truth: bool) -> np.ndarray:
    told = np.random.default_rng().random(runs) < np.exp(RESPONSE) / (1 + np.exp(RESPONSE))
    return np.where(told, truth, not truth).astype(float)


@pytest.mark.parametrize("runs", [4, 37, 1000, 25_000])
@pytest.mark.parametrize("error", [0.1, 1e-6, 4e-10])
def test_limits_are_those_of_clopper_and_pearson(runs: int, error: float) -> None:
    for hits in {0, 1, 2, runs // 5, runs // 2, runs - 2, runs - 1, runs}:
        low = 0.0 if hits == 0 else stats.beta.ppf(error, hits, runs - hits + 1)
        high = 1.0 if hits == runs else stats.beta.isf(error, hits + 1, runs - hits)
        assert lower_limit(hits, runs, error) == pytest.approx(low, rel=1e-9, abs=1e-300)
        assert upper_limit(hits, runs, error) == pytest.approx(high, rel=1e-9)


@pytest.mark.parametrize("error", [0.2, 0.01])
def test_a_limit_is_wrong_as_seldom_as_it_says(error: float) -> None:
    """Added up over all outcomes of 30 runs, for any chance."""
    runs = 30
    limits = np.array([lower_limit(hits, runs, error) for hits in range(runs + 1)])
    wrong = [stats.binom.pmf(np.arange(runs + 1), runs, p)[limits > p].sum() for p in np.linspace(0.001, 0.999, 500)]
    assert max(wrong) <= error
    assert max(wrong) > error / 2  # and is no lower than that asks for


def test_a_known_epsilon_is_never_passed_and_nearly_reached() -> None:
    attained = [
        lower_bound(randomised_response(runs, truth=True), randomised_response(runs, truth=False), error=RARE / 100)
        for runs in [200] * 50 + [5000] * 20 + [400_000]
    ]
    assert max(each.lower for each in attained) <= RESPONSE
    assert attained[-1].lower >= 0.9 * RESPONSE
    assert attained[-1].runs == 200_000


def test_errors_are_as_seldom_as_stated_although_the_threshold_is_chosen() -> None:
    """Two worlds that are the same: any lower bound above zero is an error. A threshold that were chosen and tested on
    the same runs would err in more than half of the repeats, and fail here."""
    error, repeats, random = 0.3, 300, np.random.default_rng()
    wrong = sum(lower_bound(random.random(200), random.random(200), error=error).lower > 0 for _ in range(repeats))
    assert wrong <= stats.binom.isf(RARE, repeats, error)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_kind_of_event_is_found(direction: str) -> None:
    """An event that comes up in one world only, once in five runs, on one side of all other values."""
    random = np.random.default_rng()
    special, usual = (random.random(4000) for _ in range(2))
    special[random.random(4000) < 0.2] = 2.0 if direction.endswith("above") else -1.0
    worlds = (special, usual) if direction.startswith("with ") else (usual, special)
    found = lower_bound(*worlds, error=RARE)
    assert found.direction == direction
    assert found.false_hits < found.hits / 10
    assert found.lower > 1.0


def test_worlds_of_the_same_numbers_prove_nothing() -> None:
    assert lower_bound([7.0] * 1000, [7.0] * 1000, error=RARE).lower == 0


def test_certainty_is_found_in_few_runs() -> None:
    """What a leak in words or sizes comes to: 80 runs tested in either world refute a claim of 1."""
    found = lower_bound([1.0] * 160, [0.0] * 160, error=1e-9)
    assert isinstance(found, EpsilonBound)
    assert found.lower > 1.0


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0] * 4] * 2, [1.0, 2.0, 3.0, float("nan")]])
def test_what_is_no_statistic_is_refused(values: list[float]) -> None:
    with pytest.raises(UsageError, check=has_code("statistic-shape")):
        lower_bound(values, [1.0] * 8, error=RARE)
