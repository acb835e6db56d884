"""How households' window totals are distributed, from a noisy histogram, and the bounds and corrections it gives."""

from gridveil.mechanisms.bounds.bounds import PrivateBound, choose_bound, common_bound, debiased, space_bound
from gridveil.mechanisms.bounds.histogram import histogram_epsilon
from gridveil.mechanisms.bounds.population import DRAWS, TotalsDistribution, measure_population

__all__ = [
    "DRAWS",
    "PrivateBound",
    "TotalsDistribution",
    "choose_bound",
    "common_bound",
    "debiased",
    "histogram_epsilon",
    "measure_population",
    "space_bound",
]
