"""How households' window totals are distributed, from a noisy histogram, and the bounds and corrections it gives."""

from gridveil.mechanisms.bounds.bounds import (
    PrivateBound,
    choose_bound,
    choose_common_bound,
    choose_space_bound,
    debias_estimate,
)
from gridveil.mechanisms.bounds.population import DRAWS, TotalsDistribution, histogram_epsilon, measure_population

__all__ = [
    "DRAWS",
    "PrivateBound",
    "TotalsDistribution",
    "choose_bound",
    "choose_common_bound",
    "choose_space_bound",
    "debias_estimate",
    "histogram_epsilon",
    "measure_population",
]
