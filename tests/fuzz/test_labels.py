"""Labels, specs, areas and profiles with any text in them: read, or refused in words."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.fuzz.oracle import refusal
from tests.release.conftest import make_label

from gridveil.cli.query import list_features, read_geojson
from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.mechanisms.mosaic.time import read_shape
from gridveil.model.errors import GridveilError
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import make_spec, read_spec
from gridveil.release.format.files import dump_label, load_label

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"  # looks for new examples; else they are the same in every run
MANY = settings(max_examples=3000 if LONG else 150, derandomize=not LONG, suppress_health_check=list(HealthCheck))
LABEL = dump_label(make_label())
SPEC = (Path(__file__).parents[2] / "docs" / "input.md").read_text("utf-8").partition("```toml")[2].partition("```")[0]
PROFILE = "hour,kwh\n" + "".join(f"{hour},{1 + hour % 7}\n" for hour in range(24))
GRID = Grid(-0.5, 51.25, -0.1, 51.5, nx=4, ny=3, crs="EPSG:4326")
PLAIN = Grid(0, 0, 4, 3, nx=4, ny=3)

PIECES = [
    "null",
    "true",
    "NaN",
    "-Infinity",
    "\\u0000",
    "\\ud800",
    ",",
    ":",
    "]",
    "}",
    '"":',
    "- ",
    "[",
    "{",
    "'",
    '"',
    "|",
    ">",
    "%",
    "@",
    "\x00",
    "\r",
    "\t",
    "\u2028",
    "1e999",
]
PIECES += [
    "9" * 5000,
    ".nan",
    "inf",
    "nan",
    "-",
    "_",
    "=",
    "[[a]]",
    "''''",
    '"""',
    "1979-13-45",
    "0x",
    "1:1:1",
    "../" * 9,
    "#",
]


def spliced(text: str) -> st.SearchStrategy[str]:
    """Return texts that are one text with pieces cut out and others put in, here and there."""
    cut = st.tuples(st.integers(0, len(text)), st.integers(0, 30), st.sampled_from(PIECES) | st.text(max_size=5))
    return st.lists(cut, min_size=1, max_size=4).map(lambda cuts: _splice(text, cuts))


def _splice(text: str, cuts: list[tuple[int, int, str]]) -> str:
    for place, length, piece in cuts:
        text = text[:place] + piece + text[place + length :]
    return text


def put(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    return path


DETAILS = {
    "same name twice": ('{"a": 1, "a": 1}', "'a' occurs twice"),
    "deep": (32 * '{"a":' + "1" + 32 * "}", "nested more than 32 deep"),
    "many values": ('{"a": [' + 2**19 * "1," + "1]}", "more than 524,288 values"),
    "many lists": ('{"a": [' + 2**19 * "[]," + "1]}", "more than 524,288 values"),
}


@pytest.mark.parametrize("name", DETAILS)
def test_labels_that_would_take_memory_or_mean_two_things_are_refused(tmp_path: Path, name: str) -> None:
    details, why = DETAILS[name]
    assert '"details": {}' in LABEL
    said = refusal(
        lambda: load_label(put(tmp_path / "label.json", LABEL.replace('"details": {}', f'"details": {details}')))
    )
    assert said is not None
    assert why in said


@pytest.mark.parametrize("text", ["[" * 2**22, '{"a":' * 2**20, "[" + "1," * 2**20 + "1]", '"' * 2**21, "9" * 2**22])
def test_labels_that_would_take_minutes_take_none(tmp_path: Path, text: str) -> None:
    assert refusal(lambda: load_label(put(tmp_path / "label.json", text)))


@given(text=spliced(LABEL) | st.text(max_size=50))
@MANY
def test_any_label(tmp_path: Path, text: str) -> None:
    said = refusal(lambda: load_label(put(tmp_path / "label.json", text)))
    assert said is None or "label.json" in said


@given(text=spliced(SPEC) | st.text(max_size=50))
@example("a = " + "[" * 5000)
@example("steps = " + "9" * 5000)
@example('readings = "a\\u0000b"\nhouseholds = ""\nout = ""')
@MANY
def test_any_spec(tmp_path: Path, text: str) -> None:
    def read() -> None:
        spec = make_spec(read_spec(put(tmp_path / "spec.toml", text)))
        spec.to_bound()
        Plan.of(spec)

    refusal(read)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([1e308, 10**400, -0.3]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "geometry", "coordinates"]), inner)
    ),
    max_leaves=12,
)
POINTS = st.tuples(st.floats(-0.7, 0.1), st.floats(51, 52)).map(list) | st.lists(JSON, max_size=3)
SHAPES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["Polygon", "MultiPolygon", "Feature", "FeatureCollection", "Point", None, ["Polygon"]]
        ),
        "coordinates": st.lists(st.lists(POINTS, max_size=6), max_size=3) | JSON,
        "geometry": JSON,
        "features": JSON,
    }
)


@given(shape=SHAPES | JSON)
@MANY
def test_any_area(shape: Any) -> None:
    for grid in (GRID, PLAIN):
        refusal(lambda grid=grid: Area.polygon(grid, shape))  # type: ignore[misc]  # the type of a default is not inferred
        for _, feature in list_features(shape):
            refusal(lambda grid=grid, feature=feature: Area.polygon(grid, feature))  # type: ignore[misc]  # the type of a default is not inferred


@given(text=spliced(PROFILE) | st.text(max_size=50))
@MANY
def test_any_profile(tmp_path: Path, text: str) -> None:
    refusal(lambda: read_shape(put(tmp_path / "profile.csv", text)))


@pytest.mark.parametrize("text", ["[" * 10**6, '{"type":' * 10**5, json.dumps([10**4000]), "\x00", "nan", "9" * 10**5])
def test_any_file_of_areas(tmp_path: Path, text: str) -> None:
    refusal(lambda: Area.polygon(GRID, read_geojson(put(tmp_path / "area.geojson", text))))


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "vast", "missing", "not a name"])
def test_small_files_must_be_ordinary_and_small(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("a\x00b" if kind == "not a name" else "file")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "vast":
        with path.open("wb") as file:
            file.truncate(2**40)
    for read in (read_spec, read_shape, read_geojson, load_label):
        with pytest.raises(GridveilError):
            read(path)
