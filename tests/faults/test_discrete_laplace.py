"""Faults of our own sampler of Laplace noise: biased bits, bits that are used twice, floats, and slips in the method.

False alarms: guards that test a distribution object to good code with probability below 1e-8 for each of their tests
(see tests/statistics); fewer than 20 are run here, so that this file fails by chance with probability below 2e-7.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from tests import test_architecture as architecture
from tests.faults.planting import always_tried, check_caught, check_objects, mistake, planted
from tests.statistics import test_noise as sampler
from tests.trusted.kernel import test_discrete_laplace as exact

from gridveil.trusted.kernel import discrete_laplace, noise

planted_in = partial(mistake, discrete_laplace)
planted_on_top = partial(mistake, discrete_laplace, "add_discrete_laplace", also=(noise,))


def patching(guard: Any, *arguments: Any) -> Callable[[], None]:
    """Return a guard that patches for itself."""

    def run() -> None:
        with pytest.MonkeyPatch.context() as patched:
            guard(*arguments, patched)

    return run


def test_a_scale_wrong_by_a_tenth_in_our_sampler() -> None:
    check_caught(
        lambda: sampler.test_noise_follows_the_discrete_laplace_and_the_test_has_power(3.3, sampler.MANY),
        *(planted_on_top("to_fraction(scale)", f"to_fraction({by} * scale)") for by in ("0.9", "1.1")),
    )


def test_modulo_bias() -> None:
    """Words that do not go around evenly, kept; and the one that begins the next round, which is hard to see."""
    check_caught(
        patching(exact.test_each_of_all_words_leads_to_a_coin_or_number_with_the_exact_chance, 13, 5),
        planted_in("draw_words_below", "np.uint64(limit - 1)", "np.uint64(WORDS - 1)"),
        planted_in("draw_words_below", "np.uint64(limit - 1)", "np.uint64(limit)"),
        planted_in(
            "draw_uniform",
            "draw_words_below(share * below, count) // np.uint64(share)",
            "draw_words(count) % np.uint64(below)",
        ),
    )


def test_minus_zero() -> None:
    kept = planted_in("draw_candidates", "~(negative & (sizes == 0))", "np.ones(len(sizes), dtype=np.bool_)")
    check_caught(lambda: exact.test_an_attempt_has_exactly_the_chances_of_the_discrete_laplace(1), kept)
    check_objects(lambda: sampler.test_noise_is_symmetric_and_has_the_right_mass_at_zero(1.5, sampler.MANY), kept)


def test_a_float_shortcut() -> None:
    """No statistical test sees it: chances are off by one part in 2**53."""
    shortcut = "return np.asarray(draw_words(count) < 2.0**64 * np.exp(-(of[0] / of[1] if of else 1.0)))"
    check_caught(
        lambda: exact.test_coins_of_powers_of_e_have_the_chance_of_the_series((1,), 2),
        planted_in("toss_exponential_coins", "shown = np.ones(count, dtype=np.bool_)", shortcut),
    )


def test_off_by_one_in_the_series() -> None:
    check_caught(
        lambda: exact.test_coins_of_powers_of_e_have_the_chance_of_the_series((1,), 2),
        planted_in("toss_exponential_coins", "k = 0", "k = 1"),
        planted_in("toss_exponential_coins", "k > 1", "k > 2"),
        planted_in("toss_exponential_coins", "k % 2 == 0", "k % 2 == 1"),
    )


def test_an_attempt_that_is_put_together_wrongly() -> None:
    """Not divided; rounded instead of rounded down; `U` or its coin left out."""
    wholes = "np.uint64(t) * wholes"
    check_caught(
        lambda: exact.test_an_attempt_has_exactly_the_chances_of_the_discrete_laplace(2),
        planted_in("combine_magnitudes", "np.uint64(min(shift, 63))", "np.uint64(0)"),
        planted_in(
            "combine_magnitudes", f"remainders + {wholes}", f"remainders + np.uint64(2 ** (shift - 1)) + {wholes}"
        ),
        planted_in("combine_magnitudes", f"remainders + {wholes}", wholes),
        planted_in("draw_candidates", "remainders[toss_exponential_coins(count, (remainders, t))]", "remainders"),
    )


def test_bits_that_are_used_twice() -> None:
    """By two decisions of one value, by neighbours, by both halves of an array."""
    twice = "negative = remainders % np.uint64(2) == 1"
    check_caught(
        lambda: exact.test_an_attempt_has_exactly_the_chances_of_the_discrete_laplace(1),
        planted_in("draw_candidates", "negative = toss_coins(np.uint64(1), 2, len(sizes))", twice),
    )
    bits = "os.urandom(8 * count)"
    halves = planted_in("draw_words", bits, "(os.urandom(8 * (-(-count // 2))) * 2)[: 8 * count]")
    check_caught(lambda: sampler.test_no_noise_is_used_again(sampler.MANY), halves)
    whole = "np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)"
    check_caught(
        lambda: sampler.test_noise_of_one_scale_is_independent_between_neighbours_and_chunks(sampler.MANY),
        planted_in("draw_words", whole, f"np.repeat({whole}, 2)[:count]"),
    )


def test_noise_reused_between_chunks() -> None:
    """A cache that somebody thought would make the sampler faster."""

    def fault(patched: pytest.MonkeyPatch) -> None:
        drawn = cache(discrete_laplace.draw)
        drawn(*discrete_laplace.to_fraction(sampler.SERIES), discrete_laplace.CHUNK)  # once, before threads race for it
        patched.setattr(discrete_laplace, "drawn", drawn, raising=False)
        planted_on_top("draw(t, shift, len(values[part]))", "drawn(t, shift, len(values[part]))")(patched)

    check_caught(
        lambda: sampler.test_noise_of_one_scale_is_independent_between_neighbours_and_chunks(sampler.MANY), fault
    )


def test_numbers_too_long_for_64_bits() -> None:
    check_caught(
        lambda: sampler.test_sums_are_cut_off_at_the_ends_of_the_integers(sampler.VECTORISED_FROM),
        planted_in("add_saturating", "place + np.minimum(sizes, ~place)", "place + sizes"),
        planted_in("add_saturating", "place - np.minimum(sizes, place)", "place - sizes"),
    )
    check_caught(
        always_tried(
            exact.test_sizes_are_those_of_whole_numbers_of_any_length, {"scale": exact.ONE, "parts": exact.LONG}
        ),
        planted_in("combine_magnitudes", "wholes >= MANY_SCALES", "wholes < 0"),
    )


def test_random_bits_that_are_drawn_elsewhere(tmp_path: Path) -> None:
    """Of the operating system, past the sampler; or of the sampler, past the kernel."""
    broken = tmp_path / "mechanisms" / "hasty.py"
    broken.parent.mkdir()

    def guard() -> None:
        architecture.test_only_the_kernel_asks_a_source_and_only_noise_draws_noise(broken)

    with planted(lambda patched: patched.setattr(architecture, "SRC", tmp_path)):
        broken.write_text("import os\n\nhere = os.getcwd()\n")
        guard()
        for text in (
            "import os\n\nbits = os.urandom(8)\n",
            "from os import urandom\n",
            "from gridveil.trusted.kernel.discrete_laplace import draw_words\n",
            "from gridveil.trusted.kernel import discrete_laplace\n",
        ):
            broken.write_text(text)
            with pytest.raises(AssertionError):
                guard()
