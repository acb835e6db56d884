"""What patterns and run times are, on a small part."""

import numpy as np
import pytest

from gridveil.research.paper.experiments import PATTERN_DEPTHS
from gridveil.research.paper.trials import (
    LEARNING,
    PaperTowns,
    PatternTrial,
    RunPattern,
    RunRuntime,
    RuntimeTrial,
    learn_private,
)

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("method", PATTERN_DEPTHS)
def test_a_pattern_is_scored_in_its_own_units(method: str) -> None:
    trial = PatternTrial("CA", "uniform", method, 0.1, 0, 1510, 0)
    (record,) = RunPattern(PaperTowns())(trial)
    assert 0 < record["mae"] <= record["rmse"]
    # The mean over the map is easier to tell than each cell.
    assert record["map_mae"] < record["mae"]
    (again,) = RunPattern(PaperTowns())(trial)
    assert again == record


def test_an_exact_pattern_of_one_block_follows_the_map() -> None:
    """With a huge budget and no tree, the refined pattern has the level of the map: its mean is right within 15 %."""
    placed = PaperTowns()("CA", "uniform", 0)
    made, truth = learn_private(PatternTrial("CA", "uniform", "stpt", 1e4, 0, 1510, 0), placed)
    assert made.shape == truth.shape == (32, 32, 120)
    assert made.mean() == pytest.approx(truth.mean(), rel=0.15)
    assert np.ptp(made, axis=(0, 1)).max() == pytest.approx(0)


def test_learning_is_timed_apart() -> None:
    from gridveil.mechanisms.stpt import network as learn

    assert learn.STAGE == LEARNING
    run = RunRuntime(PaperTowns())
    (fast,) = run(RuntimeTrial("even", 30.0, 0))
    (leaky,) = run(RuntimeTrial("count-rule", 30.0, 0))
    assert fast["learning"] is None
    assert leaky["seconds"] > 0
    (slow,) = run(RuntimeTrial("stpt", 30.0, 0))
    assert 0 < slow["learning"] < slow["seconds"]
