"""Regional deviations from one daily profile, shrunk by their noise.

Model: the bounded consumption of region `k` in phase `q` of the day is `e_k t_q (1 + g_kq)`, where `e` and `t` are
known well (regions' totals, the map's profile) and `g` is a Gaussian field, smooth in space and around the clock, whose
amplitude is learned. Measured are sums over regions and parts of the day with equal noise. All post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.model.arrays import Floats, Ints

AMPLITUDES = np.array([0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65, 0.9, 1.3])
"""Standard deviations of `g` that are thought possible, equally likely before anything is measured."""

REACHES = ((0.3, 2.5), (0.12, 2.5), (0.3, 1.2), (0.12, 1.2))
"""How far `g` reaches in space (as a part of the map's side) and around the clock (hours): equally likely."""


@dataclass(frozen=True)
class Setting:
    """Where regions and phases are, and what is known of them.

    centres (k, 2): of the regions, the map being the unit square. regions (k,): what each consumes under the bound of
    the measurement, Wh. hours (q,): middle of each phase of the day. profile (q,): the phases' parts of the
    consumption, sum 1. part (q,): which part of the day each phase is measured in.
    """

    centres: Floats
    regions: Floats
    hours: Floats
    profile: Floats
    part: Ints


@dataclass(frozen=True)
class RegionDeviations:
    """What is known of `g`: its mean (k, q), draws of what it may be (r, k, q), and its amplitude (posterior mean).

    Draws are of some half of each region, not all of it: queries cut through regions, and districts do so too.
    evidence: log of how much likelier the data are than without any deviations.
    """

    mean: Floats
    draws: Floats
    amplitude: float
    evidence: float


def infer_deviations(setting: Setting, sums: Floats, noise_variance: float, draws: int, seed: int) -> RegionDeviations:
    """Return the posterior of `g` given noisy sums (k, p), Wh, averaged over amplitudes and reaches.

    Errors in `e` and in `t` would look like deviations. Both lie in known directions, the same in all parts of
    a region or in all regions of a part: the data are projected to what is orthogonal to them, which leaves equal,
    independent noise. What remains factorises into space and time, so that each reach costs two small
    eigendecompositions.
    """
    bases = [_Basis.of(setting, *reach) for reach in REACHES]
    coordinates = [basis.coordinates(sums) for basis in bases]
    log_odds = np.array(
        [_compute_log_odds(b.spectrum, c, noise_variance) for b, c in zip(bases, coordinates, strict=True)]
    )  # (reach, amplitude)
    top = log_odds.max()
    weight = np.exp(log_odds - top)
    evidence = float(top + np.log(weight.mean()))
    weight /= weight.sum()
    mean = np.zeros((setting.regions.size, setting.hours.size))
    for basis, seen, of in zip(bases, coordinates, weight, strict=True):
        mean += basis.field(_compute_gain(basis.spectrum, noise_variance, of) * seen)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(weight.size, size=draws, p=weight.ravel())
    some = np.empty((draws, *mean.shape))
    for number, (basis, seen) in enumerate(zip(bases, coordinates, strict=True)):
        here = np.flatnonzero(chosen // AMPLITUDES.size == number)
        amplitudes = AMPLITUDES[chosen[here] % AMPLITUDES.size]
        some[here] = basis.sample(seen, noise_variance, amplitudes, rng) + basis.draw_within(amplitudes, rng)
    return RegionDeviations(mean, some, float(weight.sum(axis=0) @ AMPLITUDES), evidence)


@dataclass(frozen=True)
class _Basis:
    """The coordinates in which both noise and deviations are independent, for one reach.

    spectrum (i, j): variance of the deviations' part of each coordinate at amplitude 1, Wh^2.
    """

    left: Floats  # (k, i): data to coordinates
    right: Floats  # (p, j)
    left_field: Floats  # (k, i): coordinates to the field, before the gain
    right_field: Floats  # (q, j)
    left_root: Floats  # (k, k): a root of the prior covariance in space
    right_root: Floats  # (q, q)
    observe: tuple[Floats, Floats]  # the field to data: (k,), (p, q)
    spectrum: Floats
    half: float  # variance of half a region around the whole, at amplitude 1

    @classmethod
    def of(cls, setting: Setting, reach: float, hours: float) -> _Basis:
        """Prepare one reach."""
        away = np.linalg.norm(setting.centres[:, None] - setting.centres, axis=-1)
        apart = (setting.hours[:, None] - setting.hours + 12) % 24 - 12
        space = _centre(np.exp(-away / reach), setting.regions)
        # A squared exponential on the circle's chord, so that it is a covariance there too.
        chord = 24 / np.pi * np.sin(np.pi * apart / 24)
        time = _centre(np.exp(-0.5 * (chord / hours) ** 2), setting.profile)
        parts = np.zeros((setting.part.max() + 1, setting.hours.size))
        parts[setting.part, np.arange(setting.hours.size)] = setting.profile
        left = _find_complement(setting.regions)
        right = _find_complement(parts.sum(axis=1))
        seen = setting.regions[:, None] * left
        by = parts.T @ right
        left_values, turn = np.linalg.eigh(seen.T @ space @ seen)
        right_values, spin = np.linalg.eigh(by.T @ time @ by)
        return cls(
            left @ turn,
            right @ spin,
            space @ seen @ turn,
            time @ by @ spin,
            _factorise(space),
            _factorise(time),
            (setting.regions, parts),
            np.maximum(left_values, 0.0)[:, None] * np.maximum(right_values, 0.0),
            # Halves are half a side apart; a region is about one of equally many squares.
            half=0.5 * (1 - float(np.exp(-0.5 / np.sqrt(setting.regions.size) / reach))),
        )

    def coordinates(self, sums: Floats) -> Floats:
        """Return the coordinates (..., i, j) of sums (..., k, p)."""
        return np.asarray(self.left.T @ sums @ self.right)

    def field(self, coordinates: Floats) -> Floats:
        """Return the field (..., k, q) of coordinates (..., i, j)."""
        return np.asarray(self.left_field @ coordinates @ self.right_field.T)

    def sample(self, seen: Floats, noise_variance: float, amplitudes: Floats, rng: np.random.Generator) -> Floats:
        """Draw from the posterior, a field for each amplitude: of the prior, corrected by what it does not explain."""
        shape = (amplitudes.size, self.left_root.shape[0], self.right_root.shape[0])
        prior = amplitudes[:, None, None] * (self.left_root @ rng.normal(size=shape) @ self.right_root.T)
        regions, parts = self.observe
        noise = np.sqrt(noise_variance) * rng.normal(size=(amplitudes.size, *self.spectrum.shape))
        residual = seen - self.coordinates(regions[:, None] * (prior @ parts.T)) - noise
        power = amplitudes[:, None, None] ** 2
        return np.asarray(prior + self.field(power / (power * self.spectrum + noise_variance) * residual))

    def draw_within(self, amplitudes: Floats, rng: np.random.Generator) -> Floats:
        """Draw how half of each region differs from the whole, once for each amplitude."""
        shape = (amplitudes.size, self.left_root.shape[0], self.right_root.shape[0])
        deviation = np.sqrt(self.half) * amplitudes[:, None, None]
        return np.asarray(deviation * (rng.normal(size=shape) @ self.right_root.T))


def _compute_log_odds(spectrum: Floats, seen: Floats, noise_variance: float) -> Floats:
    """Return the log-likelihood of the coordinates at each amplitude, against that without deviations."""
    signal = AMPLITUDES[:, None, None] ** 2 * spectrum / noise_variance
    energy = seen**2 / noise_variance
    return np.asarray(0.5 * (energy * signal / (1 + signal) - np.log1p(signal)).sum(axis=(1, 2)))


def _compute_gain(spectrum: Floats, noise_variance: float, weight: Floats) -> Floats:
    """Return the factor from coordinates to the posterior mean, averaged over amplitudes by weight."""
    power = AMPLITUDES[:, None, None] ** 2
    return np.asarray((weight[:, None, None] * power / (power * spectrum + noise_variance)).sum(axis=0))


def _centre(covariance: Floats, weights: Floats) -> Floats:
    """Return the covariance of what is left of a field when its weighted mean is taken away."""
    total = weights.sum()
    even = np.full(weights.size, 1 / weights.size)
    centre = np.eye(weights.size) - (weights / total if total > 0 else even)
    return np.asarray(centre @ covariance @ centre.T)


def _find_complement(direction: Floats) -> Floats:
    """Return an orthonormal basis (n, n - 1) of what is orthogonal to a direction (to equal parts, if it is zero)."""
    along = direction if np.any(direction) else np.ones_like(direction)
    basis, _ = np.linalg.qr(np.column_stack([along, np.eye(direction.size)]))
    return np.asarray(basis[:, 1:])


def _factorise(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
