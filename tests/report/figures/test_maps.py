import base64
import io
import re
from importlib.resources import files

import numpy as np
from matplotlib import colormaps
from matplotlib.image import imread

from gridveil.report.figures.maps import DARKEST, STOPS, ColourScale, bar_uri, map_uri


def pixels(uri: str) -> np.ndarray:
    """The picture as any other program reads it: rows from the top, columns, red green blue."""
    kind, _, data = uri.partition(",")
    assert kind == "data:image/png;base64"
    return np.asarray(imread(io.BytesIO(base64.b64decode(data)), format="png"))[:, :, :3]


def test_north_is_up_and_east_is_right() -> None:
    kwh = np.zeros((3, 4))
    kwh[2, 3] = 1.0  # the north-east cell
    seen = pixels(map_uri(kwh, ColourScale(1.0)))
    assert seen.shape == (3, 4, 3)
    bright = seen.sum(axis=2)
    assert np.unravel_index(bright.argmin(), bright.shape) == (0, 3)


def test_cells_get_as_many_pixels_as_asked_for() -> None:
    kwh = np.random.default_rng(0).random((3, 4))
    small, large = pixels(map_uri(kwh, ColourScale(1.0))), pixels(map_uri(kwh, ColourScale(1.0), cell=(5, 2)))
    np.testing.assert_array_equal(large, small.repeat(2, axis=0).repeat(5, axis=1))


def test_colours_are_those_of_magma_by_square_root_and_more_is_darker() -> None:
    kwh = np.linspace(0, 4, 50)[None]
    seen = pixels(map_uri(kwh, ColourScale(4.0)))[0]
    expected = colormaps["magma"](1 - (1 - DARKEST) * np.sqrt(kwh[0] / 4))[:, :3]
    assert np.abs(seen - expected)[kwh[0] > 0.1].max() < 0.06
    assert (seen[0] > 0.93).all()  # nothing is nearly white
    assert (np.diff(pixels(bar_uri())[0].sum(axis=1)) < 0.01).all()


def test_colours_are_those_of_the_page() -> None:
    page = (files("gridveil.serve") / "static" / "colour.js").read_text()
    assert re.findall(r"'([0-9a-f]{6})'", page) == STOPS.split()
    assert f"DARKEST = {DARKEST};" in page


def test_only_uncertain_cells_are_hatched() -> None:
    kwh = np.full((1, 2), 0.5)
    plain = pixels(map_uri(kwh, ColourScale(1.0), cell=(16, 16)))
    hatched = pixels(map_uri(kwh, ColourScale(1.0), uncertain=np.array([[True, False]]), cell=(16, 16)))
    changed = (plain != hatched).any(axis=2)
    assert 0.2 < changed[:, :16].mean() < 0.6
    assert not changed[:, 16:].any()


def test_values_beyond_the_scale_are_its_ends() -> None:
    kwh = np.array([[-5.0, 0.0, 1.0, 7.0]])
    seen = pixels(map_uri(kwh, ColourScale(1.0)))[0]
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], seen[3])


def test_a_scale_of_nothing_is_still_one() -> None:
    assert ColourScale.of(np.zeros((2, 2))).top == 1.0
    assert ColourScale.of(np.full((2, 2), -3.0)).top == 1.0
