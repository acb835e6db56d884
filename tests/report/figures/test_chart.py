from xml.etree import ElementTree as ET

import numpy as np
import pytest

from gridveil.report.figures.chart import ChartLine, line_chart

WIDEST_LETTER = 7  # of 12 px, as browsers draw digits


@pytest.mark.parametrize("top", [0.001234, 7.0, 4000.0, 123_456.0, 98_765_432.0])
def test_numbers_and_lines_are_inside_the_picture(top: float) -> None:
    kwh = np.linspace(-top / 4, top, 9)
    line = ChartLine(kwh, "released", (kwh - top / 10, kwh + top / 10))
    text = line_chart(
        [line],
        at=np.linspace(0, 1, 9),
        marks=[(0.0, "Mon <4>")],
        span=(-top / 2, 1.2 * top),
        unit="kWh & more",
        description='a "chart"',
    )
    chart = ET.fromstring(text)  # noqa: S314 -- our own text
    assert chart.get("aria-label") == 'a "chart"'
    numbers = [item for item in chart.iter("text") if item.get("class") == "kwh"]
    assert 2 <= len(numbers) <= 8
    for item in numbers:
        assert float(item.get("x") or 0) - WIDEST_LETTER * len(item.text or "") >= -1
        assert 0 < float(item.get("y") or 0) < 220
    inner = chart.find("svg")
    assert inner is not None
    assert float(inner.get("x") or 0) + float(inner.get("width") or 0) <= 400
    for path in inner.iter("path"):
        points = (path.get("d") or "").strip("MZ").split()
        x, y = np.array([point.split(",") for point in points], float).T
        assert x.min() >= 0
        assert x.max() <= float(inner.get("width") or 0)
        assert y.min() >= 0
        assert y.max() <= float(inner.get("height") or 0)
