"""What a comparison costs beyond the method itself: 32 x 32 x 120, 300 queries x 3 workloads x 2 truths."""

from __future__ import annotations

import json
import time

from gridveil.research.compare.trial import Scorer
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.dataset import place_dataset
from gridveil.simulate.rehearse import WORKLOADS


def measure() -> dict[str, float]:
    placed = place_dataset(open_dataset("CER"), "uniform", (32, 32), 0)  # 5,000 households
    start = time.perf_counter()
    scorer = Scorer.of(placed, clip=1850, workloads=tuple(WORKLOADS))
    drawn = time.perf_counter()
    cube = placed.truth()
    ready = time.perf_counter()
    scorer.score(cube)
    return {"seconds": time.perf_counter() - ready, "seconds_once_per_repeat": drawn - start}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
