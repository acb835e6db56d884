"""`gridveil query` of an area: coordinates, or a GeoJSON file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.release.conftest import GRID

import gridveil
from gridveil.geography.area import Area

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
TRIANGLE = {"type": "Polygon", "coordinates": [[[-0.45, 51.27], [-0.13, 51.3], [-0.3, 51.49], [-0.45, 51.27]]]}


def ask(release: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [GRIDVEIL, "query", str(release), *words]
    return subprocess.run(command, cwd=release.parent, capture_output=True, text=True, check=False)


def test_coordinates(publish: Callable[..., Path]) -> None:
    path = publish()
    # Columns 2 and 3 and half of 4, all rows: a cell is 0.05 x 0.05.
    done = ask(path, "--bbox", "-0.4,51,-0.275,52", "--time", "0:24")
    expected = gridveil.open(path).query(area=Area.rectangle(GRID, -0.4, 51, -0.275, 52), time=(0, 24))
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()[:3]
    assert first == f"{expected.value:,.1f} kWh"
    assert f"{expected.low:,.1f} to {expected.high:,.1f}" in second
    assert third == "12.50 cells, 31.25 % of the map"


def test_a_file_of_polygons(publish: Callable[..., Path], tmp_path: Path) -> None:
    path = publish()
    feature = {"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": TRIANGLE}]}
    (tmp_path / "feeder.geojson").write_text(json.dumps(feature), encoding="utf-8-sig")  # as Windows saves it
    done = ask(path, "--area", "feeder.geojson", "--json")
    assert done.returncode == 0, done.stderr
    found, expected = json.loads(done.stdout), gridveil.open(path).query(area=TRIANGLE)
    assert found["value"] == pytest.approx(expected.value)
    assert found["high"] == pytest.approx(expected.high)
    # Half of base times height, by hand: cross product of two sides.
    size = abs(0.32 * 0.22 - 0.15 * 0.03) / 2
    assert found["area"]["cells"] == pytest.approx(size / 0.05**2)
    assert found["area"]["share"] == pytest.approx(size / 0.05**2 / 40)


def test_mistakes_are_explained(publish: Callable[..., Path], tmp_path: Path) -> None:
    path = publish()
    (tmp_path / "point.geojson").write_text('{"type": "Point", "coordinates": [0, 51]}')
    (tmp_path / "broken.geojson").write_text('{"type": ' + "[" * 100_000)
    for words, code, message in (
        (("--bbox", "1,2,3"), 2, "[bbox-syntax]"),
        (("--bbox", "nan,51,0,52"), 2, "[limit-not-finite]"),
        (("--bbox", "5,51,6,52"), 2, "[area-outside-map]"),
        (("--bbox", "-0.4,51,0,52", "--x", "0:2"), 2, "[area-and-range]"),
        (("--bbox", "-0.4,51,0,52", "--area", "point.geojson"), 2, "[area-given-twice]"),
        (("--area", "point.geojson"), 2, "[polygon-syntax]"),
        (("--area", "broken.geojson"), 3, "[geojson-unreadable]"),
        (("--area", "nowhere.geojson"), 3, "nowhere.geojson"),
    ):
        done = ask(path, *words)
        assert done.returncode == code, (words, done)
        assert message in done.stderr, words
        assert "Traceback" not in done.stderr
