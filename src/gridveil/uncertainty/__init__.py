"""Error models: what a mechanism says of its errors, and what a release answers intervals from."""

from gridveil.uncertainty.linear import LinearNoise
from gridveil.uncertainty.model import ErrorModel, Estimate
from gridveil.uncertainty.parts import NoisyParts
from gridveil.uncertainty.posterior import Posterior
from gridveil.uncertainty.replicates import RegionSums, Replicates

__all__ = ["KINDS", "ErrorModel", "Estimate", "LinearNoise", "NoisyParts", "Posterior", "RegionSums", "Replicates"]

KINDS: dict[str, type[ErrorModel]] = {model.kind: model for model in (NoisyParts, Replicates, LinearNoise, Posterior)}
"""Every error model by its name in a release's file."""
