from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import silent
from gridveil.mechanisms.inference.space import make_levels
from gridveil.mechanisms.stpt import network as learn
from gridveil.mechanisms.stpt.network import Windows
from gridveil.mechanisms.stpt.series import Series, Slice, make_equal_slices, make_harmonics, make_weighted_slices
from gridveil.model.arrays import Floats
from gridveil.model.window import Window

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 5)
TRAINING = learn.Training(lookback=3, epochs=1, seed=10)
FUTURE = np.array([0.5, 1.0, 1.5, 2.0, 2.5])


class Asked:
    """Stands for the networks: remembers what they were given, and answers with a line."""

    def __init__(self) -> None:
        self.windows: list[Windows] = []
        self.seeds: list[Floats] = []
        self.waves: list[Floats] = []
        self.random: list[int] = []

    def __call__(
        self,
        windows: Windows,
        seeds: Floats,
        waves: Floats,
        steps: int,
        epochs: int,
        seed: int,
        progress: Callable[[float], None],
        *,
        refined: bool,
    ) -> Floats:
        del epochs, progress, refined
        self.windows.append(windows)
        self.seeds.append(seeds)
        self.waves.append(waves)
        self.random.append(seed)
        return np.tile(FUTURE[:steps], (len(seeds), 1)) + np.arange(len(seeds))[:, None]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    networks = Asked()
    monkeypatch.setattr(learn, "forecast", networks)
    return networks


def ramp(slices: list[Slice], scale: float) -> list[Series]:
    """Series of a map in which every cell uses 100 Wh more each step: it tells where a number was taken from."""
    return [
        Series(part, 100.0 * np.arange(part.start, part.end)[:, None, None] * part.level.cells, scale)
        if part.stepwise
        else Series(part, 100.0 * np.arange(part.start, part.end).sum() * part.level.cells[None], scale)
        for part in slices
    ]


def test_the_refined_forecast_starts_from_the_root_tail_and_the_right_hours(asked: Asked) -> None:
    series = ramp(make_weighted_slices(make_levels(Grid(0, 0, 4, 4, 4, 4), 2), 30, 3), scale=1.0)
    pattern = learn.learn_refined_pattern(series, WINDOW, TRAINING, silent)
    root_steps = series[0].part.steps
    mean = np.arange(30 - root_steps, 30).mean()
    assert len(asked.seeds) == 3
    assert asked.random == [10, 11, 12]
    for seeds, waves in zip(asked.seeds, asked.waves, strict=True):
        assert seeds == pytest.approx(np.array([[27, 28, 29]]) / mean)
        known = make_harmonics(
            Window(WINDOW.before(2).start, WINDOW.step, 7)
        )  # the first value is followed two steps before
        assert waves == pytest.approx(known)
    assert pattern.space.sum() == pytest.approx(1600 * mean)
    assert np.ptp(pattern.space) < 1e-9 * pattern.space.mean()


def test_series_are_normalised_by_level_and_weighted_by_noise(asked: Asked) -> None:
    series = ramp(make_weighted_slices(make_levels(Grid(0, 0, 4, 4, 4, 4), 2), 60, 3), scale=300.0)
    learn.learn_refined_pattern(series, WINDOW, TRAINING, silent)
    windows, mean = asked.windows[0], 1600 * np.arange(60 - series[0].part.steps, 60).mean()
    of_root = series[0].part.steps - 3
    assert windows.weights[0, 0] == pytest.approx(1 / (2 * (300 / mean) ** 2 + 0.05))
    assert windows.weights[of_root, 0] == pytest.approx(1 / (2 * (300 / (mean / 4)) ** 2 + 0.05))
    assert windows.values[0, 0] == pytest.approx(1600 * series[0].part.start / mean)
    assert windows.values[of_root, 0] == pytest.approx(1600 * series[1].part.start / mean)


@pytest.mark.parametrize("scale", [1.0, 50_000.0])
def test_a_profile_is_flattened_as_far_as_it_is_noise(asked: Asked, scale: float) -> None:
    series = ramp(make_weighted_slices(make_levels(Grid(0, 0, 4, 4, 4, 4), 2), 30, 3), scale)
    pattern = learn.learn_refined_pattern(series, WINDOW, TRAINING, silent)
    assert len(asked.seeds) == 3
    mean = 1600 * np.arange(30 - series[0].part.steps, 30).mean()
    noise = 2 * (scale / mean) ** 2 / series[0].part.steps
    trust = 0.08 / (0.08 + 5 * noise)
    assert pattern.time == pytest.approx(1.5 + trust * (FUTURE - 1.5))
    assert pattern.shape_variance == pytest.approx(0.01 + (1 - trust) * 0.08)
    assert pattern.total_variance == pytest.approx(pattern.total**2 * (0.01 + noise))


def test_the_plain_forecast_continues_the_tail_of_every_deepest_block(asked: Asked) -> None:
    slices = make_equal_slices(make_levels(Grid(0, 0, 4, 4, 4, 4), 1), 20, 3)
    pattern = learn.learn_plain_pattern(ramp(slices, 1.0), 50.0, 5, TRAINING, silent)
    assert asked.seeds[0] == pytest.approx(np.tile(2.0 * np.arange(17, 20), (4, 1)))
    assert asked.windows[0].values[0] == pytest.approx([0, 2, 4])  # 100 Wh per step and cell, in units of 50
    assert len(asked.windows[0].values) == 5 * (10 - 3)
    blocks = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]])
    assert pattern == pytest.approx(blocks[:, :, None] + FUTURE)
