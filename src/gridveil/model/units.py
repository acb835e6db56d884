"""Units and types of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WH_PER_KWH = 1000
"""Sums are whole watt-hours up to the files of a release, which have kilowatt-hours."""
