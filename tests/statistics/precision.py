"""The precision attack: noise that is a float has fewer digits to spare where the true value is large, and shows it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ruled_out(answers: ArrayLike, value: float) -> NDArray[np.bool_]:
    """Return which answers `value`, a whole number, plus noise in floats can never have made.

    An answer below half of the value needs noise of at least half of it, which floats only have in multiples of their
    spacing there. The value is such a multiple too, and so is their sum, which floats hold without rounding.
    """
    seen = np.asarray(answers, dtype=np.float64)
    return np.asarray((np.abs(seen) < value / 2) & (np.remainder(seen, np.spacing(value / 2)) != 0))
