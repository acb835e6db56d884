"""A window bound chosen privately, for any mechanism, and what it cut away put back by a factor."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gridveil.mechanisms.bounds.bounds import common_bound
from gridveil.mechanisms.bounds.fit import measure_population
from gridveil.mechanisms.bounds.histogram import histogram_epsilon
from gridveil.mechanisms.bounds.population import DRAWS, TotalsDistribution
from gridveil.model.estimate import Estimate, LinearNoise, NoisyParts, Replicates
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import NoiseKind, Session


@dataclass(frozen=True)
class PrivateBound:
    """A bound that was paid for, and the population it was chosen by."""

    bound: Bound
    population: TotalsDistribution


def choose_bound(measure: Session, noise: NoiseKind = "laplace") -> PrivateBound:
    """Measure the histogram of household totals, and choose one bound for all that a mechanism measures with the rest.

    Post-processing of the histogram, which is all that is spent here.
    """
    epsilon = histogram_epsilon(measure.epsilon)
    population = measure_population(measure, epsilon)
    best = common_bound(population, measure.epsilon - epsilon, noise, measure.grid.cells, measure.window.steps)
    return PrivateBound(Bound(measure.bound.step, min(best, measure.bound.window)), population)


def debiased(estimate: Estimate, chosen: PrivateBound) -> Estimate:
    """Return the estimate of consumption behind an estimate of bounded consumption: all of it times a factor.

    Replicates are each multiplied with a factor that may be true as well.
    """
    factor = chosen.population.debias(chosen.bound.window)
    errors = estimate.errors
    if isinstance(errors, NoisyParts):
        errors = replace(errors, scales=errors.scales * factor)
    elif isinstance(errors, LinearNoise):
        # One axis takes the factor; noise that is independent along all of them becomes a diagonal along time.
        time = np.eye(estimate.cube.shape[2]) if errors.time is None else errors.time
        errors = replace(errors, time=time * factor)
    elif isinstance(errors, Replicates):
        factors = chosen.population.debias_draws(chosen.bound.window)
        own = factors[np.arange(len(errors.space)) % DRAWS]
        errors = replace(errors, space=errors.space * own[:, None, None])
    details = {**estimate.details, "debias_factor": factor}
    return replace(estimate, values=estimate.cube.times(factor), errors=errors, details=details)
