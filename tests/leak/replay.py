"""Make releases again, each from `label.json` and `answers.npz` in a folder named on standard input.

Run by test_leak as a process of its own.
"""

import sys
from pathlib import Path

import numpy as np

from gridveil.mechanisms.base import make
from gridveil.publishing.run import FACTOR, release_with_private_bound
from gridveil.release.format.files import load_label
from gridveil.release.format.label import MechanismFacts
from gridveil.release.format.netcdf import write_release
from gridveil.simulate.sources import Tape, kernel_without_data
from gridveil.trusted.budget import Bound


def make_again(folder: Path) -> None:
    label = load_label(folder / "label.json")
    answers = np.load(folder / "answers.npz")
    tape = Tape([(answers[f"v{i}"], answers[f"s{i}"]) for i in range(len(answers) // 2)])
    grid, window = label.grid.grid(), label.window.window()
    published = next(bound for bound in label.bounds if bound.window == "published")
    step = round(published.step_kwh * 1000)
    chosen = label.private_bound_epsilon is not None
    bound = Bound(step, step * window.steps if chosen else round(published.window_kwh * 1000))
    kernel = kernel_without_data(tape, grid, window, epsilon=label.privacy.epsilon, bound=bound)
    mechanism = make(label.mechanism.name, label.mechanism.parameters)
    estimate = release_with_private_bound(kernel, mechanism) if chosen else mechanism.release(kernel.session())
    facts = MechanismFacts(name=label.mechanism.name, parameters=label.mechanism.parameters, details=estimate.details)
    accounted = label.privacy.model_copy(update={"epsilon_accounted": kernel.spent})
    correction = estimate.details.get(FACTOR)
    again = label.model_copy(update={"mechanism": facts, "privacy": accounted, "correction": correction})
    write_release(folder / "again", grid=grid, window=window, estimate=estimate, label=again)


if __name__ == "__main__":
    for line in sys.stdin:
        make_again(Path(line.rstrip("\n")))
        sys.stdout.write(line)
        sys.stdout.flush()
