import numpy as np
import pytest
import torch

from gridveil.mechanisms.stpt import network as forecaster
from gridveil.mechanisms.stpt.network import AttentionGru, forecast, join, repeatable_torch, sweep
from gridveil.model.arrays import Floats


def test_sweep_stacks_windows_and_marks_targets_beyond_the_series() -> None:
    series = np.array([[0.0, 1, 2, 3, 4], [10, 11, 12, 13, 14]])
    waves = np.arange(7.0)[:, None] * 100
    windows = sweep(series, waves, np.array([1.0, 2.0]), lookback=3, horizon=2)
    assert windows.values.tolist() == [[0, 1, 2], [1, 2, 3], [10, 11, 12], [11, 12, 13]]
    assert windows.targets.tolist() == [[3, 4], [4, 0], [13, 14], [14, 0]]
    assert windows.weights.tolist() == [[1, 1], [1, 0], [2, 2], [2, 0]]
    following = [[100, 200, 300, 400], [200, 300, 400, 500]]
    assert windows.waves[:, :, 0].tolist() == following * 2


def test_a_series_as_short_as_the_lookback_gives_no_example() -> None:
    windows = sweep(np.ones((4, 3)), np.ones((7, 2)), np.ones(4), lookback=3, horizon=4)
    assert windows.values.shape == (0, 3)
    assert windows.waves.shape == (0, 6, 2)
    assert len(join([windows, sweep(np.ones((1, 5)), np.ones((9, 2)), np.ones(1), 3, 4)]).values) == 2


def predict(seeds: Floats, epochs: int = 2, seed: int = 0, *, refined: bool = False) -> Floats:
    series = np.sin(np.arange(30.0))[None]
    windows = sweep(series, np.zeros((31, 0)), np.ones(1), lookback=4, horizon=1)
    return forecast(windows, seeds, np.zeros((9, 0)), 6, epochs, seed, lambda _: None, refined=refined)


def test_series_with_equal_seeds_are_rolled_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = np.random.default_rng(0).normal(size=(3, 4))[[0, 1, 2, 1, 0, 1]]
    sizes = []
    original = forecaster._continue

    def spy(network: AttentionGru, values: torch.Tensor, waves: torch.Tensor, steps: int) -> torch.Tensor:
        sizes.append(len(values))
        return original(network, values, waves, steps)

    monkeypatch.setattr(forecaster, "_continue", spy)
    together = predict(seeds)
    assert sizes[-1] == 3
    apart = np.concatenate([predict(seed[None]) for seed in seeds])
    assert np.allclose(together, apart, atol=1e-6)
    assert np.ptp(together[:3], axis=0).min() > 1e-4  # distinct seeds have distinct futures


@pytest.mark.parametrize("refined", [False, True])
def test_training_learns_a_wave(*, refined: bool) -> None:
    seeds = np.sin(np.arange(26.0, 30))[None]
    true = np.sin(np.arange(30.0, 36))
    first, last = (predict(seeds, epochs, refined=refined)[0] for epochs in (1, 150))
    assert np.abs(last - true)[0] < 0.5 * np.abs(first - true)[0]


def test_a_forecast_repeats_to_the_bit_and_depends_on_its_seed() -> None:
    seeds = np.ones((2, 4))
    assert np.array_equal(predict(seeds), predict(seeds))
    assert not np.array_equal(predict(seeds), predict(seeds, seed=1))


def test_torch_is_left_as_it_was() -> None:
    def flushes() -> bool:
        return float(torch.tensor(1e-310, dtype=torch.float64) * 1) == 0

    state, threads = torch.get_rng_state(), torch.get_num_threads()
    with repeatable_torch(3):
        assert flushes()
        assert torch.get_num_threads() == 1
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert not flushes()


def test_calendar_inputs_are_those_of_the_predicted_step() -> None:
    """A series that follows its calendar input alone can be continued through a change never seen in its values."""
    waves = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 1))
    series = 1 + 0.5 * waves[:180, 0]
    windows = sweep(series[None], waves[:184], np.ones(1), lookback=3, horizon=4)
    future = forecast(windows, series[None, -3:], waves[178:190], 10, 60, 0, lambda _: None, refined=True)[0]
    assert np.allclose(future, 1 + 0.5 * waves[180:190, 0], atol=0.15)
