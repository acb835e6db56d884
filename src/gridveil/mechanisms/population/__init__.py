"""How households' window totals are distributed, from a noisy histogram, and the bounds and corrections it gives."""

from gridveil.mechanisms.population.bounds import common_bound, space_bound
from gridveil.mechanisms.population.fit import measure_population
from gridveil.mechanisms.population.histogram import histogram_epsilon
from gridveil.mechanisms.population.population import DRAWS, Population
from gridveil.mechanisms.population.private import PrivateBound, choose_bound, debiased

__all__ = [
    "DRAWS",
    "Population",
    "PrivateBound",
    "choose_bound",
    "common_bound",
    "debiased",
    "histogram_epsilon",
    "measure_population",
    "space_bound",
]
