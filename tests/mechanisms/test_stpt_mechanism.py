import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import Mechanism
from gridveil.mechanisms.stpt import STPT_PAPER, Stpt
from gridveil.model.errors import MissingExtraError, UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource, Tape, kernel_on, kernel_without_data
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import NoisyParts, Replicates

START = datetime(2013, 2, 4, tzinfo=UTC)
HOUR = timedelta(hours=1)
SHORT = {"train_steps": 60, "epochs": 1}
WAYS = {
    "blocks": {},
    "quantized": {"partition": "quantized", "quantizer": "equal-mass", "buckets": 7},
    "paper": STPT_PAPER,
}


def town(nx: int = 8, ny: int = 8, steps: int = 108, seed: int = 0) -> np.ndarray:
    """Clusters in space, a rhythm of the day, and noise of its own in every cell."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    density = 100 + 3000 * np.exp(-((x - 2) ** 2 + (y - 5) ** 2) / 3)
    rhythm = 1 + 0.7 * np.sin(2 * np.pi * (np.arange(steps) - 12) / 24)
    return np.rint(density[:, :, None] * rhythm * random.uniform(0.8, 1.2, (nx, ny, steps))).astype(int)


def kernel_of(readings: np.ndarray, steps: int, epsilon: float, step: timedelta = HOUR) -> Kernel:
    window = Window(START, step, steps)
    bound = Bound(6000, 3000 * steps)
    return kernel_on(readings, window, epsilon=epsilon, bound=bound, train_steps=readings.shape[2] - steps)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 1e7])
@pytest.mark.parametrize(
    ("shape", "step", "steps"),
    [
        ((1, 1), HOUR, 1),
        ((5, 3), timedelta(minutes=15), 13),
        ((1, 9), timedelta(days=1), 7),
        ((20, 30), timedelta(hours=12), 24),
    ],
)
@pytest.mark.parametrize("data", ["empty", "town"])
def test_any_shape_step_and_budget(
    way: str, epsilon: float, shape: tuple[int, int], step: timedelta, steps: int, data: str
) -> None:
    readings = town(*shape, 60 + steps) if data == "town" else np.zeros((*shape, 60 + steps), dtype=int)
    kernel = kernel_of(readings, steps, epsilon, step)
    estimate = Stpt(**WAYS[way] | SHORT).release(kernel.session())
    assert estimate.dense().shape == (*shape, steps)
    assert np.isfinite(estimate.dense()).all()
    assert kernel.spent == pytest.approx(epsilon, rel=1e-9)
    if way == "blocks":
        assert (estimate.dense() >= 0).all()
        assert isinstance(estimate.errors, Replicates)
        assert np.isfinite(estimate.errors.space).all()
        assert np.isfinite(estimate.errors.time).all()
    else:
        assert isinstance(estimate.errors, NoisyParts)
        parts = estimate.errors.labels.ravel()
        assert np.allclose(np.bincount(parts, weights=estimate.errors.shares.ravel()), 1)
        assert estimate.details["parts"] == len(estimate.errors.scales) == parts.max() + 1


@pytest.mark.parametrize("ratio", [(1.0, 2.0), (10.0, 20.0), (3.0, 1.0)])
@pytest.mark.parametrize("way", WAYS)
def test_the_two_epsilons_are_a_ratio_of_the_budget(way: str, ratio: tuple[float, float]) -> None:
    kernel = kernel_of(town(), 48, epsilon=3)
    Stpt(**WAYS[way] | SHORT, epsilon_pattern=ratio[0], epsilon_sanitize=ratio[1]).release(kernel.session())
    first, *rest = (record.epsilon for record in kernel.records)
    assert first == pytest.approx(3 * ratio[0] / sum(ratio))
    assert math.fsum(rest) == pytest.approx(3 * ratio[1] / sum(ratio))
    assert first + math.fsum(rest) <= 3


def numbers(part: object) -> Iterator[object]:
    """Yield all that an error model consists of."""
    if is_dataclass(part):
        for field in fields(part):
            yield from numbers(getattr(part, field.name))
    else:
        yield part


@pytest.mark.parametrize("way", WAYS)
def test_a_release_is_a_function_of_its_measurements(way: str) -> None:
    """Two towns whose noisy answers coincide get the same partition and the same release, to the bit."""
    window, bound = Window(START, HOUR, 48), Bound(6000, 144_000)
    cells = np.stack(np.meshgrid(np.arange(8), np.arange(8), indexing="ij"), axis=-1).reshape(-1, 2)
    mechanism = Stpt(**WAYS[way] | SHORT)
    tape, estimates = Tape.record(seed=0), []
    for readings, noise in ((town(), tape), (town(seed=1)[::-1] // 3, tape.replay())):
        source = ArraySource(
            Grid(0, 0, 8, 8, 8, 8), Window(START - 60 * HOUR, HOUR, 108), cells, readings.reshape(64, -1)
        )
        estimates.append(
            mechanism.release(Kernel(source, window, budget=PureDP(30), bound=bound, noise=noise).session())
        )
    estimates.append(
        mechanism.release(kernel_without_data(tape, Grid(0, 0, 8, 8, 8, 8), window, epsilon=30, bound=bound).session())
    )
    for other in estimates[1:]:
        assert np.array_equal(other.dense(), estimates[0].dense())
        assert other.details == estimates[0].details
        for one, another in zip(numbers(estimates[0].errors), numbers(other.errors), strict=True):
            assert np.array_equal(one, another)


def test_the_seed_changes_the_release() -> None:
    first, second = (Stpt(**SHORT, seed=seed).release(kernel_of(town(), 48, 30).session()) for seed in (0, 1))
    assert not np.array_equal(first.dense(), second.dense())


def test_stpt_beats_an_even_spread_of_the_exact_total() -> None:
    readings = town()
    truth = readings[:, :, 60:]
    estimate = Stpt(train_steps=60).release(kernel_of(readings, 48, epsilon=100).session())
    even = np.full(truth.shape, truth.mean())
    assert np.abs(estimate.dense() - truth).sum() < 0.25 * np.abs(even - truth).sum()
    assert estimate.details == {"time_blocks": 7, "space_blocks": 64, "space_depth": 3}


def test_the_refined_pattern_knows_rhythm_and_clusters() -> None:
    """One part per bucket of the pattern: what a single sum cannot correct comes from the pattern."""
    readings = town()
    truth = readings[:, :, 60:]
    estimate = Stpt(train_steps=60, partition="quantized", buckets=1).release(kernel_of(readings, 48, 1e5).session())
    assert np.corrcoef(estimate.dense().sum(axis=(0, 1)), truth.sum(axis=(0, 1)))[0, 1] > 0.9
    assert np.corrcoef(estimate.dense().sum(axis=2).ravel(), truth.sum(axis=2).ravel())[0, 1] > 0.9


def test_progress_is_told_per_epoch() -> None:
    told = []
    Stpt(train_steps=60, epochs=2).release(kernel_of(town(), 48, 3).session(), lambda *step: told.append(step))
    assert {stage for stage, _ in told} == {"learn the pattern"}
    assert [done for _, done in told] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


@pytest.mark.parametrize("way", WAYS)
def test_a_training_window_that_is_too_short_costs_nothing(way: str) -> None:
    kernel = kernel_of(town(steps=58), 48, 3)
    with pytest.raises(UsageError, check=has_code("stpt-training-short", "train_steps=10")):
        Stpt(**WAYS[way] | {"train_steps": 10}).release(kernel.session())
    assert kernel.spent == 0


def test_without_torch_nothing_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("learn", "forecaster", "network"):
        monkeypatch.delitem(sys.modules, f"gridveil.mechanisms.stpt.{name}", raising=False)
        monkeypatch.delattr(f"gridveil.mechanisms.stpt.{name}", raising=False)
    kernel = kernel_of(town(), 48, 3)
    with pytest.raises(MissingExtraError, check=has_code("extra-missing", "gridveil[stpt]")):
        Stpt(**SHORT).release(kernel.session())
    assert kernel.spent == 0


def test_importing_stpt_does_not_import_torch() -> None:
    code = "import sys, gridveil.mechanisms.stpt; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_blocks_need_the_refined_forecaster() -> None:
    with pytest.raises(UsageError, check=has_code("stpt-blocks-forecaster", "refined")):
        Stpt(forecaster="plain")


def test_fields_are_checked_and_read_from_text() -> None:
    adapter = TypeAdapter(Stpt)
    assert adapter.validate_python({"depth": "3", "quantizer": "equal-mass"}) == Stpt(depth=3, quantizer="equal-mass")
    assert isinstance(adapter.validate_python(STPT_PAPER), Mechanism)
    for wrong in (
        {"buckets": 0},
        {"quantizer": "best"},
        {"epsilon_pattern": 0},
        {"lookback": 0},
        {"epsilon_sanitize": math.inf},
    ):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)
