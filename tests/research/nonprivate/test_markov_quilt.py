"""The Markov quilt mechanism against its formula, worked by hand and by brute force, and against what it promises."""

from itertools import product

import numpy as np
import pytest
from tests.codes import has_code
from tests.research.nonprivate.town import BOUND, place

from gridveil.model.errors import UsageError
from gridveil.research.nonprivate.markov_quilt import HOURLY_LEVELS, MarkovQuilt, influences, quilt_scale

COIN = np.full((2, 2), 0.5)
DEFAULT = np.array(HOURLY_LEVELS)
ROUNDABOUT = np.array([[0.2, 0.7, 0.1], [0.1, 0.3, 0.6], [0.5, 0.2, 0.3]])  # not the same run backwards
CHAINS = [COIN, DEFAULT, ROUNDABOUT]


def test_five_steps_by_hand() -> None:
    """A coin has lambda_2 = 0 and pi_min = 1/2: g = 1/2, D_a = 2 exp(-a/2); D_1 > 1, D_2 = 2/e.

    The middle of five readings decides: two sides (2, 2) give 3 / (10 - 3 x) = 0.689 with x = log((1 + D_2)/(1 - D_2)),
    the earlier side alone 4 / (10 - 2 x) = 0.641, none 5 / 10, the later side alone 4 / (10 - x) = 0.493.
    """
    x = np.log((1 + 2 / np.e) / (1 - 2 / np.e))
    assert quilt_scale(COIN, steps=5, epsilon=10) == pytest.approx(4 / (10 - x), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 3.0, 30.0])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_short_series_is_hidden_as_a_whole(steps: int, epsilon: float) -> None:
    assert quilt_scale(DEFAULT, steps, epsilon) == pytest.approx(steps / epsilon)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(("steps", "epsilon"), [(7, 30.0), (24, 0.5), (24, 3.0), (31, 30.0)])
def test_all_quilts_tried_one_by_one_give_the_same(chain: np.ndarray, steps: int, epsilon: float) -> None:
    values, vectors = np.linalg.eig(chain.T)
    stationary = np.real(vectors[:, values.real.argmax()])
    stationary /= stationary.sum()
    backwards = chain.T * stationary / stationary[:, None]
    gap = (1 - sorted(np.abs(np.linalg.eigvals(chain @ backwards)))[-2]) / 2

    def told(distance: int) -> float:
        if distance == 0:
            return 0.0  # no quilt on this side
        apart = np.exp(-gap * distance) / stationary.min()
        return float(np.log((1 + apart) / (1 - apart))) if apart < 1 else np.inf

    worst = 0.0
    for i in range(1, steps + 1):
        scores = []
        for a, b in product(range(i), range(steps - i + 1)):
            first, last = (i - a + 1 if a else 1), (i + b - 1 if b else steps)
            left = epsilon - 2 * told(a) - told(b)
            scores.append((last - first + 1) / left if left > 0 else np.inf)
        worst = max(worst, min(scores))
    assert quilt_scale(chain, steps, epsilon) == pytest.approx(worst)


@pytest.mark.parametrize("chain", CHAINS)
def test_no_level_nearby_tells_more_than_the_influence_says(chain: np.ndarray) -> None:
    random = np.random.default_rng(0)
    before, after = influences(chain, 20)
    for distance in range(1, 20):
        ahead = np.linalg.matrix_power(chain, distance)
        assert np.ptp(np.log(ahead), axis=0).max() <= after[distance]
        for _ in range(20):
            joint = random.dirichlet(np.ones(len(chain)))[:, None] * ahead
            assert np.ptp(np.log(joint / joint.sum(axis=0)), axis=1).max() <= before[distance]


def test_the_promise_holds_on_a_small_chain() -> None:
    """All 4,096 series of 12 on/off readings: whatever is released, it is at most e**epsilon likelier if one was on."""
    chain, start, epsilon = np.array([[0.6, 0.4], [0.3, 0.7]]), np.array([0.5, 0.5]), 6.0
    series = np.array(list(product([0, 1], repeat=12)))
    weight = start[series[:, 0]] * chain[series[:, :-1], series[:, 1:]].prod(axis=1)
    sigma = quilt_scale(chain, 12, epsilon)
    assert sigma < 12 / epsilon
    random = np.random.default_rng(0)
    outputs = np.vstack([np.zeros(12), np.ones(12), series[random.integers(0, len(series), 40)]])
    outputs = np.vstack([outputs, outputs + random.laplace(0.0, sigma, outputs.shape)])
    density = np.exp(-np.abs(outputs[:, None] - series).sum(axis=2) / sigma) * weight
    for i in range(12):
        on = series[:, i] == 1
        ratio = density[:, on].sum(axis=1) / weight[on].sum() / (density[:, ~on].sum(axis=1) / weight[~on].sum())
        assert np.abs(np.log(ratio)).max() <= epsilon


def test_the_noise_is_laplace_of_the_clip_times_sigma_on_clipped_sums() -> None:
    """19,200 draws, kurtosis 6: the sample variance is within six of its standard deviations (1 in 1e8)."""
    readings = np.full((2, 48), 300)
    readings[1] = 5000
    placed = place(readings, [[0, 0], [0, 0]], nx=20, ny=20)
    noise = MarkovQuilt().release(placed, epsilon=3.0, bound=BOUND, clip=1140, seed=7)
    noise[0, 0] -= 0.3 + 1.14
    expected = 2 * (1.14 * quilt_scale(DEFAULT, 48, 3.0)) ** 2
    assert np.mean(noise**2) == pytest.approx(expected, rel=6 * (5 / noise.size) ** 0.5)
    again = MarkovQuilt().release(placed, epsilon=3.0, bound=BOUND, clip=1140, seed=7)
    np.testing.assert_array_equal(again[1:], noise[1:])


def test_a_model_must_be_a_chain_that_forgets() -> None:
    for transitions, code in (
        (((0.5, 0.4), (0.5, 0.5)), "transitions-shape"),
        (((0.5, 0.5),), "transitions-shape"),
        (((1.0, 0.0), (0.5, 0.5)), "transitions-levels"),
        (((1.0,),), "transitions-levels"),
    ):
        with pytest.raises(UsageError, check=has_code(code)):
            MarkovQuilt(transitions)
