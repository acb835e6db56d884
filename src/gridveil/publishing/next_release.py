"""Regular publication: the next window of a series, with the shape of the day learnt from earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from gridveil.mechanisms.base import Progress, make, silent, train_steps
from gridveil.mechanisms.mosaic.time import HOURS, KINDS, SATURDAY
from gridveil.model.arrays import Floats
from gridveil.model.errors import BudgetError, GridveilWarning, InputError, UsageError
from gridveil.model.window import Window
from gridveil.publishing.debit import check_record
from gridveil.publishing.in_memory import spec_with_tables
from gridveil.publishing.next_checks import (
    adopt_unlisted,
    check_apart,
    check_calendar,
    check_debits,
    check_last_interval,
    check_listed,
    find_next_turn,
    list_release,
)
from gridveil.publishing.run import Published, check_out, check_scratch, run
from gridveil.publishing.schedule import Schedule, Turn, lock_series
from gridveil.publishing.spec import HOW_TO_CHOOSE, Spec
from gridveil.release.format import wording
from gridveil.release.format.facts import GridFacts
from gridveil.release.format.files import SUMS, VALUES, digest, read_sums
from gridveil.release.query.open import Release, open_release
from gridveil.release.series.catalogue import Catalogue, Listed, is_series, read_catalogue
from gridveil.release.series.series import read_part
from gridveil.trusted.kernel.noise import Noise
from gridveil.trusted.ledger.book import open_ledger
from gridveil.trusted.ledger.entry import format_amount
from gridveil.trusted.ledger.population import Read

# The shape of the day, learnt from earlier releases: post-processing, no reading is used.

LOOKBACK = timedelta(days=28)
"""How far back is looked: long enough to average noise out, short enough to follow the seasons."""

PIECE = timedelta(minutes=15)
"""Clocks differ from UTC by multiples of this: no shorter piece of a step lies in two hours."""

MIN_VARIATION = 0.1
"""A day whose hours differ by less than this (relative standard deviation) was not seen for noise: a town's differ by a
third. To start from it would be worse than to start from nothing, which `mosaic` believes in less firmly."""

MIN_HOUR = 0.1
"""The least part of the average that an hour is believed to have: noise can make less of it, a town does not."""


@dataclass(frozen=True)
class LearnedShape:
    """Consumption in each hour of the day, weekdays and then weekends, and the names of the releases that told it."""

    hourly: tuple[float, ...]
    learned_from: tuple[str, ...]

    def in_words(self) -> str:
        """Return where the numbers come from, for the label."""
        return (
            f"The shape of the day in profile is computed from the released values of {', '.join(self.learned_from)}, "
            "earlier releases of this series, and from no readings."
        )


def learn_shape(series: Path, releases: Sequence[Listed], before: datetime, zone: str) -> LearnedShape | None:
    """Return the average day of the latest releases that ended by `before`, by the clock of `zone`.

    None where there are none, or where they tell of no consumption, or of none that changes with the hour.
    """
    earlier = [listed for listed in releases if listed.end <= before]
    latest = [listed for listed in earlier if listed.end > before - LOOKBACK] or earlier[-1:]
    hourly = compute_average_day([_sum_cells(_open_verified(series, listed)) for listed in latest], zone)
    return None if hourly is None else LearnedShape(hourly, tuple(listed.path for listed in latest))


def compute_average_day(releases: Sequence[tuple[Window, Floats]], zone: str) -> tuple[float, ...] | None:
    """Return the consumption of each hour of the day from that of windows' steps, relative to the average, if it shows.

    An hour of which there is no step (no weekend was published yet, say) is taken from the other kind of day, or is as
    the average.
    """
    clock, energy, time = ZoneInfo(zone), np.zeros((len(KINDS), HOURS)), np.zeros((len(KINDS), HOURS))
    for window, totals in releases:
        pieces = max(1, window.step // PIECE)
        for start, total in zip(window.times(), totals, strict=True):
            for piece in range(pieces):
                middle = (start + (piece + 0.5) * window.step / pieces).astimezone(clock)
                hour = int(middle.weekday() >= SATURDAY), middle.hour
                energy[hour] += total / pieces
                time[hour] += window.step / timedelta(hours=1) / pieces
    average = energy.sum() / max(time.sum(), 1.0)
    if not average > 0:
        return None
    hourly = np.divide(energy, time, out=np.full_like(energy, np.nan), where=time > 0)
    hourly = np.where(np.isnan(hourly), hourly[::-1], hourly)
    hourly = np.maximum(np.where(np.isnan(hourly), average, hourly) / average, MIN_HOUR)
    return None if hourly.std() < MIN_VARIATION else tuple(np.round(hourly, 4).ravel().tolist())


def _open_verified(series: Path, listed: Listed) -> Release:
    """Open a release if it is the one that the catalogue lists, and private: else what is learned from it is not."""
    part = read_part(series, listed)
    if not part.label.private:
        msg = (
            f"{part.folder}: it is {wording.NOT_PRIVATE}, and a release that learned from it would not be private "
            "either; give a new series another --out"
        )
        raise InputError(msg, code="learned-not-private")
    if digest(part.folder / VALUES) != read_sums(part.folder / SUMS).get(VALUES):
        msg = f"{part.folder}: its values are not those of {SUMS}; see `gridveil verify`, and bring back what it was"
        raise InputError(msg, code="learned-changed")
    return open_release(part.folder)


def _sum_cells(release: Release) -> tuple[Window, Floats]:
    """Return a release's window, and the consumption of all cells together in each of its steps."""
    steps = range(release.window.steps)
    return release.window, release.values_of([[0, release.grid.nx, 0, release.grid.ny, t, t + 1] for t in steps])


# Regular publication: the next window of a series, by the calendar, the clock and the releases that are there.
#
# Which window is next depends on public things alone: settings, the clock, and folders that are published. Nothing of
# earlier windows is read again but their releases.


@dataclass(frozen=True)
class Waiting:
    """Nothing is to be published yet: the next window of the series is not over."""

    turn: Turn
    over: datetime
    """When it is, by the series' own clock."""
    adopted: tuple[GridveilWarning, ...] = ()
    """What is to be said of releases that an earlier run wrote and could not list."""

    def __str__(self) -> str:
        """Return it as sentences."""
        waits = f"Nothing to publish yet: window {self.turn.name} ends at {self.over.isoformat()}."
        return "\n".join([*map(str, self.adopted), waits])


def publish_next(
    spec: Spec | str | Path | None = None,
    *,
    again: bool = False,
    progress: Progress = silent,
    **settings: Any,  # noqa: ANN401  # see Spec
) -> Published | Waiting:
    """Publish the next window of a series; spec and settings are as of `publish`, with `cadence`, without `steps`.

    `out` is the folder of the series. Called several times in a row it publishes window after window, until it returns
    `Waiting` because the next one is not over.

    again: try a window once more that was debited, and has no release because the run failed then.

    Raises what `publish` does.
    """
    with spec_with_tables(settings, spec) as made:
        return run_next(made, again=again, progress=progress)


def run_next(
    spec: Spec,
    *,
    again: bool = False,
    progress: Progress = silent,
    noise: Noise | None = None,
    today: date | None = None,
    record: Path | None = None,
    now: datetime | None = None,
) -> Published | Waiting:
    """Publish the next window of the series that a spec describes; noise, today, now: for tests, as in `run`."""
    schedule = Schedule.of(spec)
    spec.need(*(name for name in HOW_TO_CHOOSE if name != "steps"))
    _refuse_training(spec)
    folder = Path(spec.out or "")
    check_apart(spec, folder)
    if noise is None:
        spec.check_ledger()
    check_scratch(spec.scratch, folder)
    if record is not None:
        check_record(record, folder)
    if not folder.is_dir():
        check_out(folder)
    check_calendar(spec, schedule)
    with lock_series(folder):
        catalogue = _load_catalogue(spec, schedule, folder)
        check_listed(folder, catalogue)
        _check_alike(spec, folder, catalogue)
        uncounted = check_debits(spec, folder, catalogue)
        before, catalogue = catalogue, adopt_unlisted(spec, schedule, folder, catalogue)
        adopted = _describe_adopted(folder, before, catalogue)
        turn = find_next_turn(schedule, catalogue)
        if turn.window.end > (now or datetime.now(UTC)):
            return Waiting(turn, turn.window.end.astimezone(ZoneInfo(schedule.timezone)), adopted)
        if not again:
            _refuse_again(spec, turn)
        check_last_interval(spec, turn.window)
        one = _add_learned_shape(turn.of(spec, folder / turn.name), folder, catalogue)
        try:
            published = run(one, progress=progress, noise=noise, today=today, record=record)
        except BudgetError as error:
            if not again:
                raise
            msg = (
                f"{str(error).rstrip('.')}. To go on without this window, set start to the window after it: "
                "the series then has a gap, which its label states"
            )
            raise BudgetError(msg, code="series-over-cap") from error
        list_release(catalogue, folder, turn, published.label.published)
    return replace(published, warnings=(*adopted, *uncounted, *published.warnings))


def _describe_adopted(folder: Path, before: Catalogue, after: Catalogue) -> tuple[GridveilWarning, ...]:
    """Say which releases were listed only now."""
    return tuple(
        GridveilWarning(
            f"{folder / listed.path}: an earlier run wrote this release and was stopped before it listed it; it is "
            "whole, and is listed now.",
            code="release-listed-late",
            figures={"release": listed.path},
        )
        for listed in after.releases
        if listed not in before.releases
    )


def make_next_spec(spec: Spec) -> Spec:
    """Return the spec of the next release of a series, over or not; nothing is written."""
    schedule = Schedule.of(spec)
    taken = read_catalogue(spec.out) if spec.out is not None and is_series(spec.out) else None
    turn = next(schedule.turns()) if taken is None else find_next_turn(schedule, taken)
    return turn.of(spec, None if spec.out is None else spec.out / turn.name)


def _load_catalogue(spec: Spec, schedule: Schedule, folder: Path) -> Catalogue:
    """Return the series' catalogue, or an empty one; of another calendar it is another series."""
    mine = Catalogue(title=spec.title, cadence=schedule.cadence, timezone=schedule.timezone, releases=())
    if not is_series(folder):
        return mine
    found = read_catalogue(folder)
    if (found.cadence, found.timezone) != (mine.cadence, mine.timezone):
        msg = (
            f"{folder}: its series has the cadence {found.cadence} by the clock of {found.timezone}, the spec "
            f"{mine.cadence} by that of {mine.timezone}; give a new series another --out"
        )
        raise UsageError(msg, code="cadence-changed")
    return found.model_copy(update={"title": spec.title})


def _check_alike(spec: Spec, folder: Path, catalogue: Catalogue) -> None:
    """Refuse a release on another grid, or of other steps, than those before: they could not be read as one."""
    for listed in catalogue.releases[-1:]:
        label = read_part(folder, listed).label
        has, wanted = (label.grid, label.window.step_seconds), (GridFacts.of(spec.to_grid()), spec.step)
        apart = [
            *(f"{name} {was}, the spec {now}" for name, was, now in _list_differences(has[0], wanted[0])),
            *([f"steps of {has[1]} s, the spec of {wanted[1]} s"] if has[1] != wanted[1] else []),
        ]
        if apart:
            msg = (
                f"{folder / listed.path}: the latest release of this series has {'; '.join(apart)}. The two could not "
                "be read as one; give a new series another --out"
            )
            raise UsageError(msg, code="series-settings-differ")


def _list_differences(has: GridFacts, wanted: GridFacts) -> Iterator[tuple[str, str, str]]:
    """Give what differs between two grids, by the settings' names, as a spec writes it."""
    pairs = {
        "the extent": [f"{one.x0!r},{one.y0!r},{one.x1!r},{one.y1!r}" for one in (has, wanted)],
        "the grid": [f"{one.nx}x{one.ny}" for one in (has, wanted)],
        "the coordinate system": [one.crs for one in (has, wanted)],
    }
    return ((name, was, now) for name, (was, now) in pairs.items() if was != now)


def _refuse_again(spec: Spec, turn: Turn) -> None:
    """Refuse a window that was debited and has no release: a timer would debit it every day until the cap."""
    if spec.ledger is None:
        return
    debits = open_ledger(spec.ledger).list_unreleased(spec.population, [Read.of("published", turn.window)])
    if debits:
        last = debits[-1]
        msg = (
            f"window {turn.name}: epsilon {format_amount(Fraction(last.body['epsilon']))} was debited for it on "
            f"{last.at} (entry {last.hash[:12]} of population '{last.population}'), and there is no release of it: a "
            "run failed after its debit, which stays spent. Nothing was published or debited now. Find out why it "
            "failed, then give --again (in Python: again=True) to debit the window once more; or set start to the "
            "window after it"
        )
        raise BudgetError(msg, code="window-debited")


def _refuse_training(spec: Spec) -> None:
    before = train_steps(make(spec.mechanism, spec.parameters))
    if before:
        msg = (
            f"mechanism {spec.mechanism} learns from the {before} steps of readings before each window, and a series "
            "never reads, or pays for, a window twice. Publish it with mosaic, which learns from earlier releases, or "
            "with a mechanism that learns from nothing"
        )
        raise UsageError(msg, code="mechanism-needs-training")


def _add_learned_shape(spec: Spec, folder: Path, catalogue: Catalogue) -> Spec:
    """Return the spec with the shape of the day that earlier releases tell, for the mechanism that starts from one."""
    if spec.mechanism != "mosaic" or spec.readings is None or not catalogue.releases:
        return spec
    learned = learn_shape(folder, catalogue.releases, spec.to_window().start, spec.readings.timezone)
    if learned is None:
        return spec
    parameters = {**spec.parameters, "profile": learned.hourly, "profile_zone": spec.readings.timezone}
    choices = f"{spec.choices}. {learned.in_words()}"
    return spec.model_copy(update={"parameters": parameters, "profile": None, "choices": choices})
