"""What is attacked: a town published by a mechanism, in memory and with the real noise, as `publish` would."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.mechanisms.registry import make
from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.model.window import Window
from gridveil.publishing.statement import release_with_private_bound
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.kernel import Kernel, Source
from gridveil.trusted.kernel.noise import Noise


@dataclass(frozen=True)
class Publication:
    """All that is public of a publication. A bound that is what the steps add up to is no bound: one is chosen."""

    mechanism: str
    epsilon: float
    window: Window
    bound: Bound

    @property
    def chooses_bound(self) -> bool:
        """Whether the bound on a household's total is chosen privately, and paid for from epsilon."""
        return self.bound.window >= self.bound.step * self.window.steps

    def release(self, source: Source, noise: Noise | None = None) -> Floats:
        """Return the released values, kWh (x, y, t); `noise` is the kernel's, by default the exact one."""
        kernel = Kernel(source, self.window, budget=PureDP(self.epsilon), bound=self.bound, noise=noise)
        mechanism = make(self.mechanism, {})
        if self.chooses_bound:
            estimate = release_with_private_bound(kernel, mechanism, error_bars=False)
        else:
            estimate = mechanism.release(kernel.session())
        return estimate.dense() / WH_PER_KWH
