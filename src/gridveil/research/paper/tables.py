"""Tables of the report, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.question import all_methods
from gridveil.research.compare.scoring import TRUTHS
from gridveil.research.compare.summary import MeanSpread
from gridveil.research.paper.numbers import Lines, PaperCase, ResultLine, deviation
from gridveil.research.paper.repeats import counted
from gridveil.simulate.workloads import WORKLOADS

COLUMNS = [("mre", workload) for workload in WORKLOADS] + [("wape", workload) for workload in WORKLOADS]
NOT_RUN = "-"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, of which the first is the head, as a Markdown table; the first column is text."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def folded(summary: str, content: str) -> str:
    """Return content that a reader opens."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def london_tables(lines: Lines, placement: str, epsilon: float) -> Iterator[tuple[str, str]]:
    """Yield (what it is of, table) of all methods at one placement and epsilon: MRE and WAPE, mean ± s.d., in %.

    Methods stand from best to worst by their MRE of random queries; those that promise less are below, in italics.
    Where methods have not as many repeats as each other, a column tells how many.
    """
    for bound in ("own", "common"):
        for truth in TRUTHS:
            cells = {
                (name, workload): line
                for name in all_methods()
                for workload in WORKLOADS
                if (line := lines.get(PaperCase("lcl", placement, epsilon, bound, workload, truth, name)))
            }
            names = [name for name in all_methods() if (name, "random") in cells]
            if not set(names) - set(COMPARISON_ONLY):
                continue
            names.sort(key=lambda name, cells=cells: (name in COMPARISON_ONLY, _mean(cells[name, "random"])))  # type: ignore[misc]  # mypy has no type for the default
            repeats = {name: cells[name, "random"].repeats for name in names}
            differ = len(set(repeats.values())) > 1
            head = ["method", *(f"{measure.upper()} {workload}" for measure, workload in COLUMNS)]
            head += ["repeats"] * differ
            rows = [
                [
                    f"*{name}*" if name in COMPARISON_ONLY else name,
                    *(_text(getattr(cells[name, workload], measure)) for measure, workload in COLUMNS),
                    *[str(repeats[name])] * differ,
                ]
                for name in names
            ]
            what = f"{placement}, epsilon {epsilon:g}, {bound} bound, {truth} truth, {counted(repeats.values())}"
            yield what, markdown([head, *rows])


def _mean(line: ResultLine) -> float:
    return line.mre.mean if line.mre else float("inf")


def _text(spread: MeanSpread | None) -> str:
    if spread is None:
        return NOT_RUN
    digits = 0 if abs(spread.mean) >= 100 else 1 if abs(spread.mean) >= 10 else 2  # noqa: PLR2004  # three digits
    sd = deviation(spread)
    return f"{spread.mean:,.{digits}f}" + ("" if sd is None else f" ± {sd:,.{digits}f}")
