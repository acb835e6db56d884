"""Methods that look at true values or promise less than a mechanism: for comparisons only, never published."""

from gridveil.research.nonprivate.base import Yardstick
from gridveil.research.nonprivate.registry import make, names, promise, summary

__all__ = ["Yardstick", "make", "names", "promise", "summary"]
