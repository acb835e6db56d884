"""The authors' pickle: never opened; the way to convert it works."""

import ast
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.convert.convert import SNIPPET, convert
from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest


class Trap:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


def test_nothing_in_a_pickle_runs(tmp_path: Path) -> None:
    path, mark = tmp_path / "data.pkl", tmp_path / "mark"
    path.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(InputError, check=has_code("pickle-refused")) as error:
        convert("pickle", [path], tmp_path / "out")
    assert SNIPPET in str(error.value)
    with pytest.raises(InputError, check=has_code("line-unexpected", "line 1")):
        convert("lcl", [path], tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [path]
    pickle.loads(path.read_bytes())  # noqa: S301  # our own: the trap would have sprung
    assert mark.exists()


def test_the_three_lines_convert_what_the_authors_code_reads(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    make = """
import pandas as pd
hours = [[0.5, 1.0, 1.5], [2.0, None, 2.5]]
pd.DataFrame({"id": ["a", "b"], "visits_by_hour": hours}, index=[7, 7]).to_pickle("IN.pkl")
"""
    assert len(SNIPPET.splitlines()) == 3
    shown = (Path(__file__).parents[2] / "docs" / "loaders.md").read_text().split("```python\n")[1].split("```")[0]
    assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(SNIPPET))  # the formatter breaks its lines
    subprocess.run([sys.executable, "-W", "error", "-c", make + SNIPPET], cwd=tmp_path, check=True)
    readings = tmp_path / "readings.parquet"
    assert set(pq.read_schema(readings).names) == {"household", "timestamp", "kwh"}
    homes = tmp_path / "households.csv"
    homes.write_text("household,x,y\n0,0.5,0.5\n1,1.5,0.5\n")
    window = Window(datetime(2018, 1, 1, tzinfo=UTC), timedelta(hours=1), 3)
    source, report = ingest(ReadingsTable(str(readings)), HouseholdsTable(str(homes)), Grid(0, 0, 2, 1, 2, 1), window)
    cube = source.bounded_cube(window, Bound(10**6, 10**9))
    np.testing.assert_array_equal(cube[:, 0], [[500, 1000, 1500], [2000, 0, 2500]])
    assert (report.readings, report.counted) == (6, 5)
