"""What the paper's text says of STPT in detail (pattern, buckets, depth, run time), beside our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.scoring import Record
from gridveil.research.paper.comparison import PAPERS
from gridveil.research.paper.experiments import PAPER_PER_POINT
from gridveil.research.paper.findings import PAPERS_OWN, PaperFinding, of, verdict, yes
from gridveil.research.paper.numbers import Lines, select
from gridveil.research.paper.towns import title

KNEE = (0.01, 0.05)
"""Epsilon per training point: where the paper sees the pattern become useful."""
HALF = 0.5
NOTICEABLE = 1.05
"""An error that is 5 % larger than another is more than fluctuation."""
FEW_SECONDS = 10.0


def pattern_findings(rows: list[Record]) -> Iterator[PaperFinding]:
    """Yield findings on the pattern's error against budget and depth, for each data set and method."""
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        for method in dict.fromkeys(row["mechanism"] for row in rows):
            here = [row for row in rows if row["dataset"] == dataset and row["mechanism"] == method]
            depth = _usual_depth(here)
            by_budget = {row["per_point"]: row for row in here if row["depth"] == depth}
            if len(by_budget) > 1 and all(point in by_budget for point in KNEE):
                yield _knee(dataset, method, dict(sorted(by_budget.items())))
            by_depth = {row["depth"]: row for row in here if row["per_point"] == PAPER_PER_POINT}
            if len(by_depth) > 1:
                yield _best_depth(dataset, method, dict(sorted(by_depth.items())))


def _usual_depth(rows: list[Record]) -> int:
    """Return the depth that the budgets were varied at: the one with most rows."""
    depths = [row["depth"] for row in rows]
    return int(max(set(depths), key=depths.count)) if depths else 0


def _knee(dataset: str, method: str, rows: dict[float, Record]) -> PaperFinding:
    points = list(rows)
    low, high = points[0], points[-1]
    errors = {point: rows[point]["mae"] for point in points}
    fall, inside = errors[low] - errors[high], errors[KNEE[0]] - errors[KNEE[1]]
    flat = rows[high]["flat_mae"]
    percent = 100 * (1 - errors[KNEE[1]] / errors[KNEE[0]])
    told = ", ".join(f"{errors[point]:.3f} at {point:g}" for point in dict.fromkeys([low, *KNEE, high]))
    words = f"MAE {told} per point: from {KNEE[0]:g} to {KNEE[1]:g} it {_changes(percent)}"
    if fall > 0 and inside > 0:
        words += f", which is {100 * inside / fall:.0f} % of the whole fall"
    words += f". A constant pattern at the true mean has {flat:.3f}."
    return PaperFinding(
        f"Budget of the pattern: {title(dataset)}, {method}",
        "A significant improvement is observed when the budget per training point is increased from 0.01 to 0.05.",
        words,
        yes(fall > 0 and inside >= HALF * fall),
        {"mae": errors, "rmse": {point: row["rmse"] for point, row in rows.items()}, "flat_mae": flat},
        "The budget at which noise stops to matter depends on how many households there are and on the clip; the paper "
        "does not say on which data it varied it, nor in what units.",
        counts=method == PAPERS_OWN,
    )


def _changes(percent: float) -> str:
    return f"falls by {percent:.0f} %" if percent > 0 else f"grows by {-percent:.0f} %"


def _best_depth(dataset: str, method: str, rows: dict[int, Record]) -> PaperFinding:
    errors = {depth: row["mae"] for depth, row in rows.items()}
    best, depths = min(errors, key=errors.__getitem__), list(errors)
    squares = {depth: row["rmse"] for depth, row in rows.items()}
    words = ", ".join(f"{depth}: {error:.3f}" for depth, error in errors.items())
    by_squares = min(squares, key=squares.__getitem__)
    return PaperFinding(
        f"Depth of the quadtree: {title(dataset)}, {method}",
        "Augmenting the tree depth up to a certain point enhances performance; a medium tree length is advantageous.",
        f"MAE by depth {words}. Best at depth {best} (by RMSE {by_squares}); "
        f"a constant pattern at the true mean has {rows[best]['flat_mae']:.3f}.",
        yes(min(errors[depths[0]], errors[depths[-1]]) > NOTICEABLE * errors[best]),
        {"mae": errors, "rmse": squares},
        "With every depth blocks have a quarter of the households for the same noise. The plain pattern takes noise "
        "for structure; the refined one weighs each depth by its known noise, so that more depth hardly hurts it.",
        counts=method == PAPERS_OWN,
    )


def bucket_findings(lines: Lines) -> Iterator[PaperFinding]:
    """Yield a finding on the number of buckets for each data set and method."""
    for dataset in dict.fromkeys(case.dataset for case in lines):
        for method in dict.fromkeys(case.mechanism for case in lines):
            errors = bucket_errors(lines, dataset, method)
            if len(errors) < 2:  # noqa: PLR2004  # a trend needs two
                continue
            best, most = min(errors, key=errors.__getitem__), max(errors)
            words = ", ".join(f"{count}: {error:.1f}" for count, error in errors.items())
            yield PaperFinding(
                f"Buckets: {title(dataset)}, {method}",
                "Excessive increase in the number of quantization levels can negatively impact STPT.",
                f"MRE of random queries by k, %: {words}. With {most} buckets it is "
                f"{errors[most] / errors[best]:.2f} times the best (k = {best}).",
                yes(errors[most] > NOTICEABLE * errors[best]),
                {"mre": errors},
                "Cells that the pattern believes equal are in one bucket anyway; under joint calibration (`stpt`) more "
                "buckets cost no more noise.",
                counts=method == PAPERS_OWN,
            )


def bucket_errors(lines: Lines, dataset: str, method: str, workload: str = "random") -> dict[int, float]:
    """Return MRE by number of buckets, against the clipped truth."""
    found = select(lines, dataset=dataset, mechanism=method, workload=workload, truth="clipped", bound="common")
    errors = {int(case.parameters.rpartition("buckets=")[2]): line.mre.mean for case, line in found.items() if line.mre}
    return dict(sorted(errors.items()))


def runtime_findings(records: list[Record]) -> Iterator[PaperFinding]:
    """Yield findings on run time."""
    times = seconds_of(records)
    ranked = {name: seconds for name, seconds in times.items() if name not in COMPARISON_ONLY}
    theirs = [name for name in ranked if name in PAPERS]
    if not theirs:
        return
    slow = sorted(ranked, key=ranked.__getitem__, reverse=True)
    few = [name for name in ranked if ranked[name] <= FEW_SECONDS]
    theirs_few = [name for name in few if name in PAPERS]
    words = ", ".join(f"`{name}` {ranked[name]:.1f} s" for name in slow[:4])
    yield PaperFinding(
        "Run time",
        "The execution time for all algorithms is remarkably small, typically spanning just a few seconds.",
        f"{of(theirs_few, theirs)} of the paper's methods take {FEW_SECONDS:g} s or less with real noise, and "
        f"{of(few, list(ranked))} of all here; the slowest of all are {words}; the median is "
        f"{median(ranked.values()):.2f} s.",
        *verdict(theirs_few, theirs, {"seconds": times}),
    )
    shares = {
        name: median(r["learning"] / r["seconds"] for r in records if r["mechanism"] == name and r["learning"])
        for name in (PAPERS_OWN, "stpt")
        if any(r["mechanism"] == name and r["learning"] for r in records)
    }
    for name, share in shares.items():
        yield PaperFinding(
            f"Training of {name}",
            "A significant portion of STPT's complexity stems from the initial training phase.",
            f"Until the pattern is learnt, {100 * share:.0f} % of `{name}`'s time goes by.",
            yes(share > HALF),
            {"share": share},
            counts=name == PAPERS_OWN,
        )


def seconds_of(records: list[Record]) -> dict[str, float]:
    """Return the median time of each method."""
    names = dict.fromkeys(record["mechanism"] for record in records)
    return {name: median(r["seconds"] for r in records if r["mechanism"] == name) for name in names}
