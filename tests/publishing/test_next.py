"""Regular publication: window after window, each once, from its own files and from earlier releases alone."""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import os
import shutil
import signal
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import lake
from tests.codes import has_code

from gridveil import publish, publish_next
from gridveil.model.errors import BudgetError, InputError, UsageError
from gridveil.publishing import next_release
from gridveil.publishing.next_release import Waiting, make_next_spec, run_next
from gridveil.publishing.run import Published, run
from gridveil.publishing.schedule import LOCK, lock_series
from gridveil.publishing.spec import make_spec
from gridveil.release.format.files import LABEL, SUMS, VALUES, digest, load_label
from gridveil.release.query.open import open_release
from gridveil.release.series.catalogue import CATALOGUE, read_catalogue, write_catalogue
from gridveil.release.verify.release import verify
from gridveil.simulate.sources import Tape
from gridveil.trusted.ledger.book import create_ledger, open_ledger
from gridveil.trusted.ledger.population import Population, Read

FIRST, WEEK = date(2013, 3, 18), timedelta(weeks=1)
NAMES = ["2013-03-18", "2013-03-25", "2013-04-01"]
"""Three weeks; the clocks change in the second."""


@pytest.fixture(scope="session")
def three_weeks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "lake"
    lake.write_lake(folder, FIRST, 21)
    return folder


@pytest.fixture
def series(three_weeks: Path, tmp_path: Path) -> dict[str, Any]:
    return lake.settings(three_weeks, tmp_path / "series", FIRST.isoformat())


def published(settings: dict[str, Any], now: str = "2026-01-01", **more: Any) -> Published:
    done = run_next(make_spec(settings), now=datetime.fromisoformat(now).replace(tzinfo=UTC), **more)
    assert isinstance(done, Published)
    return done


def listed(settings: dict[str, Any]) -> list[str]:
    return [release.path for release in read_catalogue(settings["out"]).releases]


def test_three_weeks_in_a_row_each_when_it_is_over(series: dict[str, Any]) -> None:
    out: Path = series["out"]
    for number, name in enumerate(NAMES):
        over = datetime(2013, 3, 24, 23, 59, 59, tzinfo=UTC) + number * WEEK - timedelta(hours=number > 0)
        waiting = run_next(make_spec(series), now=over)
        assert isinstance(waiting, Waiting)
        assert waiting.turn.name == name
        assert f"window {name} ends at 2013-" in str(waiting)
        assert waiting.over.utcoffset() == timedelta(hours=number > 0) or number == 0
        assert run_next(make_spec(series), now=over + timedelta(seconds=1)).path == out / name
        assert listed(series) == NAMES[: number + 1]
    catalogue = read_catalogue(out)
    assert (catalogue.cadence, catalogue.timezone) == ("week", "Europe/London")
    for release in catalogue.releases:
        label = load_label(out / release.path / LABEL)
        assert (release.start, release.end) == (label.window.window().start, label.window.window().end)
        assert release.sha256 == digest(out / release.path / SUMS)
        assert not [check for check in verify(out / release.path) if check.verdict == "FAULT"]
    assert [load_label(out / name / LABEL).window.steps for name in NAMES] == [168, 167, 168]
    assert all(before.end == after.start for before, after in pairwise(catalogue.releases))
    assert {path.name for path in out.iterdir()} == {*NAMES, CATALOGUE, LOCK}


def test_in_python_a_spec_file_says_what_is_not_stated(series: dict[str, Any], tmp_path: Path) -> None:
    """Paths in it are relative to it, and what is stated comes before it."""
    said = {"crs": "local", "extent": "0,0,1,1", "grid": "2x2", "households": "homes.parquet", "no_such": 1}
    spec = tmp_path / "spec.toml"
    spec.write_text("\n".join(f"{name} = {value!r}" for name, value in said.items()))
    with pytest.raises(UsageError, check=has_code("settings-invalid", "no_such")):
        publish_next(spec)
    spec.write_text(spec.read_text().replace("no_such = 1", "cadence = 'week'"))
    stated = {name: value for name, value in series.items() if name not in ("crs", "cadence")}
    done = publish_next(str(spec), **stated)
    assert isinstance(done, Published)
    label = load_label(done.path / LABEL)
    assert label.grid.nx == make_spec(series).to_grid().nx != 2
    assert label.window.steps == 168
    assert repr(done) == f"Published(path={done.path!r}, warnings=())"  # a notebook shows it: no count, no household
    with pytest.raises(InputError, check=has_code("spec-unreadable", "other.toml")):
        publish(tmp_path / "other.toml")


def test_by_the_real_clock_python_publishes_until_it_is_told_to_wait(series: dict[str, Any]) -> None:
    """Files for the fourth week are missing, which is an error and publishes nothing."""
    for name in NAMES:
        done = publish_next(**series)
        assert isinstance(done, Published)
        assert done.path.name == name
    with pytest.raises(InputError, check=has_code("no-file-of-window", "2013/04/08/*.parquet")):
        publish_next(**series)
    assert listed(series) == NAMES
    ahead = datetime.now(UTC).replace(microsecond=0) + timedelta(days=400)
    waiting = publish_next(**{**series, "cadence": "year", "start": f"{ahead.year}-01-01", "out": series["out"] / "y"})
    assert isinstance(waiting, Waiting)


def test_releases_hold_what_their_own_week_holds(series: dict[str, Any], three_weeks: Path) -> None:
    """At an epsilon that adds next to no noise: the readings of the week, whatever files its neighbours have."""
    import pyarrow.parquet as pq

    for name in NAMES[:2]:
        published({**series, "epsilon": "1e6", "acknowledge": True, "bound_step": 20, "bound_window": 3000})
        total = 0.0
        for number in range(7):
            day = date.fromisoformat(name) + timedelta(days=number)
            total += sum(pq.read_table(three_weeks / f"{day:%Y/%m/%d}")["kwh"].to_pylist())
        assert open_release(series["out"] / name).query().value == pytest.approx(total, rel=1e-3)


def test_only_files_of_the_window_and_the_days_beside_it_are_opened(series: dict[str, Any], tmp_path: Path) -> None:
    """All others are garbage that no reader would take; so are the files of weeks that were published before."""
    copy = tmp_path / "lake"
    shutil.copytree(Path(series["households"]["path"]).parent, copy)
    series = lake.settings(copy, tmp_path / "series", FIRST.isoformat(), mechanism="mosaic")
    for name in NAMES[:2]:
        first = date.fromisoformat(name)
        near = {f"{first + timedelta(days=number):%Y/%m/%d}" for number in range(-1, 8)}
        for path in copy.rglob("part-0.parquet"):
            kept = path.with_suffix(".kept")
            if str(path.parent.relative_to(copy)) in near:
                if kept.exists():
                    kept.replace(path)
            elif not kept.exists():
                path.rename(kept)
                path.write_bytes(b"not Parquet")
        assert published(series).path.name == name
    broken = copy / "2013/03/27/part-0.parquet"
    broken.write_bytes(b"not Parquet")
    with pytest.raises(InputError, check=has_code("table-unreadable")):  # one of the window: so garbage is noticed
        run(make_next_spec(make_spec({**series, "start": "2013-03-25", "out": tmp_path / "other"})))


def test_a_day_without_a_file_stops_a_publication(series: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / "lake"
    shutil.copytree(Path(series["households"]["path"]).parent, copy)
    (copy / "2013/03/20/part-0.parquet").unlink()
    with pytest.raises(InputError, check=has_code("day-file-missing", "2013/03/20/*.parquet")):
        published(lake.settings(copy, tmp_path / "series", FIRST.isoformat()))
    assert not (tmp_path / "series" / CATALOGUE).exists()


def test_fields_for_the_day_work_for_one_release_too(series: dict[str, Any]) -> None:
    one = {key: value for key, value in series.items() if key != "cadence"} | {"start": "2013-03-20", "steps": 30}
    assert run(make_spec(one)).report.counted == 30 * lake.HOUSEHOLDS
    record = series["out"].parent / "record.json"
    run(make_spec({**one, "out": series["out"].parent / "again"}), record=record)
    told = record.read_text()
    assert all((f"2013/03/{day}/" in told) == (19 <= day <= 22) for day in range(18, 32))


def test_a_series_and_one_release_are_not_taken_for_each_other(series: dict[str, Any]) -> None:
    with pytest.raises(UsageError, check=has_code("cadence-needs-next")):
        run(make_spec(series))
    with pytest.raises(UsageError, check=has_code("cadence-not-stated")):
        run_next(make_spec({**series, "cadence": None, "steps": 168}))
    assert not series["out"].exists()


def test_mechanisms_that_would_read_earlier_weeks_again_are_refused(series: dict[str, Any]) -> None:
    with pytest.raises(UsageError, check=has_code("mechanism-needs-training", "mosaic")):
        run_next(make_spec({**series, "mechanism": "stpt"}))
    assert not series["out"].exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cadence": "day"}, ("cadence-changed", "week", "day")),
        ({"grid": (2, 2)}, ("series-settings-differ", "4x4", "2x2")),
        ({"extent": (0, 0, 4, 4.5)}, ("series-settings-differ", "0.0,0.0,4.0,4.0", "0.0,0.0,4.0,4.5")),
        ({"crs": "EPSG:27700"}, ("series-settings-differ", "local", "EPSG:27700")),
        ({"step": "30min"}, ("series-settings-differ", "3600 s", "1800 s")),
    ],
)
def test_what_could_not_be_read_as_one_series_is_refused(
    series: dict[str, Any], changes: dict[str, Any], told: tuple[str, ...]
) -> None:
    published(series)
    with pytest.raises(UsageError, check=has_code(*told, "--out")):
        published({**series, **changes})
    assert listed(series) == NAMES[:1]


def test_a_gap_is_filled_and_a_later_start_leaves_one(series: dict[str, Any]) -> None:
    """A later start is the way on where a window cannot be published any more."""
    assert published({**series, "start": NAMES[1]}).path.name == NAMES[1]
    assert published(series).path.name == NAMES[0]
    assert listed(series) == NAMES[:2]
    assert published({**series, "start": NAMES[2]}).path.name == NAMES[2]


def _killed_before(step: str, settings: dict[str, Any]) -> None:
    module, _, name = step.rpartition(".")
    where = importlib.import_module(module) if module else next_release
    setattr(where, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    run_next(make_spec(settings))


def kill_before(step: str, settings: dict[str, Any]) -> None:
    """Run in a process of its own that is killed at a step."""
    process = multiprocessing.get_context("spawn").Process(target=_killed_before, args=(step, settings))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def with_ledger(settings: dict[str, Any], cap: int = 3, unit: str = "household-window") -> dict[str, Any]:
    where = settings["out"].parent / "ledger.db"
    calendar = {"window": "week", "timezone": "Europe/London"} if unit == "household-window" else {}
    create_ledger(str(where)).add_population(Population("town", Fraction(cap), unit, **calendar))
    return {**settings, "ledger": str(where), "no_ledger": False}


def entries(settings: dict[str, Any], kind: str) -> int:
    return sum(entry.kind == kind for entry in open_ledger(settings["ledger"]).entries("town"))


def test_a_release_that_a_killed_run_left_is_listed_and_not_published_again(series: dict[str, Any]) -> None:
    settings = with_ledger(series)
    kill_before("gridveil.publishing.next_checks.write_catalogue", settings)
    assert (series["out"] / NAMES[0]).is_dir()
    assert not (series["out"] / CATALOGUE).exists()
    before = digest(series["out"] / NAMES[0] / SUMS)
    done = published(settings)
    assert done.path.name == NAMES[1]
    assert done.warnings[0].to_record() == {"code": "release-listed-late", "release": NAMES[0]}
    assert listed(settings) == NAMES[:2]
    assert digest(series["out"] / NAMES[0] / SUMS) == before
    assert entries(settings, "debit") == entries(settings, "release") == 2
    ledger = open_ledger(settings["ledger"])
    for name in NAMES[:2]:
        assert not [check for check in verify(series["out"] / name, ledger) if check.verdict == "FAULT"]


def test_a_release_that_is_listed_later_gives_the_series_the_time_of_its_own_day(series: dict[str, Any]) -> None:
    run(make_next_spec(make_spec(series)), today=date(2013, 4, 2))  # as if it had been stopped then
    assert isinstance(run_next(make_spec(series), now=datetime(2013, 3, 26, tzinfo=UTC)), Waiting)
    midnight = datetime(2013, 4, 2, tzinfo=UTC).timestamp()
    for path in (series["out"], series["out"] / CATALOGUE, series["out"] / LOCK, series["out"] / NAMES[0]):
        assert path.stat().st_mtime == midnight


def test_a_folder_whose_time_cannot_be_set_is_refused_first(
    series: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_somebody_else(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    settings = with_ledger(series)
    monkeypatch.setattr(os, "utime", of_somebody_else)
    with pytest.raises(UsageError, check=has_code("times-not-settable")):
        published(settings)
    assert entries(settings, "debit") == 0


def test_what_is_no_whole_release_is_neither_listed_nor_replaced(series: dict[str, Any]) -> None:
    kill_before("gridveil.publishing.next_checks.write_catalogue", series)
    values = series["out"] / NAMES[0] / VALUES
    values.write_bytes(values.read_bytes()[:-1])
    for _ in range(2):
        with pytest.raises(InputError, check=has_code("release-not-whole")):
            published(series)
    assert not (series["out"] / CATALOGUE).exists()
    (series["out"] / NAMES[0]).rename(series["out"].parent / "away")
    assert published(series).path.name == NAMES[0]


def test_a_release_of_another_window_or_without_a_debit_is_not_listed(series: dict[str, Any]) -> None:
    published(series)
    (series["out"] / NAMES[0]).rename(series["out"].parent / "kept")
    shutil.copytree(series["out"].parent / "kept", series["out"] / NAMES[1])
    (series["out"] / CATALOGUE).unlink()
    with pytest.raises(InputError, check=has_code("release-not-whole", "168 steps from 2013-03-18")):
        published({**series, "start": NAMES[1]})
    shutil.rmtree(series["out"] / NAMES[1])
    shutil.copytree(series["out"].parent / "kept", series["out"] / NAMES[0])
    with pytest.raises(InputError, check=has_code("release-not-whole", "no ledger")):
        published(with_ledger(series))


def forget(settings: dict[str, Any], count: int) -> None:
    """Leave only some releases in the catalogue."""
    catalogue = read_catalogue(settings["out"])
    write_catalogue(settings["out"], catalogue.model_copy(update={"releases": catalogue.releases[:count]}))


def forge(release: Path) -> None:
    """Double all values, so that the release still fits itself."""
    import h5py

    with h5py.File(release / VALUES, "r+") as file:
        sums = [name for name in file["gridveil"] if name.startswith("prefix")]
        for data in (file["consumption"], *(file["gridveil"][name] for name in sums)):
            data[...] = 2 * data[...]
    names = [line.split()[1] for line in (release / SUMS).read_text().splitlines()]
    digests = {name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in names}
    (release / SUMS).write_text("".join(f"{known}  {name}\n" for name, known in digests.items()))


def test_a_release_is_listed_only_if_its_files_are_those_that_the_ledger_recorded(series: dict[str, Any]) -> None:
    settings = with_ledger(series)
    for _ in range(2):
        published(settings)
    forget(settings, 1)
    shutil.copytree(series["out"] / NAMES[1], series["out"].parent / "true")
    forge(series["out"] / NAMES[1])
    assert not [check for check in verify(series["out"] / NAMES[1]) if check.verdict == "FAULT"]  # by itself
    for _ in range(2):
        with pytest.raises(InputError, check=has_code("release-not-whole", "other files")):
            published(settings)
    assert listed(settings) == NAMES[:1]
    shutil.rmtree(series["out"] / NAMES[1])
    shutil.copytree(series["out"].parent / "true", series["out"] / NAMES[1])
    assert published(settings).path.name == NAMES[2]
    assert listed(settings) == NAMES
    assert entries(settings, "debit") == entries(settings, "release") == 3


def test_a_release_of_another_ledger_is_not_listed(series: dict[str, Any]) -> None:
    settings = with_ledger(series)
    published(settings)
    (series["out"] / CATALOGUE).unlink()
    Path(settings["ledger"]).parent.joinpath("other").mkdir()
    other = with_ledger({**series, "out": series["out"].parent / "other" / "series"})["ledger"]
    with pytest.raises(InputError, check=has_code("release-not-whole", "has no entry")):
        published({**settings, "ledger": other})
    assert not (series["out"] / CATALOGUE).exists()
    assert entries({"ledger": other}, "release") == 0


def test_a_release_on_another_grid_is_not_listed(series: dict[str, Any]) -> None:
    """Whether it was laid there, or the spec was changed after a run that was killed."""
    published(series)
    one = {key: value for key, value in series.items() if key != "cadence"}
    run(make_spec({**one, "start": NAMES[1], "steps": 167, "grid": (2, 2), "out": series["out"] / NAMES[1]}))
    with pytest.raises(InputError, check=has_code("release-not-whole", "grid")):
        published(series)
    with pytest.raises(UsageError, check=has_code("series-settings-differ")):
        published({**series, "grid": (2, 2)})
    assert listed(series) == NAMES[:1]
    assert open_release(series["out"]).window.steps == 168


def test_nothing_private_comes_of_what_is_not(series: dict[str, Any]) -> None:
    mosaic = {**series, "mechanism": "mosaic"}
    assert not published(mosaic, noise=Tape.record(seed=1)).label.private
    with pytest.raises(InputError, check=has_code("learned-not-private")):
        published(mosaic)
    (series["out"] / CATALOGUE).unlink()
    with pytest.raises(InputError, check=has_code("release-not-whole", "NOT PRIVATE")):
        published(mosaic)
    assert not (series["out"] / CATALOGUE).exists()


def test_nothing_is_learned_from_what_the_catalogue_does_not_know(series: dict[str, Any]) -> None:
    mosaic = {**series, "mechanism": "mosaic"}
    for _ in range(2):
        published(mosaic)
    forge(series["out"] / NAMES[0])
    with pytest.raises(InputError, check=has_code("series-file-changed", NAMES[0], "SHA256SUMS")):
        published(mosaic)
    assert listed(series) == NAMES[:2]


def test_nothing_is_learned_from_values_that_were_changed(series: dict[str, Any]) -> None:
    mosaic = {**series, "mechanism": "mosaic"}
    published(mosaic)
    values = series["out"] / NAMES[0] / VALUES
    values.write_bytes(values.read_bytes()[:-1] + b"!")
    with pytest.raises(InputError, check=has_code("learned-changed", NAMES[0])):
        published(mosaic)
    assert listed(series) == NAMES[:1]


def test_the_lock_is_its_owners_alone(series: dict[str, Any]) -> None:
    """Who can open it can hold it, and nobody could publish."""
    series["out"].mkdir()
    (series["out"] / LOCK).touch(0o644)
    for _ in range(2):
        with lock_series(series["out"]):
            assert (series["out"] / LOCK).stat().st_mode & 0o777 == 0o600
        (series["out"] / LOCK).unlink()


def _at_once(settings: dict[str, Any], gate: Any, told: Any) -> None:
    gate.wait()
    try:
        done = run_next(make_spec(settings), now=datetime(2013, 3, 26, tzinfo=UTC))
    except UsageError as error:
        told.put(str(error))
    else:
        told.put(done.path.name if isinstance(done, Published) else str(done))


def test_runs_at_once_publish_and_debit_a_window_once(series: dict[str, Any]) -> None:
    """Of two, one publishes; the other is told to wait, for it or for the next window. The cap has room for both."""
    settings, some = with_ledger(series, cap=100), multiprocessing.get_context("spawn")
    gate, told = some.Barrier(2), some.Queue()
    processes = [some.Process(target=_at_once, args=(settings, gate, told)) for _ in range(2)]
    for process in processes:
        process.start()
    answers = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert answers.count(NAMES[0]) == 1
    [other] = [answer for answer in answers if answer != NAMES[0]]
    assert "another run is publishing" in other or "Nothing to publish yet" in other
    assert entries(settings, "debit") == 1
    assert listed(settings) == NAMES[:1]


def test_who_holds_the_series_is_waited_for_and_who_is_killed_does_not(series: dict[str, Any]) -> None:
    spec = make_spec(series)
    with lock_series(series["out"]), pytest.raises(UsageError, check=has_code("series-in-use")):
        run_next(spec)
    assert not (series["out"] / CATALOGUE).exists()
    kill_before("run", series)
    assert published(series).path.name == NAMES[0]


def test_a_cap_that_is_reached_ends_a_series_of_households(series: dict[str, Any]) -> None:
    settings = with_ledger(series, cap=7, unit="household")
    published(settings)
    published(settings)
    with pytest.raises(BudgetError, check=has_code("over-cap", "remaining 1 of 7")):
        published(settings)
    assert listed(settings) == NAMES[:2]
    assert entries(settings, "debit") == 2


def test_with_a_calendar_of_its_own_it_goes_on_and_tells_what_membership_loses(series: dict[str, Any]) -> None:
    settings = with_ledger(series)
    spent = [published(settings).label.ledger_entry for _ in NAMES]
    assert [(facts.spent_in_window, facts.spent) for facts in spent if facts] == [("3", "3"), ("3", "6"), ("3", "9")]
    months = {**settings, "cadence": "month", "start": "2013-04-01", "out": series["out"].parent / "months"}
    with pytest.raises(UsageError, check=has_code("calendars-differ", "week")):  # a month crosses the borders of weeks
        published(months)


def test_a_debit_without_a_release_stays_and_a_later_start_goes_on(series: dict[str, Any], monkeypatch: Any) -> None:
    settings = with_ledger(series)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("gridveil.publishing.run.write_release", fail)
        with pytest.raises(UsageError, check=has_code("release-not-written")):
            published(settings)
    assert entries(settings, "debit") == 1
    with pytest.raises(BudgetError, check=has_code("series-over-cap", "remaining 0 of 3")):
        published(settings, again=True)
    assert published({**settings, "start": NAMES[1]}).path.name == NAMES[1]


def test_a_window_that_was_debited_without_a_release_is_tried_again_only_if_told(series: dict[str, Any]) -> None:
    """A timer whose runs fail after the debit would spend the cap, day by day."""
    settings = with_ledger(series, cap=9)
    kill_before("gridveil.publishing.run.write_release", settings)
    [debit] = [entry for entry in open_ledger(settings["ledger"]).entries("town") if entry.kind == "debit"]
    for _ in range(2):
        with pytest.raises(
            BudgetError, check=has_code("window-debited", NAMES[0], "epsilon 3", debit.hash[:12], "--again")
        ):
            published(settings)
    assert entries(settings, "debit") == 1
    assert published(settings, again=True).path.name == NAMES[0]
    assert published(settings).path.name == NAMES[1]  # the old debit is of another window
    assert entries(settings, "debit") == 3


def test_debits_without_releases_are_those_of_the_same_reads(series: dict[str, Any]) -> None:
    settings = with_ledger(series)
    published(settings)
    ledger, window = open_ledger(settings["ledger"]), load_label(series["out"] / NAMES[0] / LABEL).window.window()
    here, before = Read.of("published", window), Read.of("published", replace(window, start=window.start - WEEK))
    assert ledger.list_unreleased(None, [here]) == []
    permit = ledger.permit("town", Fraction(3), [before], {})
    permit.use()
    assert ledger.list_unreleased(None, [here]) == []
    assert ledger.list_unreleased(None, [before]) == ledger.list_unreleased("town", [before]) == [permit.entry]
    with pytest.raises(UsageError, check=has_code("population-unknown", "village")):
        ledger.list_unreleased("village", [here])


def test_mosaic_starts_from_what_earlier_releases_tell(series: dict[str, Any], tmp_path: Path) -> None:
    """By the local clock, though the week that is learned from has an hour less. A stated shape is for the first."""
    shape = tmp_path / "shape.csv"
    shape.write_text("hour,kwh\n" + "".join(f"{hour},{1 + (hour == 3)}\n" for hour in range(24)))
    mosaic = {**series, "mechanism": "mosaic", "epsilon": "300", "acknowledge": True, "profile": shape}
    mosaic |= {"choices": "By committee"}
    first, second, third = (published(mosaic).label for _ in NAMES)
    stated = first.mechanism.parameters["profile"]
    assert [stated[3], sum(stated)] == [2, 50]
    assert first.choices == "By committee"
    for label, names in ((second, NAMES[:1]), (third, NAMES[:2])):
        assert label.mechanism.parameters["profile_zone"] == "Europe/London"
        learned = np.reshape(label.mechanism.parameters["profile"], (2, 24))
        assert learned.min() > 0
        assert np.corrcoef(learned.mean(axis=0), lake.EVENING)[0, 1] > 0.9
        assert label.choices == (
            "By committee. The shape of the day in profile is computed from the released values of "
            f"{', '.join(names)}, earlier releases of this series, and from no readings."
        )
