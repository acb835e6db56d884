"""A series as one release: what its parts say, on one time axis."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import has_code
from tests.release.conftest import GRID, KINDS, WINDOW, make_estimate, make_label, make_series

from gridveil.geography.area import Area
from gridveil.model.errors import InputError, UsageError
from gridveil.release.export import export
from gridveil.release.format.facts import LedgerFacts
from gridveil.release.format.label import Label, describe, warnings
from gridveil.release.query.highest import values_at
from gridveil.release.query.open import QueryAnswers, Release, open_release, open_runs
from gridveil.release.query.profile import typical_day
from gridveil.release.series import catalogue as shelf
from gridveil.release.series.catalogue import CATALOGUE, read_catalogue, write_catalogue
from gridveil.uncertainty import Estimate, LinearNoise, NoisyParts, Posterior, Replicates

LENGTHS = (24, 30, 25)
EDGES = np.cumsum([0, *LENGTHS])
EVERY = (*KINDS, "linear", "posterior")
AREA = Area.rectangle(GRID, -0.47, 51.27, -0.2, 51.46)
PARTS = ("value", "standard_error", "low", "high")


def estimate_of(kind: str, steps: int, seed: int) -> Estimate:
    window = replace(WINDOW, steps=steps)
    if kind in KINDS:
        return make_estimate(kind, window=window, seed=seed)
    rng = np.random.default_rng(seed)
    shape = (GRID.nx, GRID.ny, steps)
    if kind == "linear":
        factors = [rng.normal(0, 30, (length, length)) for length in shape]
        return Estimate(rng.normal(3000, 4000, shape), LinearNoise(*factors))
    profile = rng.gamma(20, 1, (60, 3, steps))
    posterior = Posterior(
        space=rng.gamma(3, 20_000, (60, *shape[:2])),
        region=rng.integers(0, 3, shape[:2]),
        time=profile / profile.sum(axis=2, keepdims=True),
        size=rng.uniform(90_000, 120_000, 60),
    )
    cube = posterior.space[..., None] * posterior.time[np.arange(60)[:, None, None], posterior.region]
    return Estimate(cube.mean(axis=0), posterior)


def opened(folder: Path, *kinds: str, **label: object) -> tuple[Release, list[Release]]:
    estimates = [estimate_of(kind, LENGTHS[n], n) for n, kind in enumerate(kinds)]
    make_series(folder, estimates, **label)
    names = [listed.path for listed in read_catalogue(folder).releases]
    return open_release(folder), [open_release(folder / name) for name in names]


@pytest.fixture(scope="module", params=EVERY)
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, list[Release]]:
    return opened(tmp_path_factory.mktemp("series"), *[request.param] * 3)


def alike(mine: Any, other: Any, rtol: float = 1e-9) -> None:
    for name in PARTS:
        np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=rtol, atol=1e-6)


def pieces(start: int, stop: int) -> list[tuple[int, int, int]]:
    found = [(n, max(start - EDGES[n], 0), min(stop, EDGES[n + 1]) - EDGES[n]) for n in range(len(LENGTHS))]
    return [(n, int(first), int(last)) for n, first, last in found if first < last]


Opened = tuple[Release, list[Release]]


def test_values_are_those_of_the_parts(series: Opened) -> None:
    whole, parts = series
    cube = np.concatenate([part.values() for part in parts])
    np.testing.assert_array_equal(whole.values(), cube)
    rng = np.random.default_rng(0)
    ends = np.array([GRID.nx, GRID.ny, EDGES[-1]])
    ranges = np.array([np.sort(rng.choice(n + 1, 2, replace=False)) for n in np.tile(ends, 60)]).reshape(-1, 6)
    summed = [cube[e:f, c:d, a:b].sum(dtype=float) for a, b, c, d, e, f in ranges.tolist()]
    np.testing.assert_allclose(whole.values_of(ranges), summed, rtol=1e-6, atol=1e-3)
    schedules = rng.integers(0, 3, (4, EDGES[-1])).astype(float)
    maps = np.einsum("tyx,st->syx", cube.astype(float), schedules)
    np.testing.assert_allclose(values_at(whole, schedules), maps, rtol=1e-6, atol=1e-3)


def test_inside_one_release_answers_are_its_own(series: Opened) -> None:
    whole, parts = series
    for n, part in enumerate(parts):
        first, last = int(EDGES[n]), int(EDGES[n + 1])
        for period in ((0, LENGTHS[n]), (3, 4), (5, 17)):
            here = first + period[0], first + period[1]
            assert whole.query(x=(1, 4), y=(0, 3), time=here) == part.query(x=(1, 4), y=(0, 3), time=period)
            alike(whole.over(AREA, [here]), part.over(AREA, [period]))
            alike(whole.cells(*here), part.cells(*period))
        schedule = np.random.default_rng(n).uniform(0, 1, (3, LENGTHS[n]))
        padded = np.zeros((3, EDGES[-1]))
        padded[:, first:last] = schedule
        alike(whole.at(AREA, padded), part.at(AREA, schedule))


def together(answers: list[Any], *, about_the_truth: bool) -> tuple[Any, Any, Any, Any]:
    """What several answers are together, by the simplest rule that can hold; half-widths between two limits."""
    value, error, low, high = (np.array([getattr(answer, name) for answer in answers]) for name in PARTS)
    if about_the_truth:
        return value.sum(0), error.sum(0), low.sum(0), high.sum(0)
    error = np.sqrt((error**2).sum(0))
    width = np.sqrt(((high - value) ** 2).sum(0))  # what noise as peaked as each part's would have
    return value.sum(0), error, value.sum(0) - width, value.sum(0) + width


@pytest.mark.parametrize(("start", "stop"), [(0, 79), (23, 25), (20, 60), (54, 79), (24, 54), (10, 55)])
def test_over_several_releases_errors_add_up(series: Opened, start: int, stop: int) -> None:
    whole, parts = series
    asked = pieces(start, stop)
    for ask in (
        lambda release, first, last: release.answers_of([[2, 5, 1, 4, first, last]]),
        lambda release, first, last: release.over(AREA, [[first, last]]),
        lambda release, first, last: release.at(AREA, [mask(release, first, last)]),
        lambda release, first, last: release.cells(first, last),
    ):
        mine = ask(whole, start, stop)
        value, error, low, high = together(
            [ask(parts[n], *rest) for n, *rest in asked], about_the_truth=whole.about_the_truth
        )
        np.testing.assert_allclose(mine.value, value, rtol=1e-5)
        np.testing.assert_allclose(mine.standard_error, error, rtol=1e-5)
        if whole.about_the_truth or len(asked) == 1:
            np.testing.assert_allclose(mine.low, low, rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(mine.high, high, rtol=1e-5, atol=1e-4)
            continue
        width = (mine.high - mine.low) / 2
        assert (width <= (high - low) / 2 * (1 + 1e-3)).all()  # maps have 5e-4 of their own, and single precision
        assert (width >= 1.96 * error * (1 - 1e-3)).all()


def mask(release: Release, first: int, last: int) -> np.ndarray:
    steps = np.arange(release.window.steps)
    return ((first <= steps) & (steps < last)).astype(float)


def test_one_release_is_that_release(tmp_path: Path) -> None:
    whole, (part,) = opened(tmp_path, "parts")
    assert whole.label == part.label
    assert not whole.is_series
    assert whole.query() == part.query()
    assert whole.path == part.path


MANY = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(
    cuts=st.sets(st.integers(1, WINDOW.steps - 1), max_size=5),
    kind=st.sampled_from(["identity", "scaled"]),
    seed=st.integers(0, 1000),
)
def test_a_split_release_answers_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int], kind: str, seed: int
) -> None:
    """Every cell and step has noise of its own: cut in time, it is the same model. Widths are 0.5 % off at most."""
    folder = tmp_path_factory.mktemp("split")
    estimate = make_estimate(kind, seed=seed)
    edges = [0, *sorted(cuts), WINDOW.steps]
    assert isinstance(estimate.errors, NoisyParts)
    scales = np.broadcast_to(estimate.errors.scales, (1, 1, WINDOW.steps))
    some = [
        Estimate(estimate.dense()[..., a:b], replace(estimate.errors, scales=scales[..., a:b]))
        for a, b in pairwise(edges)
    ]
    joined = open_release(make_series(folder / "series", some))
    whole = open_release(make_series(folder / "whole", [estimate]))
    rng = np.random.default_rng(seed)
    ends = np.array([GRID.nx, GRID.ny, WINDOW.steps])
    ranges = np.array([np.sort(rng.choice(n + 1, 2, replace=False)) for n in np.tile(ends, 30)]).reshape(-1, 6)
    periods = ranges[:, 4:]
    schedules = rng.integers(0, 3, (5, WINDOW.steps)) + np.eye(5, WINDOW.steps)
    first, last = sorted(rng.choice(WINDOW.steps + 1, 2, replace=False).tolist())
    for mine, other in (
        (joined.answers_of(ranges), whole.answers_of(ranges)),
        (joined.over(AREA, periods), whole.over(AREA, periods)),
        (joined.at(AREA, schedules), whole.at(AREA, schedules)),
        (joined.cells(first, last), whole.cells(first, last)),
    ):
        np.testing.assert_allclose(mine.value, other.value, rtol=1e-5, atol=1e-3)
        np.testing.assert_allclose(mine.standard_error, other.standard_error, rtol=1e-5)
        np.testing.assert_allclose(mine.high - mine.value, other.high - other.value, rtol=5e-3)
        np.testing.assert_allclose(mine.value - mine.low, other.value - other.low, rtol=5e-3)


def test_kinds_may_be_mixed(tmp_path: Path) -> None:
    whole, parts = opened(tmp_path, "identity", "posterior", "replicates")
    assert not whole.about_the_truth
    assert [part.about_the_truth for part in parts] == [False, True, False]
    answer, own = whole.query(), [part.query() for part in parts]
    noise = float(np.hypot(own[0].high - own[0].value, own[2].high - own[2].value))
    assert answer.high == pytest.approx(own[0].value + own[1].high + own[2].value + noise, rel=1e-6)
    assert answer.low == pytest.approx(own[0].value + own[1].low + own[2].value - noise, rel=1e-6)
    with pytest.raises(UsageError, check=has_code("schedules-negative")):
        whole.at(AREA, [np.linspace(-1, 1, 79)])
    assert {"added-ends", "not-averaged"} <= set(whole.label.not_covered)


def test_a_query_opens_only_what_it_needs(tmp_path: Path) -> None:
    whole, _ = opened(tmp_path, *["parts"] * 3)
    held = whole._errors.shelf
    whole.query(time=(24, 54))
    assert [n in held for n in range(3)] == [False, True, False]
    whole.over(AREA, [[30, 79]])
    whole.at(AREA, [mask(whole, 30, 70)])
    whole.cells(30, 79)
    assert [n in held for n in range(3)] == [False, True, True]


def test_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = opened(tmp_path, *["posterior"] * 3)
    before = whole.query()
    monkeypatch.setattr(shelf, "MOST_OPEN", 1)
    few = open_release(tmp_path)
    assert few.query() == before
    held = few._errors.shelf
    assert [n in held for n in range(3)] == [False, False, True]
    monkeypatch.setattr(shelf, "MOST_OPEN", 64)
    monkeypatch.setattr(shelf, "MOST_BYTES", 1)
    assert open_release(tmp_path).query() == before


def test_exports_have_all_steps(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    whole, parts = opened(tmp_path / "series", *["parts"] * 3)
    export(whole, tmp_path / "whole.parquet", "parquet")
    tables = []
    for n, part in enumerate(parts):
        export(part, tmp_path / f"{n}.parquet", "parquet")
        tables.append(pq.read_table(tmp_path / f"{n}.parquet"))
    mine = pq.read_table(tmp_path / "whole.parquet")
    for column in ("area_id", "interval_start", "kwh", "kwh_low", "kwh_high"):
        assert mine[column].to_pylist() == [value for table in tables for value in table[column].to_pylist()]
    assert json.loads(mine.schema.metadata[b"privacy_label"])["privacy"]["epsilon"] == 3.0


def test_the_label_adds_up(tmp_path: Path) -> None:
    whole, parts = opened(tmp_path, *["parts"] * 3, epsilon=0.1)
    label = whole.label
    assert label.privacy.epsilon == 0.3  # exactly, though 0.1 + 0.1 + 0.1 in floats is not
    assert label.title == "A series"
    assert whole.window.start == parts[0].window.start
    assert whole.window.end == parts[-1].window.end
    words = {section.heading: section.lines for section in describe(label)}
    assert words["Releases"][1:] == [
        "2013-02-04T00: 24 steps from 2013-02-04 00:00 UTC, epsilon 0.1, identity",
        "2013-02-05T00: 30 steps from 2013-02-05 00:00 UTC, epsilon 0.1, identity",
        "2013-02-06T06: 25 steps from 2013-02-06 06:00 UTC, epsilon 0.1, identity",
    ]
    assert any("epsilon 0.3" in line for line in words["Privacy"])
    assert typical_day(whole, AREA) is not None


@pytest.mark.parametrize("unit", ["household", "household-window"])
def test_the_label_tells_what_a_ledger_knew(unit: str) -> None:
    from gridveil.release.series.series_label import series_label

    def debited(spent: str, population: str = "town") -> object:
        by_window = {"window": "week", "timezone": "UTC", "spent_in_window": "1"} if unit != "household" else {}
        entry = LedgerFacts(hash="0" * 64, population=population, unit=unit, cap="9", spent=spent, **by_window)
        return make_label(ledger_entry=entry)

    labels = [(f"r{n}", debited(str(n + 2))) for n in range(3)]
    label = series_label("t", labels, truths=[True] * 3)
    assert "'town'" in label.ledger
    assert "epsilon 4" in label.ledger
    assert ("in one week" in label.ledger) == (unit == "household-window")
    assert label.latest_entry is not None
    assert {one.question: one.loss for one in label.latest_entry.attack_rates} == {
        **({"window_membership": 9, "window_behaviour": 18} if unit == "household-window" else {}),
        "membership": 4,
        "behaviour": 8,
        "place": 8,
    }
    others = [*labels, ("other", debited("9", "elsewhere"))]
    assert "not one and the same" in series_label("t", others, truths=[True] * 4).ledger
    without = [*labels, ("none", make_label())]
    assert "not one and the same" in series_label("t", without, truths=[True] * 4).ledger


@pytest.mark.parametrize(
    ("debits", "one"),
    [
        ([(1, "1"), (1, "2"), (1, "3")], True),
        ([(1, "3"), (1, "1"), (1, "2")], True),  # a gap was filled later
        ([(1, "5"), (1, "9")], True),  # others were debited in between
        ([(1 / 3, "1/3"), (5 / 6, "7/6"), (0.1, "19/15")], True),  # 5/6 and 0.1 as floats are above themselves
        ([(1, "1"), (1, "2"), (1, "3"), (1, "1")], False),  # the expert's: four, and a ledger that knows three
        ([(3, "3"), (3, "3")], False),
        ([(1, "1"), (3, "3")], False),
        ([(1, "1"), (1, "1.999999")], False),
    ],
)
def test_two_ledgers_with_one_name_are_not_taken_for_one(debits: list[tuple[float, str]], *, one: bool) -> None:
    from gridveil.release.series.series_label import series_label

    def label(epsilon: float, spent: str, cap: str = "9") -> Label:
        entry = LedgerFacts(hash="0" * 64, population="town", unit="household", cap=cap, spent=spent)
        return make_label(epsilon=epsilon, ledger_entry=entry)

    labels = [(f"r{n}", label(*debit)) for n, debit in enumerate(debits)]
    told = series_label("t", labels, truths=[True] * len(labels)).ledger
    assert ("with the last of these" in told) == one
    assert ("their epsilons add up" in told) != one
    caps = [*labels, ("cap", label(1, "9", "10"))]
    assert "their epsilons add up" in series_label("t", caps, truths=[True] * len(caps)).ledger


def test_epsilons_beyond_all_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, check=has_code("epsilon-sum-too-large")):
        opened(tmp_path, "parts", "parts", epsilon=8e307)


def test_one_that_is_not_private_makes_none_private(tmp_path: Path) -> None:
    whole, _ = opened(tmp_path, "parts", "parts", private=False)
    assert whole.label.heading.startswith("NOT PRIVATE")


def test_a_gap_is_never_shown(tmp_path: Path) -> None:
    opened(tmp_path, *["parts"] * 3)
    catalogue = read_catalogue(tmp_path)
    middle = catalogue.releases[1]
    write_catalogue(tmp_path, catalogue.model_copy(update={"releases": (catalogue.releases[0], catalogue.releases[2])}))
    first, last = open_runs(tmp_path)
    assert first.window.end == middle.start
    assert last.window.start == middle.end
    longest = open_release(tmp_path)
    assert longest.window.start == middle.end  # 25 steps, and the other has 24
    assert longest.label.note is not None
    assert "2013-02-05 00:00 to 2013-02-06 06:00" in longest.label.note
    with pytest.raises(UsageError, check=has_code("range-in-gap")):
        longest.query(time=("2013-02-05T00", "2013-02-05T01"))
    assert len(longest.values()) == 25
    for run in (first, last):
        assert run.label.privacy.epsilon == 1
        [warning] = warnings(run.label)
        assert warning.to_record() == {"code": "series-epsilon", "releases": 2, "epsilon": 2}
        told = str(warning)
        assert "7.39 %" in told
        assert any(told in section.lines for section in describe(run.label) if section.heading == "Privacy")


def change(folder: Path, number: int, **changes: object) -> None:
    content = json.loads((folder / CATALOGUE).read_text("utf-8"))
    content["releases"][number].update(changes)
    (folder / CATALOGUE).write_text(json.dumps(content))


def _linked(folder: Path) -> None:
    (folder / "2013-02-05T00").rename(folder.parent / "elsewhere")
    (folder / "2013-02-05T00").symlink_to(folder.parent / "elsewhere")


def _edited(folder: Path) -> None:
    label = folder / "2013-02-05T00" / "label.json"
    label.write_text(label.read_text("utf-8").replace("Example Grid", "Somebody"), "utf-8")


def _other_grid(folder: Path) -> None:
    make_series(folder / "x", [estimate_of("parts", 30, 1)], replace(GRID, x1=0.0), datetime(2013, 2, 5, tzinfo=UTC))
    content = json.loads((folder / "x" / CATALOGUE).read_text("utf-8"))["releases"][0]
    (folder / "2013-02-05T00").rename(folder / "old")
    (folder / "x" / "2013-02-05T00").rename(folder / "2013-02-05T00")
    change(folder, 1, sha256=content["sha256"])


FAULTS: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "missing": (
        lambda folder: (folder / "2013-02-05T00").rename(folder / "gone"),
        ("series-file-missing", "2013-02-05T00"),
    ),
    "no label": (
        lambda folder: (folder / "2013-02-05T00" / "label.json").unlink(),
        ("label-missing", "2013-02-05T00/label.json"),
    ),
    "no values": (
        lambda folder: (folder / "2013-02-05T00" / "consumption.nc").unlink(),
        ("values-missing", "2013-02-05T00/consumption.nc"),
    ),
    "no sums": (
        lambda folder: (folder / "2013-02-05T00" / "SHA256SUMS").unlink(),
        ("series-file-missing", "2013-02-05T00/SHA256SUMS"),
    ),
    "a file": (
        lambda folder: (change(folder, 1, path="a"), (folder / "a").write_text("")),  # type: ignore[func-returns-value]  # two calls in a lambda
        ("series-file-unreadable", "a"),
    ),
    "linked": (_linked, ("series-file-unreadable",)),
    "digest": (lambda folder: change(folder, 1, sha256="0" * 64), ("series-file-changed", "SHA256SUMS")),
    "window": (lambda folder: change(folder, 1, end="2013-02-06T05:00:00Z"), ("series-file-changed", "window")),
    "edited label": (_edited, ("series-file-changed", "label.json")),
    "grid": (_other_grid, ("series-parts-differ", "grid")),
    "empty": (
        lambda folder: write_catalogue(folder, read_catalogue(folder).model_copy(update={"releases": ()})),
        ("series-empty",),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_series_are_told(tmp_path: Path, fault: str) -> None:
    folder = tmp_path / "series"
    opened(folder, *["parts"] * 3)
    make, told = FAULTS[fault]
    make(folder)
    with pytest.raises(InputError, check=has_code(*told)):
        open_release(folder)


def test_a_damaged_release_is_told_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "series"
    opened(folder, *["parts"] * 3)
    values = folder / "2013-02-05T00" / "consumption.nc"
    raw = bytearray(values.read_bytes())
    raw[2000:] = bytes(len(raw) - 2000)
    whole = open_release(folder)  # nothing of it is held yet
    values.write_bytes(raw)
    assert whole.query(time=(0, 24)).value > 0
    with pytest.raises(InputError, check=has_code("values-unreadable", "2013-02-05T00/consumption.nc")):
        whole.query()


def test_steps_of_another_length(tmp_path: Path) -> None:
    make_series(tmp_path, [estimate_of("parts", 24, 0)])
    catalogue = read_catalogue(tmp_path)
    window = replace(WINDOW, start=WINDOW.start + timedelta(days=1), step=timedelta(minutes=30), steps=48)
    from tests.release.conftest import listing

    from gridveil.release.format.netcdf import write_release

    estimate = estimate_of("parts", 48, 1)
    write_release(tmp_path / "next", grid=GRID, window=window, estimate=estimate, label=make_label(GRID, window))
    both = (*catalogue.releases, listing(tmp_path, "next", window))
    write_catalogue(tmp_path, catalogue.model_copy(update={"releases": both}))
    with pytest.raises(InputError, check=has_code("series-parts-differ", "another step")):
        open_release(tmp_path)


def test_student_and_welch(tmp_path: Path) -> None:
    """Two releases with replicates: variances add, and degrees of freedom by Welch and Satterthwaite."""
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    estimates = [
        Estimate(
            rng.normal(3000, 100, (GRID.nx, GRID.ny, 24)),
            Replicates(rng.normal(1000, sd, (count, GRID.nx, GRID.ny)), np.ones((count, 24))),
        )
        for count, sd in ((6, 100), (9, 50))
    ]
    whole = open_release(make_series(tmp_path, estimates))
    own = [open_release(tmp_path / listed.path).query() for listed in read_catalogue(tmp_path).releases]
    variance = np.array([answer.standard_error**2 for answer in own])
    freedom = variance.sum() ** 2 / (variance**2 / [5, 8]).sum()
    answer = whole.query()
    assert answer.standard_error == pytest.approx(np.sqrt(variance.sum()), rel=1e-6)
    expected = answer.standard_error * scipy.t.ppf(0.975, freedom)
    assert answer.high - answer.value == pytest.approx(expected, rel=1e-3)


def test_answers_hold_together_in_pieces(series: Opened) -> None:
    """Many questions at once are answered as one by one."""
    whole, _ = series
    rng = np.random.default_rng(1)
    ends = np.array([GRID.nx, GRID.ny, EDGES[-1]])
    ranges = np.array([np.sort(rng.choice(n + 1, 2, replace=False)) for n in np.tile(ends, 12)]).reshape(-1, 6)
    every: QueryAnswers = whole.answers_of(ranges)
    for row, asked in enumerate(ranges):
        one = whole.answers_of(asked[None])
        for name in PARTS:
            assert getattr(one, name)[0] == pytest.approx(getattr(every, name)[row], rel=1e-6, abs=1e-6)
    assert (whole.cost_of(ranges) >= 0).all()
