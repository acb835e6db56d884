from typing import Any

import numpy as np
import pytest
from tests.research.towns import small_town
from tests.work import count_calls

from gridveil.geography.grid import Grid
from gridveil.research.compare.trial import Scorer
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.simulate.rehearse import AUTHORS, WORKLOADS

ALL = (*WORKLOADS, *AUTHORS, "2x3x4")
CLIP = 500


def by_kind(records: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(record["workload"], record["truth"]): record for record in records}


def test_the_truth_has_no_error_against_itself_and_the_clip_is_a_bias() -> None:
    town = small_town()
    scores = by_kind(Scorer.of(town, clip=CLIP, workloads=ALL).score(town.truth()))
    assert len(scores) == 2 * len(ALL)
    for workload in ALL:
        raw, clipped = scores[workload, "raw"], scores[workload, "clipped"]
        assert raw["wape"] == pytest.approx(0, abs=1e-9)
        assert raw["bias"] == pytest.approx(0, abs=1e-9)
        assert clipped["bias"] == pytest.approx(clipped["mae"])  # all that was cut off is too much
        assert clipped["bias"] > 0
        assert raw["queries"] == (200 if workload in AUTHORS else 300)


def test_clipping_is_of_readings_not_of_sums() -> None:
    town = small_town()
    readings = np.full((2, 6 + 12), 900)
    both = PlacedDataset(Dataset("two", "", town.dataset.window, 6, readings), town.grid, np.array([[1, 1], [1, 1]]))
    assert both.truth(500)[1, 1].tolist() == [1.0] * 12


def test_scores_agree_with_sums_over_slices() -> None:
    town = small_town()
    scorer = Scorer.of(town, clip=CLIP, workloads=("random",), seed=3)
    cube = town.truth() + np.random.default_rng(0).normal(0, 0.3, (5, 4, 12))
    boxes = [(slice(*r[:2]), slice(*r[2:4]), slice(*r[4:])) for r in scorer.ranges["random"].tolist()]
    for kind, truth in (("raw", town.truth()), ("clipped", town.truth(CLIP))):
        true, told = np.array([truth[b].sum() for b in boxes]), np.array([cube[b].sum() for b in boxes])
        score = by_kind(scorer.score(cube))["random", kind]
        assert score["mae"] == pytest.approx(np.abs(told - true).mean())
        assert score["bias"] == pytest.approx((told - true).mean())
        assert score["wape"] == pytest.approx(100 * np.abs(told - true).sum() / true.sum())
        seen = true > 0
        assert score["mre"] == pytest.approx(100 * (np.abs(told - true)[seen] / true[seen]).mean())
        assert score["zero_truths"] == np.count_nonzero(~seen)


def test_what_is_not_published_counts_as_zero_and_is_counted() -> None:
    town = small_town()
    scorer = Scorer.of(town, clip=CLIP, workloads=("small", "random"))
    gaps = town.truth()
    gaps[2] = np.nan
    zeros = np.where(np.isnan(gaps), 0.0, gaps)
    for with_gaps, without in zip(scorer.score(gaps), scorer.score(zeros), strict=True):
        assert without.pop("suppressed") == 0
        suppressed = with_gaps.pop("suppressed")
        assert with_gaps == without
        asked = scorer.ranges[with_gaps["workload"]]
        assert suppressed == np.count_nonzero((asked[:, 0] <= 2) & (asked[:, 1] > 2)) > 0


def test_errors_of_an_empty_town_are_not_defined() -> None:
    town = small_town(households=0)
    scores = by_kind(Scorer.of(town, clip=CLIP, workloads=("small",)).score(np.ones((5, 4, 12))))
    assert scores["small", "raw"]["mre"] is None
    assert scores["small", "raw"]["wape"] is None
    assert scores["small", "raw"]["mre_floor"] == pytest.approx(100)
    assert scores["small", "raw"]["zero_truths"] == 300


def test_scoring_needs_no_call_for_each_query() -> None:
    """Of the paper's size: 900 queries."""
    town = small_town()
    rng = np.random.default_rng(0)
    dataset = Dataset("paper", "", town.dataset.window, 0, rng.integers(0, 2000, (5000, 120)))
    placed = PlacedDataset(dataset, Grid(0, 0, 32, 32, 32, 32), rng.integers(32, size=(5000, 2)))

    def score() -> None:
        Scorer.of(placed, clip=1500, workloads=tuple(WORKLOADS)).score(placed.truth())

    assert count_calls(score) < 3000
