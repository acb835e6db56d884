"""Whatever one household's rows hold, they add its own bounded contribution in one pillar, and change nothing else."""

import math
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.source.ingest import IngestedSource, ingest

EXAMPLES = settings.default.max_examples // 8 if settings.default else 12
GRID = Grid(0, 0, 2, 2, nx=2, ny=2)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 3)
BOUND = Bound(step=2_000, window=3_000)
EDGES = np.array([0, 1, 2_500])
OTHERS = ("home-1", "home-2", "home-3")

# Lines that begin with the household's id, and lines of any bytes; none can name another household.
times = (b"2013-02-04 01:00", b"2013-02-04T01:30:00Z", b"infinity", b"now", b"2013-02-30", b"290000-01-01")
values = (b"1.5", b"1e400", b"nan", b"-1", b"1e300", b"", b" ", b"'", b'"', b'"1', b'1"', b'""')
others = (b"\r", b"\0", b"\xff", b"\xc3", "\ufffd".encode(), b"x" * 1_100_000)
fields = st.sampled_from((*times, *values, *others))
lines = st.lists(fields, min_size=1, max_size=5).map(lambda some: b",".join([b"poison", *some]))
garbage = st.binary(max_size=40).map(lambda some: some.replace(b"\n", b"\r").replace(b"home", b"HOME"))
monstrous = [f"poison,2013-02-04 0{hour}:30,1e300".encode() for hour in range(3)]  # over both bounds
poison_lines = st.builds(
    lambda odd, more: odd + more,
    st.lists(lines | garbage | st.just(b"poison,2013-02-04 01:00,1.5"), min_size=2, max_size=8),
    st.sampled_from(([], monstrous)),
)
places = st.sampled_from((b"poison,0.5,1.5", b"poison,0.5,1.5", b"poison,1.5,1.5", b"poison,2,0", b"poison,nan,0"))


LABELS = np.random.default_rng(0).integers(-1, 5, (2, 2, 3))


class NoNoise:
    """True answers, to see how far they move."""

    def add(self, values: Any, scales: Any) -> Any:
        del scales
        return values


def kernel_answers(source: IngestedSource) -> tuple[NDArray[np.float64], float]:
    """What the kernel would answer to several questions, each in units of its noise scale, and what they cost."""
    kernel = Kernel(source, WINDOW, budget=PureDP(10), bound=BOUND, noise=NoNoise())
    asked = (
        kernel.session().sums(LABELS, 1.0, relative=[1, 2, 3, 4, 5]),
        kernel.session().sums(np.arange(3), 0.5),
        kernel.session().sums(np.arange(4).reshape(2, 2, 1), 0.7, bound=Bound(500, 900)),
        kernel.session().sums(LABELS, 0.3, sequential=True),
        kernel.session().household_totals(EDGES, 0.25),
    )
    return np.concatenate([answer.values / answer.scales for answer in asked]), kernel.spent


def answers(folder: Path, suffix: str) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[Any, float]]:
    tables = ReadingsTable(str(folder / f"r{suffix}")), HouseholdsTable(str(folder / f"h{suffix}"))
    source, _ = ingest(*tables, GRID, WINDOW)
    counts = source.count_totals(WINDOW, BOUND.step, EDGES)
    return source.bounded_cube(WINDOW, BOUND), counts, kernel_answers(source)


def check(alone: Any, without: Any, together: Any) -> None:
    np.testing.assert_array_equal(together[0], without[0] + alone[0])
    np.testing.assert_array_equal(together[1], without[1] + alone[1])
    assert (alone[0].any(axis=2)).sum() <= 1
    assert alone[0].min() >= 0
    assert alone[0].max() <= BOUND.step
    assert alone[0].sum() <= BOUND.window
    assert alone[1].sum() <= 1
    (before, _), (after, spent) = without[2], together[2]
    assert np.abs(after - before).sum() <= spent


MONSTROUS = {"poison": monstrous, "homes": [b"poison,0.5,1.5"], "seed": None}
IN_ONE_STEP = {**MONSTROUS, "poison": monstrous[:1]}
IN_TWO_CELLS = {**MONSTROUS, "homes": [b"poison,0.5,1.5", b"poison,1.5,1.5"]}


@settings(max_examples=EXAMPLES)
@given(poison=poison_lines, homes=st.lists(places | garbage, max_size=3), seed=st.randoms(use_true_random=False))
@example(poison=[b"poison,\xff"], homes=[], seed=None)
@example(**MONSTROUS)
@example(**IN_ONE_STEP)
@example(**IN_TWO_CELLS)
def test_any_line_of_a_csv_file(tmp_path_factory: Any, poison: list[bytes], homes: list[bytes], seed: Any) -> None:
    folder = tmp_path_factory.mktemp("csv")
    good = [f"{h},2013-02-04 0{hour}:15,{1 + hour / 8}".encode() for h in OTHERS for hour in range(3)]
    good.append("home-3,2013-02-04 00:45,\ufffd".encode())  # unreadable with or without the others
    known = [b"home-1,0.5,0.5", b"home-2,1.5,0.5", b"home-3,0.5,1.5"]

    def mix(kept: list[bytes], added: list[bytes]) -> list[bytes]:
        together = [*kept, *added]
        if seed is not None:
            seed.shuffle(together)
        return together

    def ask(readings: list[bytes], households: list[bytes]) -> Any:
        (folder / "r.csv").write_bytes(b"\n".join([b"household,timestamp,kwh", *readings]) + b"\n")
        (folder / "h.csv").write_bytes(b"\n".join([b"household,x,y", *households]) + b"\n")
        return answers(folder, ".csv")

    check(ask(poison, homes), ask(good, known), ask(mix(good, poison), mix(known, homes)))


ODD_NUMBERS = (None, math.nan, math.inf, -math.inf, -1.0, 1e300, -1e300, 5e-324, 1.5, 1.9)
ODD_TEXTS = (None, "", "1.5", " 1.5 ", "1e400", "nan", "1_000", "inf", "\0", "1,5")
IN_WINDOW = 1_359_936_000_000_000 + 5_000_000_000
EXTREMES = (0, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 2**62, -(2**62))
instants = st.sampled_from(
    (
        *EXTREMES,
        IN_WINDOW,
        IN_WINDOW + 3_600_000_000,
        IN_WINDOW - 3_600_000_000,
        IN_WINDOW * 1000,
        IN_WINDOW * 1000 + 999,
    )
)
texts = st.sampled_from(
    ("2013-02-04 01:00", "2013-02-04T02:00+01:00", "epoch", "infinity", "today", "2013-02-30", None)
)
days = st.sampled_from((0, 15_740, 15_740, 2**31 - 1, -(2**31), -(2**31) + 1, 2**30, -(2**30)))
KINDS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType, pa.DataType]] = {
    "us": (instants, pa.int64(), pa.timestamp("us")),
    "us, UTC": (instants, pa.int64(), pa.timestamp("us", "UTC")),
    "ns": (instants, pa.int64(), pa.timestamp("ns")),
    "ns, UTC": (instants, pa.int64(), pa.timestamp("ns", "UTC")),
    "days": (days, pa.int32(), pa.date32()),
    "text": (texts | st.text(string.printable, max_size=25), pa.string(), pa.string()),
}
NORMAL = {"us": 1_359_940_500_000_000, "ns": 1_359_940_500_000_000_000, "days": 15_740, "text": "2013-02-04 01:15"}


@settings(max_examples=EXAMPLES)
@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)), text=st.booleans())
def test_any_row_of_typed_columns(tmp_path_factory: Any, data: st.DataObject, kind: str, text: bool) -> None:  # noqa: FBT001  # Hypothesis passes names
    folder = tmp_path_factory.mktemp("parquet")
    values, raw, timestamp = KINDS[kind]
    energy = pa.string() if text else pa.float64()
    energies = st.sampled_from(ODD_TEXTS) | st.text(max_size=9) if text else st.sampled_from(ODD_NUMBERS) | st.floats()
    rows = st.tuples(st.sampled_from(("poison", "poison", "", None)), st.none() | values, energies)
    poison = data.draw(st.lists(rows, min_size=3, max_size=12))
    spots = st.sampled_from(ODD_NUMBERS)
    at = st.tuples(st.sampled_from(("poison", None)), spots, st.sampled_from((0.5, None, math.nan)))
    homes = [*data.draw(st.lists(at, max_size=2)), *data.draw(st.sampled_from(([], [("poison", 0.5, 0.5)])))]
    usual = NORMAL[kind.partition(",")[0]]
    good = [
        (household, usual, str(kwh) if text else kwh) for household, kwh in zip(OTHERS, (1.25, 0.5, 3.0), strict=True)
    ]
    known = [("home-1", 0.5, 0.5), ("home-2", 1.5, 0.5), ("home-3", 0.5, 1.5)]

    def ask(readings: list[Any], households: list[Any]) -> Any:
        moments = pa.array([row[1] for row in readings], raw)
        columns = {
            "household": pa.array([row[0] for row in readings], pa.string()),
            "timestamp": moments.cast(timestamp) if raw != timestamp else moments,
            "kwh": pa.array([row[2] for row in readings], energy),
        }
        pq.write_table(pa.table(columns), folder / "r.parquet")
        names = ("household", pa.string()), ("x", pa.float64()), ("y", pa.float64())
        places = {name: pa.array([home[i] for home in households], kind) for i, (name, kind) in enumerate(names)}
        pq.write_table(pa.table(places), folder / "h.parquet")
        return answers(folder, ".parquet")

    check(ask(poison, homes), ask(good, known), ask([*poison, *good], [*homes, *known]))
