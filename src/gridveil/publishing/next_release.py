"""Regular publication: the next window of a series, by the calendar, the clock and the releases that are there.

Which window is next depends on public things alone: settings, the clock, and folders that are published. Nothing of
earlier windows is read again but their releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.registry import make, train_steps
from gridveil.model.errors import BudgetError, UsageError
from gridveil.publishing.in_memory import spec_with_tables
from gridveil.publishing.learned_shape import learn_shape
from gridveil.publishing.next_checks import check_apart, check_calendar, check_debits, check_last_interval, check_listed
from gridveil.publishing.next_recovery import list_release, next_turn, with_unlisted
from gridveil.publishing.operator_record import check_record
from gridveil.publishing.run import Published, check_out, check_scratch, run
from gridveil.publishing.schedule import Schedule, Turn
from gridveil.publishing.series_lock import alone
from gridveil.publishing.spec import HOW_TO_CHOOSE, Spec
from gridveil.release.format.label import GridFacts
from gridveil.release.series.catalogue import Catalogue, is_series, read_catalogue
from gridveil.release.series.series import read_part
from gridveil.trusted.kernel.noise import Noise
from gridveil.trusted.ledger.book import open_ledger
from gridveil.trusted.ledger.entry import decimal
from gridveil.trusted.ledger.population import Read


@dataclass(frozen=True)
class Waiting:
    """Nothing is to be published yet: the next window of the series is not over."""

    turn: Turn
    over: datetime
    """When it is, by the series' own clock."""
    adopted: tuple[str, ...] = ()
    """What is to be said of releases that an earlier run wrote and could not list."""

    def __str__(self) -> str:
        """Return it as sentences."""
        waits = f"Nothing to publish yet: window {self.turn.name} ends at {self.over.isoformat()}."
        return "\n".join([*self.adopted, waits])


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
    with alone(folder):
        catalogue = _catalogue(spec, schedule, folder)
        check_listed(folder, catalogue)
        _check_alike(spec, folder, catalogue)
        uncounted = check_debits(spec, folder, catalogue)
        before, catalogue = catalogue, with_unlisted(spec, schedule, folder, catalogue)
        adopted = _adopted(folder, before, catalogue)
        turn = next_turn(schedule, catalogue)
        if turn.window.end > (now or datetime.now(UTC)):
            return Waiting(turn, turn.window.end.astimezone(ZoneInfo(schedule.timezone)), adopted)
        if not again:
            _refuse_again(spec, turn)
        check_last_interval(spec, turn.window)
        one = _learned(turn.of(spec, folder / turn.name), folder, catalogue)
        try:
            published = run(one, progress=progress, noise=noise, today=today, record=record)
        except BudgetError as error:
            if not again:
                raise
            msg = (
                f"{error}. To go on without this window, set start to the window after it: the series then has a gap, "
                "which readers are told of"
            )
            raise BudgetError(msg, code="series-over-cap") from error
        list_release(catalogue, folder, turn, published.label.published)
    return replace(published, warnings=(*adopted, *uncounted, *published.warnings))


def _adopted(folder: Path, before: Catalogue, after: Catalogue) -> tuple[str, ...]:
    """Say which releases were listed only now."""
    return tuple(
        f"{folder / listed.path}: an earlier run wrote this release and was stopped before it listed it; it is whole, "
        "and is listed now."
        for listed in after.releases
        if listed not in before.releases
    )


def upcoming(spec: Spec) -> Spec:
    """Return the spec of the next release of a series, over or not; nothing is written."""
    schedule = Schedule.of(spec)
    taken = read_catalogue(spec.out) if spec.out is not None and is_series(spec.out) else None
    turn = next(schedule.turns()) if taken is None else next_turn(schedule, taken)
    return turn.of(spec, None if spec.out is None else spec.out / turn.name)


def _catalogue(spec: Spec, schedule: Schedule, folder: Path) -> Catalogue:
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
            *(f"{name} {was}, the spec {now}" for name, was, now in _differing(has[0], wanted[0])),
            *([f"steps of {has[1]} s, the spec of {wanted[1]} s"] if has[1] != wanted[1] else []),
        ]
        if apart:
            msg = (
                f"{folder / listed.path}: the latest release of this series has {'; '.join(apart)}. The two could not "
                "be read as one; give a new series another --out"
            )
            raise UsageError(msg, code="series-settings-differ")


def _differing(has: GridFacts, wanted: GridFacts) -> Iterator[tuple[str, str, str]]:
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
    debits = open_ledger(spec.ledger).unreleased(spec.population, [Read.of("published", turn.window)])
    if debits:
        last = debits[-1]
        msg = (
            f"window {turn.name}: epsilon {decimal(Fraction(last.body['epsilon']))} was debited for it on {last.at} "
            f"(entry {last.hash[:12]} of population '{last.population}'), and there is no release of it: a run failed "
            "after its debit, which stays spent. Nothing was published or debited now. Find out why it failed, then "
            "give --again (in Python: again=True) to debit the window once more; or set start to the window after it"
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


def _learned(spec: Spec, folder: Path, catalogue: Catalogue) -> Spec:
    """Return the spec with the shape of the day that earlier releases tell, for the mechanism that starts from one."""
    if spec.mechanism != "mosaic" or spec.readings is None or not catalogue.releases:
        return spec
    learned = learn_shape(folder, catalogue.releases, spec.to_window().start, spec.readings.timezone)
    if learned is None:
        return spec
    parameters = {**spec.parameters, "profile": learned.hourly, "profile_zone": spec.readings.timezone}
    choices = f"{spec.choices}. {learned.in_words()}"
    return spec.model_copy(update={"parameters": parameters, "profile": None, "choices": choices})
