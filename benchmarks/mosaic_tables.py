"""Tables of what benchmarks/mosaic.py and districts.py have found."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from gridveil.research.compare.results import method_of
from gridveil.research.compare.study import Record
from gridveil.uncertainty.laplace import t_quantile

OUTER = ("outer", "common")
MOSAIC = ("mosaic", "auto")
STAIRCASE = ("mosaic:noise=staircase", "auto")
RIVALS = ("even", "outer", "stpt")
TARGETS = ("random", "large")
WORKLOADS = {"random": "random", "small": "1x1x1", "large": "10x10x10"}
BOUNDS = {"common": "150 kWh", "auto": "private"}
TOLERATED = 1.05
TWO_DIGITS = 10


class Key(NamedTuple):
    """What is averaged over repeats."""

    town: str
    epsilon: float
    method: str
    bound: str
    workload: str


Errors = dict[Key, dict[int, float]]
"""Mean relative errors, percent, by repeat."""


def read_errors(folder: Path, pattern: str, truth: str = "raw") -> Errors:
    """Return the errors of all trials in some files."""
    errors: Errors = {}
    for path in sorted(folder.glob(pattern)):
        for record in read_records(path):
            if record["truth"] == truth and record["mre"] is not None:
                town = f"{record['dataset'].partition('-')[2]} {record['placement']}"
                key = Key(town, record["epsilon"], method_of(record), record["bound"], record["workload"])
                errors.setdefault(key, {})[record["repeat"]] = record["mre"]
    return errors


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a study's file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield from json.loads(line).get("records", [])


def mean(errors: Errors, key: Key) -> float:
    """Return the mean over repeats; not a number if there are none."""
    return statistics.fmean(errors[key].values()) if key in errors else math.nan


def towns_of(errors: Errors) -> list[str]:
    """Return the towns in the order of the study."""
    return list(dict.fromkeys(key.town for key in errors))


def epsilons_of(errors: Errors) -> list[float]:
    """Return the epsilons."""
    return sorted({key.epsilon for key in errors})


def ratio(errors: Errors, method: tuple[str, str], epsilon: float, workload: str, to: tuple[str, str] = OUTER) -> float:
    """Return the geometric mean over towns of a method's mean error, relative to another's."""
    logs = [
        math.log(mean(errors, Key(town, epsilon, *method, workload)) / mean(errors, Key(town, epsilon, *to, workload)))
        for town in towns_of(errors)
    ]
    return math.exp(statistics.fmean(logs))


def ratio_table(errors: Errors) -> Iterator[str]:
    """Yield a table of all methods' errors relative to `outer` under the fixed bound, the best first."""
    epsilons = epsilons_of(errors)
    yield "| method | bound | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |"
    yield "|---" * (2 + len(epsilons)) + "|"
    methods = dict.fromkeys((key.method, key.bound) for key in errors)

    def order(method: tuple[str, str]) -> float:
        found = [ratio(errors, method, epsilon, TARGETS[0]) for epsilon in epsilons]
        return min((value for value in found if not math.isnan(value)), default=math.inf)

    for method in sorted(methods, key=order):
        cells = []
        for epsilon in epsilons:
            values = [ratio(errors, method, epsilon, workload) for workload in ("random", "large", "small")]
            cells.append("-" if math.isnan(values[0]) else " / ".join(f"{value:.2f}" for value in values))
        yield f"| `{method[0]}` | {BOUNDS[method[1]]} | " + " | ".join(cells) + " |"


def town_table(errors: Errors) -> Iterator[str]:
    """Yield a table of the errors town by town."""
    shown = [*product(RIVALS, BOUNDS), MOSAIC, STAIRCASE]
    heads = [f"`{name.replace(':noise=', ', ')}`, {BOUNDS[bound]}" for name, bound in shown]
    yield "| town | epsilon | " + " | ".join(heads) + " |"
    yield "|---" * (2 + len(shown)) + "|"
    for town, epsilon in product(towns_of(errors), epsilons_of(errors)):
        cells = []
        for method in shown:
            values = [mean(errors, Key(town, epsilon, *method, workload)) for workload in WORKLOADS]
            cells.append("-" if math.isnan(values[0]) else "/".join(_short(value) for value in values))
        yield f"| {town} | {epsilon:g} | " + " | ".join(cells) + " |"


def lost_table(errors: Errors) -> Iterator[str]:
    """Yield the cases in which the default is worse than the best of its rivals, with the interval over repeats."""
    yield "| town | epsilon | queries | best rival | its error | mosaic | ratio | mosaic less 1.05 times it |"
    yield "|---" * 8 + "|"
    for town, epsilon, workload in product(towns_of(errors), epsilons_of(errors), TARGETS):
        ours = errors.get(Key(town, epsilon, *MOSAIC, workload), {})
        rivals = {rival: mean(errors, Key(town, epsilon, *rival, workload)) for rival in product(RIVALS, BOUNDS)}
        best = min((rival for rival in rivals if not math.isnan(rivals[rival])), key=rivals.__getitem__)
        theirs = errors[Key(town, epsilon, *best, workload)]
        gaps = [ours[repeat] - TOLERATED * theirs[repeat] for repeat in ours if repeat in theirs]
        if gaps and statistics.fmean(ours.values()) > rivals[best]:
            half = t_quantile(len(gaps) - 1) * statistics.stdev(gaps) / math.sqrt(len(gaps))
            middle, own = statistics.fmean(gaps), statistics.fmean(ours.values())
            yield " | ".join(
                [
                    f"| {town} | {epsilon:g} | {WORKLOADS[workload]} | `{best[0]}`, {BOUNDS[best[1]]}",
                    f"{rivals[best]:.2f} | {own:.2f} | {own / rivals[best]:.2f}",
                    f"{middle:+.2f} ({middle - half:+.2f} to {middle + half:+.2f}) |",
                ]
            )


def authors_table(errors: Errors) -> Iterator[str]:
    """Yield the errors by the authors' scoring."""
    workloads = list(dict.fromkeys(key.workload for key in errors))
    yield "| method | epsilon | " + " | ".join(workload.removeprefix("authors-") for workload in workloads) + " |"
    yield "|---" * (2 + len(workloads)) + "|"
    for name, epsilon, bound in dict.fromkeys((key.method, key.epsilon, key.bound) for key in errors):
        town = towns_of(errors)[0]
        values = [mean(errors, Key(town, epsilon, name, bound, workload)) for workload in workloads]
        yield f"| `{name}` | {epsilon:g} | " + " | ".join(f"{value:.1f}" for value in values) + " |"


def districts_table(path: Path) -> Iterator[str]:
    """Yield what regional profiles are worth: districts one by one, London's towns together."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    yield "| town | epsilon | found in | random: one profile, regional, ratio | 10x10x10: the same |"
    yield "|---|---|---|---|---|"
    for row in rows:
        if row["town"].startswith("districts"):
            cells = [
                f"{row[f'{name} without']:.1f}, {row[f'{name} with']:.1f}, {row[f'{name} ratio']:.2f}"
                for name in TARGETS
            ]
            yield f"| {row['town']} | {row['epsilon']:g} | {row['found']} | " + " | ".join(cells) + " |"
    for epsilon in sorted({row["epsilon"] for row in rows if row["town"].startswith("London")}):
        here = [row for row in rows if row["town"].startswith("London") and row["epsilon"] == epsilon]
        found = sum(int(row["found"].split()[0]) for row in here), sum(int(row["found"].split()[2]) for row in here)
        cells = []
        for name in TARGETS:
            ratios = [row[f"{name} ratio"] for row in here]
            cells.append(f"ratio {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, at most {max(ratios):.3f}")
        yield f"| London, {len(here)} towns | {epsilon:g} | {found[0]} of {found[1]} | " + " | ".join(cells) + " |"


def populations_table(path: Path) -> Iterator[str]:
    """Yield how right the correction is in towns of other households."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    yield "| households | number | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |"
    yield "|---" * (2 + len(epsilons)) + "|"
    for kind, number in dict.fromkeys((row["population"], row["households"]) for row in rows):
        found = [row for row in rows if (row["population"], row["households"]) == (kind, number)]
        cells = [f"{row['bias']:+.0%} ± {row['rms']:.0%}, {row['covered']:.0%}" for row in found]
        yield f"| {kind} | {number:,} | " + " | ".join(cells) + " |"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= TWO_DIGITS else f"{value:.1f}"
