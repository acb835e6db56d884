"""Canaries, and transcripts of what is said of them."""

import itertools
import math

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import GridveilError
from gridveil.research.audit.canaries import STEPS, TRAIN, list_canaries, make_worlds, worst_of_tree
from gridveil.research.audit.effort import SMALL_CANARY
from gridveil.research.audit.transcript import Recorder, Repeater, TranscriptEntry, log_ratio, ratios, worst_ratio
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.staircase import Staircase
from gridveil.trusted.kernel.transforms import Haar


@pytest.mark.parametrize("canary", list_canaries(), ids=lambda canary: canary.name)
def test_worlds_differ_by_the_canary_at_its_bound(canary: object) -> None:
    pair = make_worlds(canary, train_steps=TRAIN)
    windows = [(pair.window, pair.bound), (pair.window.before(TRAIN), pair.bound.prorate(STEPS, TRAIN))]
    for window, bound in windows:
        moved = pair.with_canary.bounded_cube(window, bound) - pair.without.bounded_cube(window, bound)
        assert moved[pair.cell].tolist() == np.tile(pair.series, window.steps // STEPS).tolist()
        assert moved.sum() == (window.steps // STEPS * bound.step if pair.name == SMALL_CANARY else bound.window)
        moved[pair.cell] = 0
        assert not moved.any()
    edges = np.array([0, 1, 500, pair.bound.step * len(pair.steps)])  # before the window bound
    counts = [source.count_totals(pair.window, pair.bound.step, edges) for source in (pair.with_canary, pair.without)]
    assert (counts[0] - counts[1]).tolist() == [0, 0, 0, 1]
    others = pair.without.bounded_cube(pair.window, pair.bound).sum(axis=2)
    assert (others[pair.cell] == 0) == (pair.name in {"in an empty cell", "alone in its quarter"})
    assert bool(others[2:, 2:].any()) == (pair.name != "alone in its quarter")


@pytest.mark.parametrize("exponent", [0.0, 0.5])
def test_the_worst_for_a_tree_is_what_the_tree_recursion_finds(exponent: float) -> None:
    haar, step, full = Haar(exponent=exponent), 2000, STEPS // 2
    moved = np.abs(haar.rows(STEPS)[:, list(worst_of_tree(full))].sum(axis=1) * step) / haar.relative(STEPS)
    assert moved.sum() == pytest.approx(haar.sensitivity(STEPS, Bound(step, step * full)), rel=1e-12)


def test_ratios_are_those_of_the_distributions() -> None:
    """Laplace by its definition, staircases by their mass."""
    answers = np.arange(-40, 41)
    scale, stairs = 3.5, Staircase(delta=6, inner=2, epsilon=0.7)
    for here, there in itertools.product([-4, 0, 3, 11], repeat=2):
        laplace = TranscriptEntry(np.full(81, here), answers, np.full(81, scale))
        by_hand = [math.log(math.exp(-abs(y - here) / scale) / math.exp(-abs(y - there) / scale)) for y in answers]
        assert ratios(laplace, answers, np.full(81, there)) == pytest.approx(by_hand)
        staircase = TranscriptEntry(np.full(81, here), answers, np.ones(81), stairs)
        by_mass = stairs.log_mass(answers - here) - stairs.log_mass(answers - there)
        assert ratios(staircase, answers, np.full(81, there)) == pytest.approx(by_mass, abs=1e-12)
        for said in (laplace, staircase):
            one = TranscriptEntry(said.true[:1], answers[:1], said.scales[:1], said.staircase)
            other = TranscriptEntry(np.array([there]), answers[:1], said.scales[:1], said.staircase)
            worst = np.abs(ratios(said, answers, np.full(81, there))).max()
            assert worst_ratio([one], [other]) == pytest.approx(worst, abs=1e-12)


def test_a_transcript_is_played_again_and_another_question_is_noticed() -> None:
    recorder, stairs = Recorder(ExactNoise()), Staircase(delta=5, inner=2, epsilon=1.0)
    noisy = recorder.add(np.array([1, 2]), np.array([3.0, 4.0])), recorder.add_staircase(np.array([5]), stairs)
    again = Repeater(recorder.entries)
    assert again.add(np.array([2, 2]), np.array([3.0, 4.0])).tolist() == noisy[0].tolist()
    assert again.add_staircase(np.array([6]), stairs).tolist() == noisy[1].tolist()
    assert abs(log_ratio(recorder.entries, again.entries)) <= 1 / 3 + 1
    assert worst_ratio(recorder.entries, again.entries) == pytest.approx(1 / 3 + 1)
    for asked in (np.array([3.0, 4.5]), np.array([3.0])):
        with pytest.raises(GridveilError, check=has_code("replay-differs")):
            Repeater(recorder.entries).add(np.zeros(len(asked), dtype=np.int64), asked)
    with pytest.raises(GridveilError, check=has_code("replay-differs")):
        again.add(np.array([1]), np.array([1.0]))
