"""Maps of a cube: one pixel per cell, on one colour scale for all."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.image import imsave

from gridveil.estimate import Floats

COLOURS = "inferno"
"""Dark to bright in even steps, also for colour-blind eyes."""


@dataclass(frozen=True)
class Scale:
    """Colours from zero to `top` kWh, by square root: quiet cells stay visible beside the centre."""

    top: float

    @classmethod
    def of(cls, truth: Floats) -> Scale:
        """Return the scale that the truth fills."""
        return cls(float(truth.max()) or 1.0)

    @property
    def norm(self) -> PowerNorm:
        """For matplotlib."""
        return PowerNorm(0.5, vmin=0, vmax=self.top, clip=True)

    def marks(self) -> list[tuple[float, float]]:
        """Return places on the colour bar (0 to 1) and their kWh."""
        return [(place, self.top * place**2) for place in (0, 0.25, 0.5, 0.75, 1)]


def map_uri(kwh: Floats, scale: Scale) -> str:
    """Return a map (x, y), north up, as the data URI of a PNG."""
    file = io.BytesIO()
    imsave(file, scale.norm(kwh.T), origin="lower", cmap=COLOURS, vmin=0, vmax=1, format="png")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def bar_uri() -> str:
    """Return the colours of a scale from left to right as the data URI of a PNG."""
    return map_uri(np.linspace(0, 1, 256)[:, None] ** 2, Scale(1.0))
