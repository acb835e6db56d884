"""The errors of one released cube, on every workload, against both truths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.model.arrays import Floats, Ints, box_sums, prefix_sums
from gridveil.research.datasets.dataset import Placed
from gridveil.simulate.rehearse import bias, mae, mre, mre_authors, mre_floor, wape
from gridveil.simulate.workloads import AUTHORS, QUERIES, draw_workload

Record = dict[str, Any]
"""One line of a comparison, as it is written to JSON."""

TRUTHS = ("raw", "clipped")
"""What was consumed, and the same with every reading cut at a public clip: the paper scores against the second."""


@dataclass(frozen=True)
class Scorer:
    """The queries of each workload, and their true answers by truth and workload, kWh."""

    ranges: dict[str, Ints]
    truths: dict[tuple[str, str], Floats]

    @classmethod
    def of(
        cls, placed: Placed, *, clip: int, workloads: tuple[str, ...], seed: int = 0, queries: int = QUERIES
    ) -> Scorer:
        """Draw the queries and answer them truthfully. `clip` in Wh cuts single readings."""
        cubes = {"raw": placed.truth(), "clipped": placed.truth(clip)}
        ranges = {name: draw_workload(name, cubes["raw"].shape, seed, queries) for name in workloads}
        truths: dict[tuple[str, str], Floats] = {}
        for kind, cube in cubes.items():
            prefix = prefix_sums(cube, axes=(0, 1, 2))
            truths |= {(kind, name): box_sums(prefix, asked) for name, asked in ranges.items()}
        return cls(ranges, truths)

    def score(self, cube: Floats) -> list[Record]:
        """Return the errors of a cube, kWh (x, y, t): one record per workload and truth.

        Where the cube is NaN nothing was published: it is taken for zero, as a reader who adds up a table with gaps
        would, and `suppressed` counts the queries that touch such a place. An error that is not defined (all truths are
        zero) is `None`.
        """
        gaps = np.isnan(cube)
        prefix = prefix_sums(np.where(gaps, 0.0, cube), axes=(0, 1, 2))
        gap_prefix = prefix_sums(gaps.astype(np.float64), axes=(0, 1, 2)) if gaps.any() else None
        records = []
        for name, asked in self.ranges.items():
            answers = box_sums(prefix, asked)
            suppressed = 0 if gap_prefix is None else int(np.count_nonzero(box_sums(gap_prefix, asked) > 0.5))  # noqa: PLR2004  # a count, but for rounding
            for kind in TRUTHS:
                errors = _errors(self.truths[kind, name], answers, authors=name in AUTHORS)
                records.append({"workload": name, "truth": kind, **errors, "suppressed": suppressed})
        return records


def _errors(truth: Floats, answers: Floats, *, authors: bool) -> Record:
    relative = mre_authors(truth, answers) if authors else mre(truth, answers)
    measured = {
        "mre": relative.percent,
        "mre_floor": mre_floor(truth, answers),
        "wape": wape(truth, answers),
        "mae": mae(truth, answers),
        "bias": bias(truth, answers),
    }
    defined = {name: value if math.isfinite(value) else None for name, value in measured.items()}
    return {**defined, "zero_truths": relative.left_out, "queries": len(truth)}
