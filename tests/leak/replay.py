"""Make a release again from `label.yaml` and `answers.npz` in this folder. Run by test_leak in a process of its own."""

from pathlib import Path

import numpy as np

from gridveil.mechanisms.registry import make
from gridveil.privacy.bound import Bound
from gridveil.release.files import load_label
from gridveil.release.label import MechanismFacts
from gridveil.release.write import write_release
from gridveil.testing import Tape, replay_measure


def main() -> None:
    label = load_label(Path("label.yaml"))
    answers = np.load("answers.npz")
    tape = Tape([(answers[f"v{i}"], answers[f"s{i}"]) for i in range(len(answers) // 2)])
    grid, window = label.grid.grid(), label.window.window()
    published = next(bound for bound in label.bounds if bound.window == "published")
    bound = Bound(round(published.step_kwh * 1000), round(published.window_kwh * 1000))
    face = replay_measure(tape, grid, window, bound, float(np.nextafter(label.privacy.epsilon, 0)))
    estimate = make(label.mechanism.name, label.mechanism.parameters).release(face)
    facts = MechanismFacts(name=label.mechanism.name, parameters=label.mechanism.parameters, details=estimate.details)
    write_release(
        Path("again"), grid=grid, window=window, estimate=estimate, label=label.model_copy(update={"mechanism": facts})
    )


if __name__ == "__main__":
    main()
