import io
import re

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Annotation

from gridveil.report.figures.burn_down import LOST, SPENT, FigureWords, SpentBar, draw_releases, draw_windows
from gridveil.report.figures.chart import as_file

WORDS = FigureWords("west $x$ <London>: epsilon 1 of 10 is left", "Unit: household.")
LONG = "The whole of west London, half-hourly, with a finer grid"


def names(figure: Figure) -> list[Annotation]:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return [text for text in figure.axes[0].texts if isinstance(text, Annotation)]


@pytest.mark.parametrize("epsilons", [[9.0], [0.01] * 12, [0.5, 0.8] * 6, [0.1, 5.0, 0.1], [1 / 3] * 11])
def test_names_of_steps_stay_on_the_paper_and_cover_no_other(epsilons: list[float]) -> None:
    figure = draw_releases([SpentBar(LONG, epsilon) for epsilon in epsilons], 10.0, WORDS)
    boxes = [text.get_window_extent() for text in names(figure)]
    assert len(boxes) >= 2  # the cap has one, too
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)
    assert not any(one.overlaps(other) for n, one in enumerate(boxes) for other in boxes[:n])


def test_a_debit_without_a_release_stands_out() -> None:
    figure = draw_releases([SpentBar("a", 1.0), SpentBar("b", 1.0, released=False)], 10.0, WORDS)
    assert [text.get_color() for text in names(figure)[1:]] == [SPENT, LOST]
    assert [text.get_text() for text in figure.legends[0].texts] == ["spent on a release", "spent, no release recorded"]


def test_bars_are_as_high_as_what_was_spent_and_have_names_that_fit() -> None:
    spent = [SpentBar(f"2026-W{week:02}", week % 3 + 0.1) for week in range(1, 54)]
    figure = draw_windows(spent, 3.0, WORDS)
    (axes,) = figure.axes
    _, bars = axes.containers
    assert [bar.get_height() for bar in bars.patches] == [window.epsilon for window in spent]
    assert len(axes.get_xticks()) <= 12
    few = draw_windows(spent[:3], 3.0, WORDS)
    assert [text.get_text() for text in names(few)] == ["cap 3", "1.1", "2.1", "0.1"]


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_say_in_words_what_they_show(kind: str) -> None:
    for draw in (draw_releases, draw_windows):
        held = as_file(draw([], 10.0, WORDS), kind, WORDS.description)
        assert re.search(rb"west \$x\$ (<|&lt;)London(>|&gt;): epsilon 1 of 10 is left\. Unit: household\.", held)
        if kind == "png":
            assert imread(io.BytesIO(held)).shape == (675, 1200, 4)
