"""Faults that the audit catches: it runs the real path with and without a canary, and proves what anybody could.

Most need no statistics: the exact loss of the answers is above the claim, or the same noisy answers lead to another
release. False alarms: each lower bound is wrong with probability 1e-9 at most; fewer than 100 are of good code.
"""

from collections.abc import Iterator

import pytest
from tests.faults.planting import Fault, mistake, planted
from tests.faults.test_accounting import LEVEL
from tests.faults.test_bounding import CAP
from tests.faults.test_noise import DRAW, MADE, NUMPY
from tests.faults.test_publishing import HOUSEHOLDS, NOISY, TITLE, fed_raw

from gridveil.publishing import run as statement
from gridveil.research.audit import outcomes, study
from gridveil.research.audit.effort import Attack
from gridveil.trusted.kernel import noise as noise_module
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.transforms import Haar
from gridveil.trusted.source.ingest import IngestedSource

ERROR = 1e-9

PLAYED = Attack("identity", "all in one step", runs=0, written=0, pairs=2, draws=400)
"""Runs that are played again in the other world, and the exact loss of their answers."""
DRAWN = Attack("identity", "all in one step", runs=0, written=0, pairs=1, draws=60_000)
"""Noise drawn many times."""
WATCHED = Attack("identity", "all in one step", runs=100, written=0, pairs=1, draws=400)
"""Releases, looked at from all sides. There are few of them, enough to refute a claim of 0.5."""
EMPTY = Attack("identity", "in an empty cell", runs=0, written=0, pairs=2, draws=400)
TREE = Attack("wavelet", "worst for a tree of time", runs=0, written=0, pairs=2, draws=400)
STEP = Attack("wavelet", "one step over its bound", runs=0, written=0, pairs=2, draws=400)
"""Of a mechanism whose noise is less the lower the step bound is. Where noise goes by the window bound alone, as that
of identity, a step bound that is not enforced costs nothing."""
WINDOW = Attack("identity", "over both bounds", runs=0, written=0, pairs=2, draws=400)
TRAINED = Attack("stpt", "alone in its quarter", runs=0, written=0, pairs=1, draws=400)
ATTACKS = {
    "played": PLAYED,
    "drawn": DRAWN,
    "watched": WATCHED,
    "empty": EMPTY,
    "tree": TREE,
    "step": STEP,
    "window": WINDOW,
    "trained": TRAINED,
}

SCALED = "(of.total > bound.window).ifelse((of.wh * bound.window) // of.total, of.wh)"
REUSED = "values + _make_opendp_laplace(scale)([0])[0]"
SEEDED = f"return values + np.rint({NUMPY.format(seed=7)}).astype(np.int64)"

ANOTHER = "the same noisy answers led to another release"
FAULTS: dict[str, tuple[Attack, str, Fault]] = {
    "half the noise, by the sampler": (
        DRAWN,
        "log-likelihood: 1.",
        mistake(noise_module, "_add_laplace", DRAW, DRAW.replace("(scale)", "(scale / 2)")),
    ),
    "half the noise, by the kernel": (
        PLAYED,
        "a loss of 2",
        mistake(Kernel, "_answer", NOISY, f"{NOISY[:-1]} / 2)"),
    ),
    "a forgotten tree level": (
        TREE,
        "a loss of 1.069",
        mistake(Haar, "sensitivity", LEVEL, f"{LEVEL} if nodes > 1 else 0"),
    ),
    "noise reused between cells": (WATCHED, "less the median", mistake(noise_module, "_add_laplace", DRAW, REUSED)),
    "a step bound that is not enforced": (
        STEP,
        "a loss of 3.2",
        mistake(IngestedSource, "_clip_steps", CAP, "rows.wh"),
    ),
    "a window bound that is not enforced": (
        WINDOW,
        "a loss of 2,",
        mistake(IngestedSource, "bounded_cube", SCALED, "of.wh"),
    ),
    "a fixed seed": (WATCHED, "total of the map", mistake(ExactNoise, "add", MADE, SEEDED)),
    "a mean by the true number of households": (
        PLAYED,
        ANOTHER,
        mistake(Kernel, "_ask", "self._answer(question)", f"self._answer(question) // {HOUSEHOLDS}"),
    ),
    "a raw window fed to the network": (TRAINED, ANOTHER, fed_raw),
    "quiet cells without noise": (
        EMPTY,
        ANOTHER,
        mistake(Kernel, "_answer", NOISY, f"np.where(exact[some] == 0, 0, {NOISY})"),
    ),
    "a field of the label from the data": (
        PLAYED,
        ANOTHER,
        mistake(statement, "make_label", "spec.title", TITLE, also=(outcomes,)),
    ),
}
"""The attack that catches each fault, and what it says."""


@pytest.fixture(autouse=True)
def _fresh_worlds() -> Iterator[None]:
    """Worlds that were ingested with a fault are not kept for others."""
    yield
    study._worlds.cache_clear()


def against(attack: Attack) -> list[str]:
    """What an attack proves against its claim."""
    claim = 0.5 if attack is WATCHED else 1
    carried = study.run_attack(attack, claim, ERROR)
    over = [f"{found.statistic}: {found.lower}" for found in carried.findings if found.lower > claim]
    return [*carried.faults, *over]


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_audit_is_silent_on_the_code_as_it_is(attack: str) -> None:
    assert against(ATTACKS[attack]) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_audit_objects(fault: str) -> None:
    attack, says, plant = FAULTS[fault]
    study._worlds.cache_clear()
    with planted(plant):
        assert says in " ".join(against(attack))
