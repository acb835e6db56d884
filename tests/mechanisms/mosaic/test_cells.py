from __future__ import annotations

import numpy as np
import pytest

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.mechanisms.inference.cells import Lumps
from gridveil.mechanisms.inference.field import Evidence, FieldLevel, Waves, fit_field
from gridveil.mechanisms.inference.totals import NoiseBins
from gridveil.trusted.kernel.session import Measurement
from gridveil.trusted.kernel.staircase import choose_staircase

BOUND = 80_000


def people(support: list[float], weights: list[float]) -> TotalsDistribution:
    return TotalsDistribution(
        100.0, 0.1, np.array(support), np.array(weights), np.full(200, 100.0), np.tile(np.array(weights), (200, 1))
    )


def bins(epsilon: float, *, staircase: bool) -> NoiseBins:
    zero = np.zeros(1, dtype=np.int64)
    if not staircase:
        return NoiseBins.of(Measurement(zero, np.array([BOUND / epsilon])))
    stairs = choose_staircase(BOUND, epsilon)
    return NoiseBins.of(Measurement(zero, np.array([(stairs.variance / 2) ** 0.5]), stairs))


@pytest.mark.parametrize(("epsilon", "staircase"), [(1.0, False), (0.8, True), (3.0, True), (17.0, True)])
def test_bins_hold_all_noise_and_its_variance(epsilon: float, *, staircase: bool) -> None:
    noise = bins(epsilon, staircase=staircase)
    width, middle = np.diff(noise.edges), (noise.edges[1:] + noise.edges[:-1]) / 2
    assert float(noise.mass @ width) == pytest.approx(1.0, abs=1e-6)
    assert float((noise.mass * width) @ (middle**2 + width**2 / 12)) == pytest.approx(noise.deviation**2, rel=0.02)


def test_compound_has_its_moments() -> None:
    population = people([10_000.0, 30_000.0, 200_000.0], [0.5, 0.3, 0.2])
    lumps = Lumps.of(population, BOUND, 0.3, 60.0 * BOUND, bins(3.0, staircase=True))
    sums = np.arange(lumps.mass.shape[1]) * lumps.step
    rates = np.exp(lumps.log_rates)
    few = rates < 10
    mean, second = population.mean(BOUND), population.second(BOUND)
    of_sums = lumps.mass[few] @ sums
    np.testing.assert_allclose(lumps.mass[few].sum(axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(of_sums, rates[few] * mean, rtol=2e-3)
    variance = lumps.mass[few] @ sums**2 - of_sums**2
    np.testing.assert_allclose(variance, rates[few] * second + 0.3 * (rates[few] * mean) ** 2, rtol=1e-2)


@pytest.mark.parametrize(("epsilon", "staircase"), [(1.0, False), (3.0, True), (6.0, True)])
def test_posterior_is_bayes_rule(epsilon: float, *, staircase: bool) -> None:
    """Against simulation of the prior: 400 000 towns weighted by the likelihood of what was measured."""
    random = np.random.default_rng(3)
    support, weights = np.linspace(5_000, 120_000, 2000), np.full(2000, 1 / 2000)  # so many that no atom shows
    noise = bins(epsilon, staircase=staircase)
    lumps = Lumps.of(people(list(support), list(weights)), BOUND, 0.3, 40.0 * BOUND, noise)
    at = int(np.searchsorted(lumps.log_rates, 0.3))
    rates = np.exp(lumps.log_rates[at]) * random.gamma(1 / 0.3, 0.3, 400_000)
    number = random.poisson(rates)
    totals = np.minimum(random.choice(support, int(number.sum())), BOUND)
    sums = np.bincount(np.repeat(np.arange(len(number)), number), totals, len(number))
    for noisy in (-30_000.0, 20_000.0, 70_000.0, 260_000.0):
        weight = noise.at(noisy - sums)
        posterior = lumps.posterior(np.array([noisy]), np.array([at]), noise)
        effective = weight.sum() ** 2 / (weight**2).sum()
        expected = float(weight @ sums / weight.sum())
        spread = float(weight @ (sums - expected) ** 2 / weight.sum()) ** 0.5
        allowed = 6 * spread / effective**0.5 + 0.03 * noise.deviation + lumps.step / 2  # 6 sigma, bins, grid
        assert abs(float(posterior.mean()[0]) - expected) < allowed
        drawn = posterior.draw(np.zeros(4000, dtype=np.int64), random.random(4000))
        assert abs(drawn.mean() - float(posterior.mean()[0])) < 6 * drawn.std() / 4000**0.5 + 1.0
        chance = np.exp(lumps.evidence(np.array([noisy]), noise)[at, 0])
        assert chance == pytest.approx(
            weight.mean(), rel=0.1, abs=6 * weight.std() / 400_000**0.5
        )  # bins are a quarter scale wide


def test_exact_measurement_is_believed() -> None:
    noise = bins(1e6, staircase=True)
    lumps = Lumps.of(people([10_000.0, 30_000.0], [0.5, 0.5]), BOUND, 0.3, 10.0 * BOUND, noise)
    values = np.array([0.0, 10_000.0, 12_345.0, 700_000.0])
    np.testing.assert_allclose(lumps.mean(np.zeros(4), values, noise), values, atol=2.0)


def test_field_finds_a_hill_and_a_plain() -> None:
    region = np.arange(8)
    waves = Waves.of(region, region, 8)
    log_rates = np.linspace(-5, 8, 60)
    level = FieldLevel(np.log(64 * 20.0), 0.01)
    hill = 3 - 0.1 * ((region[:, None] - 3.5) ** 2 + (region - 3.5) ** 2).ravel()
    for truth in (hill, np.full(64, 3.0)):
        # Numbers of households, all known: the evidence of a rate is Poisson's.
        evidence = Evidence.of(log_rates, np.exp(truth) * log_rates[:, None] - np.exp(log_rates)[:, None])
        found = fit_field(waves, waves.prior(1.0, 2.0), evidence, np.zeros(64), level, np.zeros(64))
        errors = waves.regions @ found.coefficients - truth
        assert np.abs(errors).max() < 4 * found.variances(waves.regions).max() ** 0.5
        np.testing.assert_allclose(waves.at_cells(found.coefficients).ravel(), waves.regions @ found.coefficients)
