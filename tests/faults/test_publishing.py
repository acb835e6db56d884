"""Faults between the source and the release: something that is published comes from the data, past the noise.

Nothing here is left to chance: the same noisy answers are played to a town and to its neighbours, and all that is
published must be the same: bytes, modes and times.
"""

import inspect
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.faults.planting import check_objects, mistake
from tests.leak import test_leak as leak
from tests.leak import test_series as series_leak
from tests.leak import town

from gridveil.mechanisms.stpt import mechanism as stpt
from gridveil.mechanisms.stpt import series
from gridveil.model import files as folder
from gridveil.publishing import next_checks as next_recovery
from gridveil.publishing import next_release
from gridveil.publishing import run as publication
from gridveil.publishing import run as statement
from gridveil.trusted.kernel.kernel import Kernel

pytestmark = pytest.mark.usefixtures("read_once")
Guard = Callable[[], None]
HOUSEHOLDS = "int(self._source.count_totals(self._window, 1, np.array([0]))[0])"
TITLE = 'f"{spec.title}, {kernel._source.bounded_cube(plan.window, spec.to_bound()).sum()} Wh"'
NOISY = "self._noise.add(exact[some].copy(), question.scales[some])"


NEIGHBOURS = ("gone", "new")


@pytest.fixture
def guard(tables: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The guard of a mechanism, with as many neighbours as show these faults."""
    monkeypatch.setattr(town, "CHANGES", {what: town.CHANGES[what] for what in NEIGHBOURS})

    def of(mechanism: str) -> Guard:
        return lambda: leak.test_neighbours_with_the_same_noisy_answers_publish_the_same_bytes(
            mechanism, "given", tables, tmp_path_factory.mktemp("published")
        )

    return of


@pytest.fixture
def series_guard(guard: Any, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Guard:
    """The guard of a series, with the same neighbours."""
    del guard  # it chose them

    def check() -> None:
        with pytest.MonkeyPatch.context() as patched:
            series_leak.test_neighbours_with_the_same_noisy_answers_publish_the_same_series(
                tables, tmp_path_factory.mktemp("published"), patched
            )

    return check


def test_the_guard_is_silent_on_the_code_as_it_is(guard: Any, series_guard: Guard) -> None:
    guard("identity")()
    guard("stpt")()
    series_guard()


def test_a_mean_by_the_true_number_of_households(guard: Any) -> None:
    """Of noisy sums, and of the noise itself: the sensitivity of a mean, by a number that nobody paid for."""
    check_objects(
        guard("identity"),
        mistake(Kernel, "_ask", "self._answer(question)", f"self._answer(question) // {HOUSEHOLDS}"),
        mistake(Kernel, "_answer", NOISY, f"{NOISY[:-1]} / {HOUSEHOLDS})"),
    )


def test_quiet_cells_without_noise(guard: Any) -> None:
    """As a query has it that groups by cell and adds noise to the rows that it finds."""
    check_objects(guard("identity"), mistake(Kernel, "_answer", NOISY, f"np.where(exact[some] == 0, 0, {NOISY})"))


def test_a_bound_taken_from_the_data(guard: Any) -> None:
    """The largest reading, as the paper's own code has it."""
    bounds = "self._window, self._bound, self._budget = window, bound, budget"
    asked = "next(source.engine.fetch_batches(source.table.agg(wh=source.table.wh.max()))).to_pylist()[0]['wh']"
    largest = f"Bound(min(bound.step, {asked}), bound.window)"
    check_objects(guard("identity"), mistake(Kernel, "__init__", bounds, bounds.replace(", bound,", f", {largest},")))


def test_a_field_of_the_label_from_the_data(guard: Any) -> None:
    check_objects(guard("identity"), mistake(statement, "make_label", "spec.title", TITLE, also=(publication,)))


def test_a_time_of_a_file_from_the_data(guard: Any) -> None:
    """The exact number of rows as a time; and the end of the run, where folders are forgotten."""
    done, rows = "_forget(source)", "(report.readings, report.readings)"
    not_folders = "(path for path in paths if not path.is_dir())"
    check_objects(
        guard("identity"),
        mistake(publication, "run", done, f"(os.utime(out / 'label.json', {rows}), {done})[1]", also=(leak,)),
        mistake(folder, "set_times", "paths", not_folders),
    )


def shows_access(folder: Path) -> bool:
    """Whether reading a file changes its time of access here: some disks are mounted without."""
    probe = folder / "probe"
    probe.touch()
    os.utime(probe, (0, 0))
    probe.read_bytes()
    return probe.stat().st_atime_ns != 0


def test_a_catalogue_from_the_data(series_guard: Guard, tmp_path: Path) -> None:
    """One blank if the number of households is odd; and the end of the run, where times of the series are forgotten.

    Those of access, too: the digest of a release is taken after its times were set.
    """
    title = 'catalogue.model_copy(update={"title": catalogue.title + " " * (published.report.households % 2)})'
    lists = "list_release({}, folder, turn, published.label.published)"
    kept = "set_times(published, *release.iterdir(), release, folder / CATALOGUE, folder / LOCK, folder)"
    forgotten = partial(mistake, next_recovery, "list_release", kept, also=(next_release,))
    check_objects(
        series_guard,
        mistake(next_release, "run_next", lists.format("catalogue"), lists.format(title), also=(series_leak,)),
        forgotten(kept.replace(", folder)", ")")),
    )
    if shows_access(tmp_path):
        check_objects(series_guard, forgotten(kept.replace("*release.iterdir(), ", "")))


def fed_raw(patched: pytest.MonkeyPatch) -> None:
    """The fault of a network that is fed the true series of the map.

    A mechanism has a way to them through Python's cellar only: no slip gets there.
    """

    def raw(measure: Any, part: Any, train_steps: int) -> Any:
        kernel = inspect.getclosurevars(measure._ask).nonlocals["self"]
        bound = kernel._bound.prorate(measure.window.steps, train_steps)
        cube = kernel._source.bounded_cube(measure.window.before(train_steps), bound)
        return cube.sum(axis=(0, 1))[part.start : part.end].reshape(-1, 1, 1)

    patched.setattr(series, "raw", raw, raising=False)
    fed = "Series(part, {}, float(noisy.scales[first]))"
    root = fed.format("sums if part.level.depth else raw(measure, part, train_steps)")
    mistake(series, "measure_series", fed.format("sums"), root, also=(stpt,))(patched)


def test_a_raw_window_fed_to_the_network(guard: Any) -> None:
    check_objects(guard("stpt"), fed_raw)
