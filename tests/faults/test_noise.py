"""Faults of noise: too little of it, noise that is shared, repeated, or finer than whole numbers.

False alarms: guards that test a distribution object to good code with at most 1e-6 for each of their tests (see
tests/statistics); fewer than 20 are run here, so that this file fails by chance with probability below 2e-5.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests import test_architecture as architecture
from tests.faults.planting import check_caught, mistake, planted, replace_node
from tests.statistics import test_noise as sampler
from tests.statistics import test_staircase as staircases
from tests.statistics.precision import ruled_out

from gridveil.research.audit.bound import lower_bound
from gridveil.trusted.kernel import noise as noise_module
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.staircase import Staircase

DRAW = "_make_opendp_laplace(scale)(values.tolist())"
MADE = "true, of_each = values.reshape(-1), np.broadcast_to(scales, values.shape)"
NUMPY = "np.random.default_rng({seed}).laplace(0, scales)"
STAIRCASE = Staircase(5, 2, 0.5)


def fit_of_staircase() -> None:
    staircases.draw.cache_clear()
    staircases.test_noise_follows_the_staircase_and_the_test_has_power(STAIRCASE, 40_000)


@pytest.fixture(autouse=True, scope="module")
def _fresh_draws_for_the_real_tests() -> Iterator[None]:
    """Draws with planted faults are not kept for the tests of the real sampler."""
    yield
    staircases.draw.cache_clear()


FACTORS = ("0.5", "0.9", "1.1")


def test_half_the_noise_or_a_scale_wrong_by_a_tenth() -> None:
    check_caught(
        lambda: sampler.test_noise_follows_the_discrete_laplace_and_the_test_has_power(3.3, sampler.FEW),
        *(mistake(noise_module, "_add_laplace", DRAW, DRAW.replace("(scale)", f"({by} * scale)")) for by in FACTORS),
    )


def test_half_the_noise_or_a_scale_wrong_by_a_tenth_in_a_staircase() -> None:
    scale = "1 / staircase.epsilon"
    check_caught(
        fit_of_staircase,
        *(mistake(ExactNoise, "add_staircase", scale, scale.replace("1 /", f"{by} /")) for by in FACTORS),
    )


def test_noise_reused_between_cells() -> None:
    reused = mistake(noise_module, "_add_laplace", DRAW, "values + _make_opendp_laplace(scale)([0])[0]")
    check_caught(lambda: sampler.test_no_noise_is_used_again(sampler.FEW), reused)
    check_caught(
        lambda: sampler.test_answers_of_several_scales_keep_their_places_and_have_independent_noise(sampler.FEW), reused
    )


def test_noise_reused_between_measurements() -> None:
    """A cache that somebody thought would make the sampler faster."""
    drawn = cache(lambda scale: np.array(noise_module._make_opendp_laplace(scale)([0] * 100)))

    def fault(patched: pytest.MonkeyPatch) -> None:
        patched.setattr(noise_module, "drawn", drawn, raising=False)
        mistake(noise_module, "_add_laplace", DRAW, "values + drawn(scale)[:len(values)]")(patched)

    check_caught(lambda: sampler.test_threads_never_share_noise(50), fault)


def test_a_fixed_seed() -> None:
    seeded = f"return values + np.rint({NUMPY.format(seed=7)}).astype(np.int64)"
    check_caught(lambda: sampler.test_threads_never_share_noise(50), mistake(ExactNoise, "add", MADE, seeded))
    check_caught(
        staircases.test_threads_never_share_noise,
        mistake(noise_module, "draw_words", "os.urandom(8 * count)", "np.random.default_rng(7).bytes(8 * count)"),
    )


@pytest.mark.parametrize("seed", ["7", ""])
@pytest.mark.parametrize(
    ("file", "line"), [("noise.py", MADE), ("discrete_laplace.py", "t, shift = to_fraction(scale)")]
)
def test_a_seed_or_another_generator_is_seen_in_the_source(file: str, line: str, seed: str, tmp_path: Path) -> None:
    """Noise that is repeatable, and noise that no statistical test can tell from the right one."""
    broken = tmp_path / "trusted" / "kernel" / file
    broken.parent.mkdir(parents=True)

    def guard() -> None:
        architecture.test_other_randomness_has_a_public_seed_and_stays_out_of_what_is_trusted(broken)

    text = (architecture.SRC / "trusted" / "kernel" / file).read_text()
    with planted(lambda patched: patched.setattr(architecture, "SRC", tmp_path)):
        broken.write_text(text)
        guard()
        drawn = f"return values + np.rint({NUMPY.format(seed=seed)}).astype(np.int64)"
        broken.write_text(ast.unparse(replace_node(text, line, drawn)))
        with pytest.raises(AssertionError):
            guard()


FLOATS = mistake(ExactNoise, "add", MADE, f"return values + {NUMPY.format(seed='')}")


def test_float_noise_instead_of_integer() -> None:
    check_caught(lambda: sampler.test_answers_are_whole_numbers_whatever_the_true_value(1_000), FLOATS)


def test_the_precision_attack_proves_more_than_the_claim_against_floats_and_nothing_against_integers() -> None:
    """One household may add 1140 Wh to an empty cell, at a claim of epsilon 3. Floats rule it out more often than not.

    False alarms: the lower bound exceeds what is true with probability 1e-6.
    """

    def attack() -> tuple[float, float, float]:
        away, there = (sampler.draw(1140 / 3, 10_000, value) for value in (0, 1140))
        seen = [ruled_out(answers, 1140) for answers in (away, there)]
        attained = lower_bound(seen[1], seen[0], error=1e-6)
        return float(seen[0].mean()), float(seen[1].mean()), attained.lower

    assert attack() == (0, 0, 0)
    with planted(FLOATS):
        recovered, mistaken, lower = attack()
    assert recovered > 0.5
    assert mistaken == 0
    assert lower > 3
