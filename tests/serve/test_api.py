"""Every address of the API against sums of the published values and answers of the Python API."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from fastapi.testclient import TestClient
from pyproj import Geod

from gridveil.geography.area import Area
from gridveil.release.query.open import Release

PARTS = ("value", "standard_error", "low", "high")
TRIANGLE = {"type": "Polygon", "coordinates": [[[-0.45, 51.26], [-0.15, 51.3], [-0.3, 51.45], [-0.45, 51.26]]]}


def get(client: TestClient, where: str, **asked: object) -> Any:
    response = client.get(f"/api/releases/{where}", params=asked)
    assert response.status_code == 200, response.text
    return response.json()


def post(client: TestClient, where: str, body: object) -> Any:
    response = client.post(f"/api/releases/{where}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def same(told: dict[str, Any], ranges: list[list[int]], release: Release, decimals: float = 1e-9) -> None:
    """Check what was told against sums of the published values, and error bars of the Python API."""
    cube = release.values().astype(float)
    sums = [cube[t0:t1, y0:y1, x0:x1].sum() for x0, x1, y0, y1, t0, t1 in ranges]
    np.testing.assert_allclose(np.ravel(told["value"]), sums, rtol=1e-6, atol=1e-4)
    answers = release.answers_of(ranges)
    for part in PARTS:
        np.testing.assert_allclose(np.ravel(told[part]), getattr(answers, part), rtol=decimals, atol=decimals)


def test_releases_are_listed_with_size_and_privacy(client: TestClient) -> None:
    listed = get(client, "")["releases"]
    assert listed[0] == {
        "id": "town",
        "title": "Consumption of a town",
        "publisher": "Example Grid",
        "published": "2026-11-15",
        "private": True,
        "epsilon": 1.0,
        "nx": 8,
        "ny": 5,
        "steps": 30,
        "start": "2013-02-04T00:00:00Z",
        "step_seconds": 3600,
    }
    assert listed[1]["private"] is False
    assert listed[1]["title"].startswith("NOT PRIVATE")


def test_a_release_says_everything_but_its_values(client: TestClient, town: Release) -> None:
    told = get(client, "town")
    assert told["axes"]["x"] == {"start": -0.5, "end": -0.1, "size": 8, "unit": "degree"}
    assert told["axes"]["time"]["end"] == "2013-02-05T06:00:00Z"
    assert told["lonlat"] == [[[-0.5, 51.25], [-0.1, 51.25]], [[-0.5, 51.5], [-0.1, 51.5]]]
    _, _, width = Geod(ellps="WGS84").inv(-0.325, 51.375, -0.275, 51.375)
    assert told["cell_metres"] == pytest.approx([width, 5562], rel=1e-3)
    same(told["total"], [[0, 8, 0, 5, 0, 30]], town)
    values = town.values()
    busiest = np.argsort(-values.sum(axis=(1, 2)))[:4]
    assert told["scale"]["most"] == pytest.approx(values[busiest].max())
    assert told["scale"]["top"] == pytest.approx(np.quantile(values[busiest], 0.995))
    assert told["label"]["privacy"]["epsilon"] == 1
    assert told["privacy"]["promise"].startswith("Whatever someone does")
    assert told["privacy"]["warnings"] == []
    assert "noise" in told["error_bars"]
    assert told["cite"].startswith("Example Grid (2026): Consumption of a town.")
    assert [section["heading"] for section in told["label_in_words"]][1] == "Privacy"
    assert {file["format"] for file in told["downloads"]} >= {"netcdf", "label", "csv"}


def test_a_release_that_is_not_private_promises_nothing_and_has_no_place_on_earth(client: TestClient) -> None:
    told = get(client, "spring")
    assert told["lonlat"] is None
    assert told["cell_metres"] is None
    assert told["privacy"]["promise"].startswith("NOT PRIVATE")
    assert told["privacy"]["attack_statements"] == []
    assert told["privacy"]["warnings"]


@pytest.mark.parametrize(
    ("time", "first", "last"), [(None, 0, 30), ("5:6", 5, 6), ("2013-02-04T02/2013-02-04T20", 2, 20)]
)
def test_a_slice_is_every_cell_from_the_south_west(
    client: TestClient, town: Release, time: str | None, first: int, last: int
) -> None:
    asked = {} if time is None else {"time": time}
    told = get(client, "town/slice", **asked)
    ranges = [[x, x + 1, y, y + 1, first, last] for y in range(5) for x in range(8)]
    assert told["shape"] == [5, 8]
    assert np.shape(told["value"]) == (5, 8)
    same(told, ranges, town, decimals=2e-5)
    assert told["time"]["start"] == f"2013-02-04T{first:02d}:00:00Z"


def test_a_slice_as_float32_has_the_same_numbers(client: TestClient) -> None:
    told = get(client, "town/slice", time="3:9")
    response = client.get("/api/releases/town/slice", params={"time": "3:9", "format": "float32"})
    assert response.headers["x-gridveil-shape"] == "5,8"
    assert response.headers["x-gridveil-planes"] == "value,standard_error,low,high"
    planes = np.frombuffer(response.content, "<f4").reshape(4, 5, 8)
    np.testing.assert_allclose(planes, [told[part] for part in PARTS], rtol=1e-6, atol=1e-6)


def test_a_series_has_a_point_for_every_run_of_steps(client: TestClient, town: Release) -> None:
    told = get(client, "town/series", x="1:4", y="2", time="3:28", every=10)
    same(told, [[1, 4, 2, 3, 3, 13], [1, 4, 2, 3, 13, 23], [1, 4, 2, 3, 23, 28]], town)
    assert told["first"] == [3, 13, 23]
    assert told["start"][1] == "2013-02-04T13:00:00Z"
    assert told["every"] == 10
    assert told["area"] == {"cells": 3.0}
    assert post(client, "town/series", {"x": [1, 4], "y": [2, 3], "time": [3, 28], "every": 10}) == told
    same(get(client, "town/series"), [[0, 8, 0, 5, t, t + 1] for t in range(30)], town)


def test_a_query_by_cells_coordinates_and_instants(client: TestClient, town: Release) -> None:
    told = get(client, "town/query", x="0:4", y="1:3", time="6:24")
    same(told, [[0, 4, 1, 3, 6, 24]], town)
    cube = town.values().astype(float)
    assert told["area"] == {"cells": 8.0, "share": 0.2}
    assert told["share_of_map"] == pytest.approx(cube[6:24, 1:3, :4].sum() / cube[6:24].sum())
    assert told["time"] == {"first": 6, "last": 24, "start": "2013-02-04T06:00:00Z", "end": "2013-02-05T00:00:00Z"}
    instants = ["2013-02-04T06:00", "2013-02-05T01:00+01:00"]
    others = [
        get(client, "town/query", bbox="-0.5,51.3,-0.3,51.4", time="/".join(instants)),
        post(client, "town/query", {"x": [0, 4], "y": [1, 3], "time": [6, 24]}),
        post(client, "town/query", {"bbox": [-0.5, 51.3, -0.3, 51.4], "time": instants}),
    ]
    for other in others:
        for part in PARTS:
            assert other[part] == pytest.approx(told[part], rel=1e-6)


def test_a_polygon_is_answered_by_the_share_of_each_cell(client: TestClient, town: Release) -> None:
    told = get(client, "town/query", polygon=json.dumps(TRIANGLE), time="0:10")
    area = Area.polygon(town.grid, TRIANGLE)
    cube = town.values().astype(float)[:10].sum(axis=0)
    assert told["value"] == pytest.approx((cube * area.weights).sum(), rel=1e-6)
    assert told["area"]["cells"] == pytest.approx(area.cells)
    assert told["low"] < told["value"] < told["high"]
    feature = {"type": "Feature", "properties": {}, "geometry": TRIANGLE}
    assert post(client, "town/query", {"polygon": feature, "time": [0, 10]}) == told
    series = post(client, "town/series", {"polygon": TRIANGLE, "time": [0, 10], "every": 10})
    assert series["value"] == pytest.approx([told["value"]])


def test_a_batch_answers_ranges_in_their_order(client: TestClient, town: Release) -> None:
    rng = np.random.default_rng(1)
    ranges = [
        [
            *sorted(rng.choice(9, 2, replace=False)),
            *sorted(rng.choice(6, 2, replace=False)),
            *sorted(rng.choice(31, 2, replace=False)),
        ]
        for _ in range(200)
    ]
    plain = np.array(ranges).tolist()
    told = post(client, "town/query/batch", {"ranges": plain})
    same(told, plain, town)
    response = client.post("/api/releases/town/query/batch?format=float32", json={"ranges": plain})
    assert response.headers["x-gridveil-shape"] == "200"
    planes = np.frombuffer(response.content, "<f4").reshape(4, 200)
    np.testing.assert_allclose(planes, [told[part] for part in PARTS], rtol=1e-6)


def slots(release: Release, zone: str) -> list[datetime]:
    start = release.window.start.astimezone(UTC)
    return [(start + timedelta(hours=hour)).astimezone(ZoneInfo(zone)) for hour in range(release.window.steps)]


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "Asia/Kolkata"])
def test_a_profile_goes_by_the_clock_on_the_wall(client: TestClient, spring: Release, zone: str) -> None:
    told = get(client, "spring/profile", x="1:3", timezone=zone)
    used = spring.values().astype(float)[:, :, 1:3].sum(axis=(1, 2))
    local = slots(spring, zone)
    for kind, days in (("all", range(7)), ("weekday", range(5)), ("weekend", (5, 6))):
        averages = [
            np.mean(
                [
                    u
                    for u, t in zip(used, local, strict=True)
                    if t.hour * 60 + t.minute == minute and t.weekday() in days
                ]
            )
            for minute in told["day"]["minutes"]
        ]
        np.testing.assert_allclose(told["day"][kind]["value"], averages, rtol=1e-5, atol=1e-4)
    assert len(told["day"]["minutes"]) == 24
    weekly = [
        np.mean([u for u, t in zip(used, local, strict=True) if t.weekday() * 1440 + t.hour * 60 + t.minute == minute])
        for minute in told["week"]["minutes"]
    ]
    np.testing.assert_allclose(told["week"]["value"], weekly, rtol=1e-5, atol=1e-4)
    lost = zone == "Europe/London"  # Sunday 31 March had no hour from 1 to 2, and the window has only that Sunday
    assert len(told["week"]["minutes"]) == 168 - lost
    assert post(client, "spring/profile", {"x": [1, 3], "timezone": zone}) == told


def test_a_window_without_a_week_has_no_typical_one(client: TestClient) -> None:
    told = get(client, "town/profile")
    assert told["week"] is None
    assert told["day"]["weekday"] is not None
    assert told["day"]["weekend"] is None


def test_the_highest_cells_have_the_places_that_intervals_allow(client: TestClient, spring: Release) -> None:
    told = get(client, "spring/highest", time="0:24", count=5)
    ranges = [[x, x + 1, y, y + 1, 0, 24] for y in range(3) for x in range(4)]
    answers = spring.answers_of(ranges)
    order = np.argsort(-answers.value)[:5]
    half = (answers.high - answers.low) / 2 * np.log(20 * 12) / np.log(20)  # so that all 12 hold together
    lows, highs = answers.value - half, answers.value + half
    for place, cell in zip(order, told["cells"], strict=True):
        assert [cell["x"], cell["y"]] == [place % 4, place // 4]
        assert cell["value"] == pytest.approx(answers.value[place])
        assert cell["high"] == pytest.approx(answers.high[place])
        before = sum(low > highs[place] for low in lows)
        behind = sum(high < lows[place] for high in highs)
        assert cell["place"] == [before + 1, 12 - behind]
