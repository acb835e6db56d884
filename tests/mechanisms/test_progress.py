"""Every mechanism says how far it is, and every stage it names comes to its end."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.registry import make, names, train_steps
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.kernel.bound import Bound

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)
SMALL = {"stpt": {"train_steps": 48, "epochs": 1}, "stpt-paper": {"train_steps": 48, "epochs": 1, "depth": 1}}


@pytest.mark.parametrize("name", names())
def test_stages_end_at_one(name: str) -> None:
    mechanism = make(name, SMALL.get(name, {}))
    before = train_steps(mechanism)
    readings = np.random.default_rng(0).integers(0, 900, (4, 4, before + 24))
    asked = kernel_on(readings, WINDOW, epsilon=30, bound=Bound(1000, 9000), train_steps=before)
    last: dict[str, float] = {}

    def progress(stage: str, done: float) -> None:
        assert last.get(stage, 0.0) <= done <= 1
        last[stage] = done

    mechanism.release(asked.session(), progress)
    assert last
    assert set(last.values()) == {1.0}
