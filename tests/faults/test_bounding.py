"""Faults of reading and bounding: a household that counts for more than its bound, or changes what others count for.

Nothing here is left to chance: examples that the guard always tries show each of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.faults.planting import always_tried, check_caught, check_objects, mistake
from tests.properties import test_ingest_neighbours as neighbours
from tests.trusted.engines import test_engine_spark_kept
from tests.trusted.source import parted, test_interruptions, test_slices

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.scratch import Scratch
from gridveil.trusted.engines.duckdb import engine as duckdb_engine
from gridveil.trusted.engines.duckdb import parquet_table as slices
from gridveil.trusted.engines.duckdb import tables
from gridveil.trusted.engines.spark.engine import SparkEngine
from gridveil.trusted.source import ingest as ingest_module
from gridveil.trusted.source import parts as checkpoints
from gridveil.trusted.source import rules
from gridveil.trusted.source.ingest import IngestedSource

Guard = Callable[[dict[str, Any]], Callable[[], None]]
CAP, OVER = "ibis.least(rows.wh, step_bound)", "of.total > bound.window"


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Guard:
    """The guard on one of its examples, which has been silent on the code as it is."""
    of_example = partial(always_tried, neighbours.test_any_line_of_a_csv_file)
    for example in (neighbours.MONSTROUS, neighbours.IN_ONE_STEP, neighbours.IN_TWO_CELLS):
        of_example(example, tmp_path_factory)()
    return lambda example: of_example(example, tmp_path_factory)


def test_an_unbounded_household(guard: Guard) -> None:
    no_cap = mistake(IngestedSource, "_clip_steps", CAP, "rows.wh")
    no_window = mistake(IngestedSource, "bounded_cube", OVER, "of.total > 10**18")
    check_objects(guard(neighbours.IN_ONE_STEP), no_cap)
    check_objects(guard(neighbours.MONSTROUS), no_window)


def test_a_household_in_two_cells(guard: Guard) -> None:
    """Both of its places are kept, and its whole series is in both cells."""
    places = mistake(
        rules,
        "locate_households",
        'named.group_by("household")',
        'named.group_by("household", "x", "y")',
        also=(ingest_module,),
    )
    check_objects(guard(neighbours.IN_TWO_CELLS), places)


def test_a_clip_taken_from_the_data(guard: Guard) -> None:
    """The mean of the readings: what one household uses decides on how much of the others' counts."""
    mean = mistake(IngestedSource, "_clip_steps", CAP, 'ibis.least(rows.wh, rows.wh.mean().over().cast("int64"))')
    check_objects(guard(neighbours.MONSTROUS), mean)


def test_quiet_cells_dropped(guard: Guard) -> None:
    """Cells of little use are left out: a household that moves in brings the others' use back."""
    groups = 'of.group_by("cell", "step")'
    quiet = mistake(IngestedSource, "bounded_cube", groups, f"{groups}.having(wh.sum() > 1500)")
    check_objects(guard(neighbours.MONSTROUS), quiet)


def test_a_reading_that_stops_a_publication(guard: Guard) -> None:
    """Whether it fails is seen by everybody: a reading that no integer holds must not decide on that."""
    cap = "ibis.greatest(ibis.least(of.wh, float(LARGEST_READING)), 0.0)"
    uncapped = mistake(rules, "classify_readings", cap, "of.wh", also=(ingest_module,))
    check_objects(guard(neighbours.MONSTROUS), uncapped, by=InputError)


def test_results_of_parts_kept_under_the_names_of_settings_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What an interrupted run kept goes by numbers that other households have by now."""

    def guard() -> None:
        test_interruptions.test_a_household_is_one_though_its_number_changed_meanwhile(tmp_path_factory.mktemp("kept"))

    stale = mistake(checkpoints, "make_run_key", "_hash_numbers(engine, numbers)", "None", also=(ingest_module,))
    check_caught(guard, stale)


def test_counts_that_outlive_their_part(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A part that was lost is computed anew, but what was counted in the old one is believed."""
    whole = parted.write(tmp_path_factory.mktemp("whole"), [parted.ROWS])
    expected = parted.told(*ingest_module.ingest(*whole, parted.GRID, parted.WINDOW))

    def guard() -> None:
        test_interruptions.test_what_was_counted_goes_with_its_part(expected, tmp_path_factory.mktemp("counted"))

    counts = 'self.file(f"{key}{COUNTS_SUFFIX}")'
    check_caught(guard, mistake(Scratch, "forget_counts", f"{counts}.unlink(missing_ok=True)", counts))


def test_a_household_in_two_slices(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Slices of a file are not summed together: a household in two of them is bounded in each by itself."""

    def guard() -> None:
        with pytest.MonkeyPatch.context() as patched:
            test_slices.cut_everywhere(patched)
            tried = {"ids": test_slices.STRANGE, "rows": 1, "coded": True}
            always_tried(test_slices.test_every_row_and_every_household_is_in_one_slice, tried, tmp_path_factory)()

    ends = ('f"{name} >= {start} AND {name} < {end}"', 'f"{name} < {values[0]}"')
    check_caught(
        guard,
        *(mistake(slices, "plan_slices", end, end.replace(" < ", " <= "), also=(tables, test_slices)) for end in ends),
    )


def test_files_taken_for_slices(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two files may have the same household in one step: as if they were slices, it is bounded in each by itself."""
    whole = parted.write(tmp_path_factory.mktemp("whole"), [parted.ROWS])
    expected = parted.told(*ingest_module.ingest(*whole, parted.GRID, parted.WINDOW))

    def guard() -> None:
        with pytest.MonkeyPatch.context() as patched:
            test_slices.cut_everywhere(patched)
            test_slices.test_a_household_in_slices_of_two_files_is_one(expected, tmp_path_factory.mktemp("files"))

    check_caught(guard, mistake(tables, "_open_files", "tuple(group for group, _ in flat)", "tuple(0 for _ in flat)"))


def test_slices_of_files_that_are_read_as_a_whole(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Times in milliseconds are read through Arrow: as slices, each would have all rows."""
    whole = parted.write(tmp_path_factory.mktemp("whole"), [parted.ROWS])
    expected = parted.told(*ingest_module.ingest(*whole, parted.GRID, parted.WINDOW))

    def guard() -> None:
        with pytest.MonkeyPatch.context() as patched:
            test_slices.cut_everywhere(patched)
            test_slices.test_times_in_milliseconds_are_read_as_a_whole(expected, tmp_path_factory.mktemp("files"))

    cut = "_slice_files(con, group, at, table, limits)"
    whole_or_not = f"[FilePart(group)] if has_milliseconds(types) else {cut}"
    check_caught(guard, mistake(tables, "open_table", whole_or_not, cut, also=(duckdb_engine,)))


def test_what_spark_lost_computed_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Contributions of a rewritten table are bounded by the total of the old one."""

    def guard() -> None:
        folder = tmp_path_factory.mktemp("lost")
        read = test_engine_spark_kept.reader(folder)
        test_engine_spark_kept.test_engine_spark_a_lost_worker_and_a_rewritten_table_are_refused(folder, read)

    check_caught(guard, mistake(SparkEngine, "keep", "rows.localCheckpoint()", "pass"), by=pytest.fail.Exception)
