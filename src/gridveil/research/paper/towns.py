"""The data of the paper's experiments: where processes find them, and the public bounds they are measured under."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.bounds import own_bound
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.dataset import Dataset, PlacedDataset, place_dataset
from gridveil.research.datasets.london import read_density
from gridveil.research.datasets.synthetic import CLIPS
from gridveil.trusted.kernel.bound import Bound

LONDON = "lcl"
STANDINS = tuple(CLIPS)
GRID = (32, 32)
STEPS = 120

LONDON_CLIP = 1_140
"""Wh per hour, for London: mean and standard deviation of readings added up, as the paper's factors are."""
GENEROUS_STEP = 20_000
"""Wh: a step bound that hardly any hour of any household reaches."""
LONDON_COMMON = Bound(GENEROUS_STEP, LONDON_CLIP * STEPS)
"""The window bound that the clip would allow, without cutting single hours: as much noise, less energy cut away."""
LONDON_TUNED_FROM = Bound(GENEROUS_STEP, 192_000)
"""What the factors of own bounds were tuned from, on other hours of London households."""


def title(dataset: str) -> str:
    """Return a data set's name for readers, who must not take a stand-in for what it stands for."""
    return "London" if dataset == LONDON else f"{dataset} (stand-in)"


def clip_of(dataset: str) -> int:
    """Return the public clip of a reading, Wh: of the stand-ins it is the paper's."""
    return LONDON_CLIP if dataset == LONDON else CLIPS[dataset]


def plain_clip(dataset: str) -> Bound:
    """Return the paper's kind of bound: every step is cut at the clip, and nothing else."""
    return Bound(clip_of(dataset), clip_of(dataset) * STEPS)


def common_bound(dataset: str) -> Bound:
    """Return the bound that all methods share on a data set."""
    return LONDON_COMMON if dataset == LONDON else plain_clip(dataset)


@cache
def method_bound(dataset: str, mechanism: str, epsilon: float) -> Bound:
    """Return a method's own bound on a data set; for a baseline, which ignores bounds, the common one.

    Factors tuned on London hours are applied to what the paper's clip allows in a window, with a generous step bound.
    """
    if mechanism in COMPARISON_ONLY:
        return common_bound(dataset)
    tuned_from = LONDON_TUNED_FROM if dataset == LONDON else Bound(GENEROUS_STEP, clip_of(dataset) * STEPS)
    return own_bound(mechanism, epsilon, tuned_from, STEPS)


@dataclass(frozen=True)
class PaperTowns:
    """Finds a data set, placed: stand-ins by name, London in the packaged sample or a file.

    points, weight: the table and its column that the placement `density` draws from.
    """

    lcl: str | None = None
    points: str | None = None
    weight: str = "weight"

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        """Return the same households for every seed, elsewhere."""
        points = read_density(self.points or "", self.weight) if placement == "density" else None
        return place_dataset(_open(dataset, self.lcl), placement, GRID, seed, points)

    def dataset(self, name: str) -> Dataset:
        """Return a data set without places."""
        return _open(name, self.lcl)

    def about(self) -> dict[str, Any]:
        """Return digests of the data: trials of other data are not mixed in."""
        digest = hashlib.sha256(self.dataset(LONDON).readings.tobytes()).hexdigest()
        points = hashlib.sha256(Path(self.points).read_bytes()).hexdigest() if self.points else None
        return {"lcl": digest, "points": points, "weight": self.weight if points else None}


@lru_cache(maxsize=len(STANDINS) + 1)
def _open(name: str, lcl: str | None) -> Dataset:
    return open_dataset(name, Path(lcl) if lcl else None)
