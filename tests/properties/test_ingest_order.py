"""The same integers for any order of rows, files and row groups, and any number of threads."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source import ingest as module

EXAMPLES = settings.default.max_examples // 12 if settings.default else 8
GRID = Grid(0, 0, 4, 4, nx=4, ny=4)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 6)
BOUND = Bound(step=3_000, window=9_000)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), group=st.sampled_from((7, 100, 10_000)), files=st.integers(1, 4))
def test_order_chunks_and_threads_change_nothing(
    tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch, seed: int, group: int, files: int
) -> None:
    random = np.random.default_rng(seed)
    households = [f"home-{i}" for i in range(12)]
    homes = pa.table({"household": households, "x": random.uniform(-1, 5, 12), "y": random.uniform(0, 4, 12)})
    count = 400
    readings = pa.table(
        {
            "household": random.choice([*households, "unknown"], count),
            "timestamp": pa.array(1_359_936_000 + 900 * random.integers(-2, 26, count), pa.timestamp("s")),
            "kwh": np.where(random.random(count) < 0.1, np.nan, random.gamma(1, 1, count)),
        }
    )

    def ask(threads: int, parts: list[pa.Table], places: pa.Table) -> Any:
        folder = tmp_path_factory.mktemp("tables")
        for i, part in enumerate(parts):
            pq.write_table(part, folder / f"r{i}.parquet", row_group_size=group)
        pq.write_table(places, folder / "h.parquet", row_group_size=group)
        connect = module.connect
        with monkeypatch.context() as patch:
            patch.setattr(module, "connect", lambda settings: limited(connect(settings), threads))
            source, report = module.ingest(
                ReadingsTable(str(folder / "r*.parquet")), HouseholdsTable(str(folder / "h.parquet")), GRID, WINDOW
            )
        counts = source.count_totals(WINDOW, BOUND.step, np.array([0, 1000, 5000]))
        return source.bounded_cube(WINDOW, BOUND).tolist(), counts.tolist(), report

    order = random.permutation(count)
    cuts = [readings.take(part) for part in np.array_split(order, files)]
    plain = ask(1, [readings], homes)
    assert np.any(plain[0])
    assert ask(2, cuts, homes.take(random.permutation(12))) == plain


def limited(engine: Any, threads: int) -> Any:
    engine.con.raw_sql(f"SET threads = {threads}")
    engine.con.raw_sql(f"SET preserve_insertion_order = {threads == 1}")
    return engine
