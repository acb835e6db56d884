"""How right the private correction is where households are not like London's: mixtures, businesses, solar, all alike.

python benchmarks/populations.py --lcl PATH --out FILE.json [--seeds 40]

Only households' window totals matter: each town's noisy histogram is drawn, fitted, and the correction at the bound
that follows is compared with the true one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from gridveil.cli import show
from gridveil.mechanisms.bounds.bounds import choose_space_bound
from gridveil.mechanisms.bounds.population import Bins, fit_population, histogram_epsilon
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.research.datasets.london import HalfTowns
from gridveil.trusted.budget import Bound

STEP_BOUND, STEPS, CELLS, SPACE = 23_000, 120, 1024, 0.8
HOUR = 1000.0  # Wh
SIZES, EPSILONS = (250, 1024, 2200), (1.0, 3.0, 10.0, 30.0)
SLACK = 0.001
FIRST_SEED = 10_000
"""Settings were chosen on towns with smaller seeds."""

Totals = Callable[[int, np.random.Generator], Floats]


def of_london(readings: Ints, number: int, random: np.random.Generator) -> Floats:
    """Return totals of London households."""
    return np.asarray(readings[random.choice(len(readings), number, replace=False)].sum(axis=1), dtype=np.float64)


def with_businesses(readings: Ints, number: int, random: np.random.Generator) -> Floats:
    """Return the same, one household in twenty using twenty times as much, as far as its supply allows."""
    some = readings[random.choice(len(readings), number, replace=False)]
    factor = np.where(random.random(number) < 0.05, 20, 1)
    return np.asarray(np.minimum(some * factor[:, None], STEP_BOUND).sum(axis=1), dtype=np.float64)


def heated(number: int, random: np.random.Generator) -> Floats:
    """Return totals of flats, a quarter of which are heated by electricity."""
    heats = random.random(number) < 0.25
    means = np.where(heats, 1.8, 0.22) * STEPS * HOUR
    return np.asarray(means * np.exp(np.where(heats, 0.35, 0.4) * random.standard_normal(number)))


def solar(number: int, random: np.random.Generator) -> Floats:
    """Return totals of homes with solar panels, of which some take nothing from the grid."""
    return random.lognormal(np.log(0.12 * STEPS * HOUR), 1.1, number) * (random.random(number) > 0.15)


def alike(number: int, random: np.random.Generator) -> Floats:
    """Return totals that are all the same."""
    return np.full(number, random.uniform(0.3, 0.7) * STEPS * HOUR)


def correction(totals: Totals, number: int, epsilon: float, seed: int) -> tuple[float, bool]:
    """Return by how much (as a logarithm) the correction is off, and whether its draws cover the true one."""
    random = np.random.default_rng(seed)
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), STEPS)
    bins = Bins.of(window, Bound(STEP_BOUND, STEP_BOUND * STEPS))
    true = totals(number, random)
    cost = histogram_epsilon(epsilon)
    counts = np.histogram(true, np.append(bins.edges, np.inf))[0]
    noisy = counts + np.rint(random.laplace(0.0, 1 / cost, len(counts)))
    population = fit_population(bins, noisy, 1 / cost, cost)
    bound = choose_space_bound(population, SPACE * (epsilon - cost), "laplace", CELLS)
    wanted = true.sum() / np.minimum(true, bound).sum()
    low, high = np.quantile(population.debias_draws(bound), [0.025, 0.975])
    return float(np.log(population.debias(bound) / wanted)), bool(low - SLACK <= wanted <= high + SLACK)


def main() -> None:
    """Run it, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lcl", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=40)
    given = parser.parse_args()
    readings = HalfTowns(given.lcl)("report-all", "uniform", 0).dataset.readings[:, -STEPS:]
    kinds: dict[str, Totals] = {
        "London": partial(of_london, readings),
        "one in 20 a business, 20 times the use": partial(with_businesses, readings),
        "flats, a quarter heated by electricity": heated,
        "solar homes, 15 % take nothing": solar,
        "all alike": alike,
    }
    rows = []
    asked = list(product(kinds, SIZES, EPSILONS))
    with show.bars() as tell:
        for done, (kind, number, epsilon) in enumerate(asked, start=1):
            seeds = range(FIRST_SEED, FIRST_SEED + given.seeds)
            off, covered = zip(*(correction(kinds[kind], number, epsilon, seed) for seed in seeds), strict=True)
            rows.append(
                {
                    "population": kind,
                    "households": number,
                    "epsilon": epsilon,
                    "bias": float(np.expm1(np.mean(off))),
                    "rms": float(np.sqrt(np.mean(np.square(off)))),
                    "covered": float(np.mean(covered)),
                }
            )
            tell("populations", done / len(asked))
    given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
