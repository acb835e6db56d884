"""A release without a public window bound: one is chosen privately first, and paid for from epsilon."""

from __future__ import annotations

from datetime import timedelta

from gridveil.mechanisms.base import Mechanism, Progress, silent
from gridveil.mechanisms.bounds import choose_bound, debiased
from gridveil.mechanisms.inference.true_consumption import about_the_truth
from gridveil.model.estimate import Estimate
from gridveil.trusted.kernel.kernel import Kernel

FACTOR = "debias_factor"
"""Where the details of an estimate say what its values were multiplied by for what private bounds cut."""


def release_with_private_bound(
    kernel: Kernel, mechanism: Mechanism, progress: Progress = silent, *, error_bars: bool = True
) -> Estimate:
    """Return what a mechanism makes of a kernel that has no window bound of its own (only what its steps add up to).

    A noisy histogram of household totals gives the bound; the mechanism measures under it with what remains, and its
    estimate is corrected for what the bound cuts. A mechanism with `chooses_bounds` does all of this itself. Without
    `error_bars` those of the noise alone are kept, which takes no time.

    Guarantee: the kernel's. It charges for the histogram, and the chosen bound follows from that alone.
    """
    if getattr(mechanism, "chooses_bounds", False):
        return mechanism.release(kernel.session(), progress)
    chosen = choose_bound(kernel.session())
    progress("choose the bound", 1.0)
    estimate = mechanism.release(kernel.session(chosen.bound), progress)
    if not error_bars:
        return debiased(estimate, chosen)
    return about_the_truth(estimate, chosen, timedelta(days=1) / kernel.session().window.step)
