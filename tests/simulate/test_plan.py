"""Planning: what is asked, what is tried, what is suggested, and the words and the picture."""

import math
from datetime import timedelta
from typing import Any

import pytest

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import Spec, make_spec
from gridveil.report.figures.chart import as_file
from gridveil.simulate.plan_queries import (
    DAY,
    GridSize,
    change_grid,
    choose_basis,
    list_queries,
    list_steps,
    name_periods,
    name_places,
)
from gridveil.simulate.plan_report import draw_outlook, expectations, heading, sentences, sizes
from gridveil.simulate.planning import EPSILONS, USEFUL, Outlook, make_outlook
from gridveil.simulate.rehearse import ErrorTally, Rehearsal, rehearse

HOUR = timedelta(hours=1)


def spec_of(**settings: Any) -> Spec:
    place = {"extent": [0, 0, 8000, 8000], "grid": "8x8", "start": "2013-02-04T00:00", "steps": 48}
    return make_spec({**place, "mechanism": "even", **settings})


def text_of(outlook: Outlook) -> str:
    return "\n".join([heading(outlook), *sentences(outlook)])


def made_up(spec: Spec, cells: dict[float, float], on: dict[tuple[int, int], tuple[float, ...]]) -> Outlook:
    """An outlook with given percentages: of everything at each epsilon, and of a cell over 1, 3, 6 and 24 h by grid."""
    plan = Plan.of(spec)
    basis, asked = choose_basis(plan.window), list_queries(plan.grid, plan.window)
    outlook = Outlook(plan, 3.0, 1000, 1000, basis, asked, repeats=1)
    outlook.tallies = {epsilon: {q: ErrorTally(100, error, error) for q in asked} for epsilon, error in cells.items()}
    steps = [hours * HOUR for hours in (1, 3, 6, 24)]
    outlook.sizes = [
        GridSize(grid, {step: ErrorTally(100, error) for step, error in zip(steps, errors, strict=True)})
        for grid, errors in on.items()
    ]
    outlook.proofs = {(size.cells, step): size for size, step in outlook.suggested}
    return outlook


def test_a_rehearsal_that_went_wrong_is_told_but_not_typical() -> None:
    outlook = made_up(spec_of(), {3.0: 2.0}, {(8, 8): (9.0, 7.0, 5.0, 3.0)})
    whole = outlook.queries[0]
    assert "worst" not in text_of(outlook)
    outlook.tallies[3.0][whole] += ErrorTally(100, 63) + ErrorTally(100, 4)
    assert outlook.curve(whole) == {3.0: 4.0}
    assert "the median of 3 rehearsals. In the worst, the whole map was off by 63 %" in text_of(outlook)


def test_useful_tells_the_larger_of_two_cells_seven_times_in_eight() -> None:
    spread = USEFUL / 100 * math.sqrt(math.pi / 2)  # the standard deviation of normal errors with that mean
    score = 0.5 / math.hypot(spread, 1.5 * spread)
    assert 0.5 * math.erfc(-score / math.sqrt(2)) == pytest.approx(7 / 8, abs=0.01)


def test_a_block_of_large_cells_is_no_street() -> None:
    assert "street (2 x 2 cells)" in name_places(Grid(0, 0, 8000, 8000, 32, 32)).values()
    assert "2 x 2 cells" in name_places(Grid(0, 0, 0.8, 0.8, 32, 32)).values()
    assert "2 x 2 cells" in name_places(Grid(-0.5, 51.395, -0.25, 51.5, 32, 32, crs="EPSG:4326")).values()
    assert list(name_places(Grid(0, 0, 8, 8, 8, 8)).values()) == ["whole map", "district (2 x 2 cells)", "one cell"]
    assert list(name_places(Grid(0, 0, 4, 1, 4, 1)).values()) == ["whole map", "one cell"]


@pytest.mark.parametrize(
    ("step", "steps", "named", "basis"),
    [
        ("1h", 120, ["all 5 days", "a day", "1 h"], DAY),
        ("15min", 40, ["all 10 h", "15 min"], 10 * HOUR),
        ("7h", 10, ["all 70 h", "7 h"], 7 * HOUR),
        ("1d", 7, ["all 7 days", "a day"], DAY),
        ("2d", 7, ["all 14 days", "2 days"], 2 * DAY),
        ("1h", 1, ["all 1 h"], HOUR),
    ],
)
def test_periods_and_what_cells_are_judged_by(step: str, steps: int, named: list[str], basis: timedelta) -> None:
    plan = Plan.of(spec_of(step=step, steps=steps))
    assert list(name_periods(plan.window).values()) == named
    assert choose_basis(plan.window) == basis
    tried = list_steps(plan, basis)
    assert plan.window.step in tried
    assert all(other % tried[0] == timedelta(0) for other in tried)


def test_a_variant_keeps_extent_window_and_bounds() -> None:
    plan = Plan.of(spec_of(cell_size=300, grid=None, bound_step=2, bound_window=50))
    other = change_grid(plan, (4, 3), 6 * HOUR)
    assert (other.grid.nx, other.grid.ny, other.grid.x1) == (4, 3, plan.grid.x1)
    assert (other.window.start, other.window.end, other.window.steps) == (plan.window.start, plan.window.end, 8)
    assert (other.spec.to_bound().step, other.spec.to_bound().window) == (12_000, 50_000)


def test_the_finest_useful_grid_and_its_finest_useful_step_are_suggested() -> None:
    curve = {1.0: 160.0, 3.0: 80.0, 10.0: 40.0, 30.0: 10.0}
    on = {(8, 8): (90.0, 85.0, 82.0, 80.0), (4, 4): (30.0, 25.0, 19.0, 12.0), (2, 2): (9.0, 8.0, 7.0, 6.0)}
    outlook = made_up(spec_of(epsilon=3), curve, on)
    outlook.more = {4000: 40.0, 16000: 10.0}
    assert outlook.suggested == [(outlook.sizes[2], HOUR), (outlook.sizes[1], 6 * HOUR)]
    assert outlook.enough_epsilon == pytest.approx(math.sqrt(300))
    assert outlook.enough_households == pytest.approx(8000)
    words = text_of(outlook)
    assert "Suggested: --grid 2x2 (one cell is good to 9.0 % over 1 h, 6.0 % over a day); or, for smaller" in words
    assert "cells, --grid 4x4 --step 6h --steps 8 (one cell is good to 19 % over 6 h, 12 % over a day)." in words
    outlook.takes = lambda step: step <= HOUR
    assert outlook.suggested == [(outlook.sizes[2], HOUR)]
    outlook.takes = lambda step: step != 24 * HOUR
    assert "--grid 4x4 --step 6h (one cell is good" in text_of(outlook)
    either = "useful with about 8,000 households or with epsilon 17 (weaker privacy)."
    assert f"One of your 8 x 8 cells over a day would be {either}" in words


def test_it_says_so_where_all_is_well_or_nothing_helps() -> None:
    fine = {(16, 16): (30.0, 30.0, 30.0, 30.0), (8, 8): (15.0, 9.0, 8.0, 7.0)}
    words = text_of(made_up(spec_of(epsilon=3), {3.0: 7.0}, fine))
    assert "Suggested: your own grid and step (one cell is good to 15 % over 1 h, 7.0 % over a day)." in words
    only_a_day = {(8, 8): (40.0, 30.0, 25.0, 15.0)}
    words = text_of(made_up(spec_of(epsilon=3), {3.0: 15.0}, only_a_day))
    assert "Suggested: --step 24h --steps 2 (one cell is good to 15 % over a day)." in words
    nothing = {(8, 8): (400.0, 300.0, 250.0, 150.0), (1, 1): (40.0, 30.0, 25.0, 25.0)}
    words = text_of(made_up(spec_of(epsilon=3), {3.0: 150.0}, nothing))
    assert "no grid was found" in words
    assert "would" not in words
    words = text_of(made_up(spec_of(epsilon=3), {3.0: 150.0, 10.0: 90.0}, nothing))
    assert "would not be useful with 1,000 households, nor at epsilon 10" in words


def test_errors_never_rise_with_epsilon() -> None:
    outlook = made_up(spec_of(), {1.0: 9.0, 3.0: 4.0, 10.0: 6.0}, {(1, 1): (1.0, 1.0, 1.0, 1.0)})
    assert outlook.curve(outlook.queries[0]) == {1.0: 9.0, 3.0: 5.0, 10.0: 5.0}
    assert outlook.skipped == [0.3, 30.0]


def test_rehearsals_fill_an_outlook() -> None:
    stages: dict[str, float] = {}
    outlook = make_outlook(spec_of(epsilon="2"), 200, seconds=5, progress=stages.__setitem__)
    assert sorted(outlook.tallies) == sorted([*EPSILONS, 2.0])
    assert {size.cells for size in outlook.sizes} >= {(8, 8), (4, 4), (2, 2), (1, 1)}
    assert outlook.repeats >= 3
    assert set(stages.values()) == {1.0}
    assert 0 < outlook.expected((8, 8)) < outlook.expected((1, 1))
    assert outlook.suggested
    assert all(0 < outlook.proofs[size.cells, step].percent(step) <= USEFUL for size, step in outlook.suggested)


def test_what_does_not_stand_its_rehearsal_is_not_suggested() -> None:
    on = {(8, 8): (30.0, 25.0, 22.0, 19.0), (4, 4): (19.0, 15.0, 14.0, 12.0), (2, 2): (9.0, 8.0, 7.0, 6.0)}
    outlook = made_up(spec_of(), {3.0: 19.0}, on)
    four, two = outlook.sizes[1:]
    assert outlook.suggested == [(four, HOUR), (outlook.sizes[0], DAY)]
    worse = GridSize((0, 0), {HOUR: ErrorTally(100, 21), DAY: ErrorTally(100, 21)})
    outlook.proofs |= {((8, 8), DAY): worse, ((4, 4), HOUR): worse}
    assert outlook.suggested == [(two, HOUR), (four, 3 * HOUR)]


def test_a_suggestion_quotes_the_table_and_the_proof_only_of_blocks() -> None:
    on = {(8, 8): (30.0, 25.0, 22.0, 21.0), (4, 4): (18.0, 15.0, 14.0, 12.0)}
    outlook = made_up(spec_of(), {3.0: 19.0}, on)
    outlook.proofs[(4, 4), HOUR] = GridSize((4, 4), {HOUR: ErrorTally(100, 17), DAY: ErrorTally(100, 11)})
    assert "--grid 4x4 (one cell is good to 18 % over 1 h, 12 % over a day)" in text_of(outlook)
    assert "may differ from the table's" not in text_of(outlook)
    outlook.sizes[1].of_blocks = True
    assert "--grid 4x4 (one cell is good to 17 % over 1 h, 11 % over a day)" in text_of(outlook)
    assert "may differ from the table's" in text_of(outlook)


def test_the_same_rehearsals_give_the_same_numbers() -> None:
    first, second = (make_outlook(spec_of(), 100, seconds=1e-9) for _ in range(2))
    assert first.tallies == second.tallies


@pytest.mark.parametrize(
    "settings",
    [
        {"grid": "1x1"},
        {"grid": "5x7", "steps": 24},
        {"grid": "4x4", "steps": 1},
        {"step": "15min", "steps": 30},
        {"step": "1d", "steps": 14},
        {"step": "7h", "steps": 5},
        {"epsilon": 0.01, "bound_window": 40.0},
        {"mechanism": "outer", "bound_step": 1.0},
        {"mechanism": "mosaic", "grid": "4x4", "steps": 24},
    ],
    ids=str,
)
def test_in_no_time_the_plan_itself_is_rehearsed_and_all_can_be_told_and_drawn(settings: dict[str, Any]) -> None:
    outlook = make_outlook(spec_of(**settings), 30, seconds=1e-9)
    assert list(outlook.tallies) == [outlook.epsilon]
    assert (1, 1) in {size.cells for size in outlook.sizes}
    assert "there was no time for epsilon 0.3, 1" in text_of(outlook)
    assert any(size.of_blocks for size in outlook.sizes) == ("estimated from blocks of your cells" in text_of(outlook))
    assert expectations(outlook).row_count == len(outlook.queries)
    assert sizes(outlook).row_count == len(outlook.sizes)
    assert as_file(draw_outlook(outlook), "svg").startswith(b"<?xml")


def test_too_many_households_are_fewer_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.simulate.rehearse.MAX_READINGS", 4800)
    outlook = make_outlook(spec_of(), 10_000, seconds=1e-9)
    assert outlook.rehearsed == 100
    assert "Rehearsed with 100 households, for lack of memory: with 10,000 errors are smaller." in text_of(outlook)


def test_a_mechanism_that_cannot_do_other_grids_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_its_own(plan: Plan, epsilon: float, households: int, seed: int = 0) -> Rehearsal:
        if plan.grid.nx != 8:
            msg = "depth 3 does not fit this grid"
            raise UsageError(msg, code="no")
        return rehearse(plan, epsilon, households, seed)

    monkeypatch.setattr("gridveil.simulate.planning.rehearse", only_its_own)
    outlook = make_outlook(spec_of(), 30, seconds=2)
    assert [size.cells for size in outlook.sizes] == [(8, 8)]


def test_the_picture_has_a_line_for_each_place_the_useful_level_and_the_epsilon() -> None:
    outlook = made_up(spec_of(grid="32x32", epsilon=3), {1.0: 30.0, 3.0: 9.0}, {(1, 1): (1.0, 1.0, 1.0, 1.0)})
    axes = draw_outlook(outlook).axes[0]
    curves = [line for line in axes.lines if line.get_marker() != "None"]
    assert len(curves) == len({line.get_color() for line in curves}) == 4
    words = {text.get_text() for text in axes.texts}
    assert {"whole map", "district (8 x 8 cells)", "street (2 x 2 cells)", "one cell"} <= words
    assert {"useful: at most 20 %", "your epsilon: 3"} <= words
