"""The attacks on a tiny town: a count rule gives a household away exactly, a release no more than epsilon allows.

False alarms: every comparison with a bound is by Clopper-Pearson limits at 1e-7, six times; what an attack must refute
is so far below what it attains that simulated margins are six standard deviations and more. Together below 1e-6.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.research.audit.attack_tables import rate_of, replace_tables
from gridveil.research.audit.attacks import (
    Likeness,
    Publication,
    Suspect,
    find_exposed,
    find_isolated,
    publish_by_rule,
    remove_household,
    replay_publication,
    round_to_wh,
)
from gridveil.research.audit.bound import Rate, estimate_rate
from gridveil.research.audit.transcript import TranscriptEntry, TranscriptPair
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.simulate.sources import ArraySource
from gridveil.trusted.budget import Bound, attacker_rate
from gridveil.trusted.kernel.noise import ExactNoise

ROOT = Path(__file__).parents[3]
ERROR = 1e-7
WINDOW = Window(datetime(2026, 1, 5, tzinfo=UTC), timedelta(hours=1), 6)
BOUND = Bound(4_000, 4_000)
RULES = [CountRule(), CountRule(5, 100), CountRule(5, 30)]


def tiny(seed: int = 0, households: int = 120) -> PlacedDataset:
    """A town of 3 x 3 cells that differ in how many live there: rules publish some of them."""
    random = np.random.default_rng(seed)
    cells = np.stack([random.binomial(2, 0.3, households), random.binomial(2, 0.6, households)], axis=1)
    readings = random.lognormal(5, 1, (households, WINDOW.steps)).astype(np.int64)
    return PlacedDataset(Dataset("tiny", "drawn", WINDOW, 0, readings), Grid(0, 0, 3, 3, 3, 3), cells)


def worlds(curve: list[int]) -> tuple[ArraySource, ArraySource]:
    """The tiny town with one more household, alone in its way, and without it."""
    source = tiny().source()
    added = ArraySource(
        source.grid,
        source.window,
        np.vstack([source.cells, [[1, 1]]]),
        np.vstack([source.readings, np.array([curve])]),
    )
    return added, source


CANARY = [0, 0, 4_000, 0, 0, 0]


def attack(pair: TranscriptPair, runs: int) -> Rate:
    """The best attack, on runs with the same questions and fresh noise."""
    ratios = (pair.draw(runs, ExactNoise(), present=present) for present in (True, False))
    return estimate_rate(*ratios, seed=0)  # type: ignore[misc]  # two of them


@pytest.mark.parametrize("rule", RULES)
def test_two_publications_under_a_count_rule_have_a_household_between_them(rule: CountRule) -> None:
    town = tiny()
    given_away = np.flatnonzero(find_exposed(town, rule).by_difference)
    assert given_away.size > 20
    published = publish_by_rule(town, rule)
    for household in given_away:
        before = publish_by_rule(remove_household(town, int(household)), rule)
        x, y = town.cells[household]
        np.testing.assert_array_equal(round_to_wh(published[x, y] - before[x, y]), town.dataset.readings[household])
        elsewhere = np.isfinite(before) & np.isfinite(published)
        elsewhere[x, y] = False
        np.testing.assert_array_equal(published[elsewhere], before[elsewhere])


@pytest.mark.parametrize("rule", RULES)
def test_what_a_rule_gives_away_is_what_publishing_twice_shows(rule: CountRule) -> None:
    town = tiny(seed=3, households=60)
    gives = find_exposed(town, rule)
    there = np.isfinite(publish_by_rule(town, rule)).all(axis=2)
    for household, (x, y) in enumerate(town.cells):
        before = np.isfinite(publish_by_rule(remove_household(town, household), rule)).all(axis=2)
        assert gives.published[household] == there[x, y]
        assert gives.by_difference[household] == (there[x, y] and before[x, y])
        assert gives.by_threshold[household] == (there[x, y] != before[x, y])


def test_a_cell_at_the_threshold_tells_by_appearing_that_somebody_came() -> None:
    town = tiny()
    fifteen = replace(
        town, dataset=replace(town.dataset, readings=np.full((15, 6), 100)), cells=np.zeros((15, 2), dtype=np.int64)
    )
    assert np.isfinite(publish_by_rule(fifteen, CountRule())[0, 0]).all()
    assert np.isnan(publish_by_rule(remove_household(fifteen, 3), CountRule())[0, 0]).all()
    assert find_exposed(fifteen, CountRule()).by_threshold.all()


def test_areas_that_overlap_give_away_who_is_between_their_borders() -> None:
    town = tiny()
    rule = CountRule(5, 100)
    crowded = np.flatnonzero((town.cells == [0, 1]).all(axis=1))
    cells = town.cells.copy()
    cells[crowded[0]] = [1, 1]  # the border was drawn on the other side of one house
    other = replace(town, cells=cells)
    assert find_isolated(town, other, rule).tolist() == [crowded[0]]
    left = publish_by_rule(town, rule)[0, 1] - publish_by_rule(other, rule)[0, 1]
    np.testing.assert_array_equal(round_to_wh(left), town.dataset.readings[crowded[0]])
    cells[crowded[1]] = [1, 1]
    assert find_isolated(town, replace(town, cells=cells), rule).size == 0, "two between the borders hide each other"


@pytest.mark.parametrize(("mechanism", "epsilon"), [("identity", 1), ("identity", 4), ("mosaic", 1), ("mosaic", 4)])
def test_the_best_attack_stays_within_the_bound(mechanism: str, epsilon: float) -> None:
    publication = Publication(mechanism, epsilon, WINDOW, BOUND)
    heard = replay_publication(publication, *worlds(CANARY), present=True)
    assert heard.loss <= epsilon
    rate = attack(heard, runs=4000)
    assert not rate.exceeds(epsilon, ERROR)


def test_the_attack_has_teeth() -> None:
    """What it finds at epsilon 4 refutes epsilon 2. (It finds about half, of the possible 54.6 %.)"""
    heard = replay_publication(Publication("identity", 4, WINDOW, BOUND), *worlds(CANARY), present=True)
    rate = attack(heard, runs=8000)
    assert rate.exceeds(2, ERROR)
    assert attacker_rate(4) == pytest.approx(0.546, abs=1e-3)


def test_half_the_noise_is_noticed() -> None:
    heard = replay_publication(Publication("identity", 2, WINDOW, BOUND), *worlds(CANARY), present=True)
    halved = (tuple(replace(entry, scales=entry.scales / 2) for entry in of) for of in (heard.present, heard.absent))
    faulty = TranscriptPair(*halved)
    rate = attack(faulty, runs=8000)
    assert rate.exceeds(2, ERROR)
    assert faulty.loss > 2


def test_a_publication_that_adapts_stays_within_the_bound_too() -> None:
    """The whole of mosaic, its questions chosen anew in every run: few runs, but of the real thing."""
    publication = Publication("mosaic", 3, WINDOW, Bound(1_000, 6_000))
    assert publication.chooses_bound
    pair = worlds([1_000, 1_000, 1_000, 0, 0, 0])
    ratios = [replay_publication(publication, *pair, present=bool(number % 2)).ratio for number in range(6)]
    assert np.abs(ratios).max() <= 3


@pytest.mark.parametrize("present", [True, False])
def test_both_worlds_are_asked_the_same_and_differ_in_one_answer(present: bool) -> None:  # noqa: FBT001 -- pytest's
    heard = replay_publication(Publication("identity", 3, WINDOW, BOUND), *worlds(CANARY), present=present)
    ((there, not_there),) = zip(heard.present, heard.absent, strict=True)
    assert (there.true - not_there.true).max() == 4_000
    assert heard.moved == 1
    assert heard.loss == pytest.approx(3)


def test_two_releases_add_up() -> None:
    """Two of epsilon 2 exceed what one of epsilon 2 may give away, and stay within 4."""
    heard = replay_publication(Publication("identity", 2, WINDOW, BOUND), *worlds(CANARY), present=True)

    def twice(*, present: bool) -> np.ndarray:
        return heard.draw(20_000, ExactNoise(), present=present).reshape(-1, 2).sum(axis=1)

    rate = estimate_rate(twice(present=True), twice(present=False), seed=0)
    assert rate.exceeds(2, ERROR)
    assert not rate.exceeds(4, ERROR)


def test_released_values_are_within_the_bound_and_tell_at_a_high_epsilon() -> None:
    there, not_there = worlds(CANARY)
    others = (not_there.readings * (not_there.cells == 1).all(axis=1)[:, None]).sum(axis=0) / 1000
    suspect = Suspect((1, 1), np.array(CANARY) / 1000, others)
    low, high = (Publication("identity", epsilon, WINDOW, BOUND) for epsilon in (1, 30))

    def by_values(publication: Publication) -> Rate:
        scores = (np.array([suspect.matched(publication.release(of)) for _ in range(100)]) for of in (there, not_there))
        found, accused = (int((score > 2).sum()) for score in scores)  # kWh: half of the canary
        return Rate(found, 100, accused, 100)

    assert not by_values(low).exceeds(1, ERROR)
    assert by_values(high).exceeds(1, ERROR)


def test_subtracting_releases_is_worse_than_guessing_at_a_low_epsilon() -> None:
    there, not_there = worlds(CANARY)
    publication, curve = Publication("identity", 1, WINDOW, BOUND), np.array(CANARY) / 1000
    errors = [
        Likeness.of(publication.release(there)[1, 1] - publication.release(not_there)[1, 1], curve).error
        for _ in range(20)
    ]
    assert np.median(errors) > Likeness.of(np.zeros(6), curve).error
    assert Likeness.of(curve, curve) == Likeness(pytest.approx(1.0), 0.0)
    assert Likeness.of(np.zeros(6), curve).correlation == 0.0


def pair_of(answers: list[int]) -> TranscriptPair:
    noisy, scales = np.array(answers), np.array([2.0, 5.0])
    present, absent = (TranscriptEntry(np.array(true), noisy, scales) for true in ([10, 3], [4, 3]))
    return TranscriptPair((present,), (absent,))


def test_the_likelihood_ratio_is_exact() -> None:
    assert pair_of([7, 9]).ratio == 0.0
    assert pair_of([30, 0]).ratio == pair_of([30, 0]).loss == 3.0
    assert pair_of([-5, 0]).ratio == -3.0
    assert pair_of([7, 9]).moved == 1
    assert TranscriptPair((), ()).draw(3, ExactNoise(), present=True).tolist() == [0.0, 0.0, 0.0]


def test_a_rate_is_counted_where_its_threshold_was_not_chosen() -> None:
    random = np.random.default_rng(1)
    rate = estimate_rate(random.normal(4, 1, 1000), random.normal(0, 1, 4000), seed=0)
    assert (rate.present, rate.absent) == (1000, 2000)
    assert rate.true_positives == pytest.approx(0.95, abs=0.04)
    assert rate.false_positives == pytest.approx(0.01, abs=0.008)
    assert estimate_rate(np.zeros(5000), np.zeros(5000), seed=0).true_positives < 0.05, "equal scores are no evidence"
    low, high = Rate(5, 10, 0, 10).interval()
    assert (round(low, 4), round(high, 4)) == (0.1871, 0.8129)


def test_the_page_says_what_was_measured() -> None:
    kept = json.loads((ROOT / "benchmarks" / "attacks.json").read_text("utf-8"))
    page = (ROOT / "docs" / "attacks.md").read_text("utf-8")
    assert replace_tables(page, kept) == page, "run benchmarks/attacks_report.py"
    assert kept["data"] in page
    for record in kept["membership"]:
        assert not rate_of(record).exceeds(record["epsilon"] * record["releases"], ERROR)
    assert all(rule["largest_error_wh"] == 0 and rule["tried"] for rule in kept["rules"])
    assert kept["shown"]["rule"] == kept["shown"]["true"]
