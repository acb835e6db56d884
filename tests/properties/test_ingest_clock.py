"""Local clocks against Python's own timezones."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import ibis
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from gridveil.model.window import Window
from gridveil.trusted.source.rules import Clock

ODD = ("Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia", "Europe/London", "Europe/Dublin")
zones = st.sampled_from(ODD) | st.sampled_from(sorted(available_timezones()))
starts = st.datetimes(datetime(1850, 1, 1), datetime(2100, 1, 1)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001  # Hypothesis wants naive limits


@given(
    zone=zones,
    start=starts,
    length=st.sampled_from((900, 3600, 86400)),
    steps=st.integers(1, 300),
    parts=st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4),
)
@example("Europe/London", datetime(2013, 3, 30), 3600, 48, [0.52, 0.53, 0.54, 0.56])  # noqa: DTZ001  # made UTC below
@example("Europe/London", datetime(2013, 10, 26), 3600, 48, [0.5, 0.52, 0.53, 0.55])  # noqa: DTZ001  # made UTC below
@example("Australia/Lord_Howe", datetime(2013, 4, 6), 3600, 48, [0.3, 0.31, 0.32, 0.33])  # noqa: DTZ001  # made UTC below
def test_local_times_become_the_instants_that_python_gives_them(
    zone: str, start: datetime, length: int, steps: int, parts: list[float]
) -> None:
    window = Window(start.replace(tzinfo=UTC), timedelta(seconds=length), steps)
    clock, seconds = Clock.of(zone, window), length * steps
    for part in parts:
        local = int(part * seconds)
        shown = start + timedelta(seconds=local)
        instant = int((shown.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) - window.start).total_seconds())
        ours = converted(clock, local)
        inside = 0 <= instant < seconds
        assert (0 <= ours < seconds) == inside
        assert ours == instant or not inside


def converted(clock: Clock, local: int) -> int:
    """Return what `Clock.to_utc` says, read off its table."""
    offset = next((o for until, o in zip(clock.until, clock.offsets, strict=False) if local < until), clock.offsets[-1])
    return local - offset


def test_engine_reads_the_table_the_same_way() -> None:
    con = ibis.duckdb.connect()
    window = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(days=1), 365)
    for zone in (*ODD, "UTC"):
        clock = Clock.of(zone, window)
        local = sorted({t + d for t in (*clock.until, 0, 86400 * 365) for d in (-3600, -1, 0, 1)})
        table = ibis.memtable(pa.table({"local": local}))
        found = con.to_pyarrow(table.select(utc=clock.to_utc(table.local), local=table.local)).to_pylist()
        assert all(row["utc"] == converted(clock, row["local"]) for row in found)
        assert len(found) == len(local)
    con.disconnect()
