"""Records averaged over repeats: what figures, tables and sentences are made of, and what is written as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gridveil.model.arrays import WH_PER_KWH
from gridveil.research.compare.scoring import Record
from gridveil.research.compare.summary import MeanSpread
from gridveil.research.paper.towns import method_bound
from gridveil.trusted.kernel.bound import Bound

MEASURES = ("mre", "mre_floor", "wape", "mae", "bias")
SPREADS = ("mre", "wape")
DIGITS = 4


class PaperCase(NamedTuple):
    """What is averaged over repeats. `parameters` are those that are not the method's defaults."""

    dataset: str
    placement: str
    epsilon: float
    bound: str
    workload: str
    truth: str
    mechanism: str
    parameters: str = ""


@dataclass(frozen=True)
class ResultLine:
    """A case's errors over repeats; `None` where an error is not defined. Also how many queries were left out.

    With one repeat, standard deviations are not a number.
    """

    repeats: int
    mre: MeanSpread | None
    mre_floor: MeanSpread | None
    wape: MeanSpread | None
    mae: MeanSpread | None
    bias: MeanSpread | None
    zero_truths: float
    suppressed: float


Lines = dict[PaperCase, ResultLine]


def average(records: Iterable[Record]) -> Lines:
    """Return the errors of each case over its repeats."""
    found: dict[PaperCase, list[Record]] = {}
    for record in records:
        for bound in _names(record):
            found.setdefault(_case(record, bound), []).append(record)
    return {case: _line(held) for case, held in found.items()}


def select(lines: Lines, **wanted: object) -> Lines:
    """Return the lines whose case has the values wanted."""
    return {
        case: line
        for case, line in lines.items()
        if all(getattr(case, name) == value for name, value in wanted.items())
    }


def epsilons_of(lines: Lines) -> list[float]:
    """Return all epsilons of lines, ascending."""
    return sorted({case.epsilon for case in lines})


def by_mechanism(lines: Lines, measure: str = "mre", **wanted: object) -> dict[str, float]:
    """Return each method's mean error in the one contest that the values wanted describe.

    A method with parameters of its own is named with them, so that it stands beside the one without.
    """
    found: dict[str, float] = {}
    for case, line in select(lines, **wanted).items():
        spread: MeanSpread | None = getattr(line, measure)
        if spread is not None:
            found[f"{case.mechanism} {case.parameters}".strip()] = spread.mean
    return found


def write_lines(lines: Lines, path: Path) -> None:
    """Write lines as CSV: means, and standard deviations of the two measures that are told most."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        spreads = [f"{measure}_sd" for measure in SPREADS]
        writer.writerow([*PaperCase._fields, "repeats", *MEASURES, *spreads, "zero_truths", "suppressed"])
        for case, line in lines.items():
            means = [spread.mean if (spread := getattr(line, measure)) else "" for measure in MEASURES]
            sds = ["" if (sd := deviation(getattr(line, measure))) is None else sd for measure in SPREADS]
            writer.writerow(
                [*_texts(case), line.repeats, *map(rounded, [*means, *sds, line.zero_truths, line.suppressed])]
            )


def write_rows(rows: Sequence[Record], path: Path) -> None:
    """Write plain records as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([rounded(value) for value in row.values()] for row in rows)


def averaged_rows(records: Iterable[Record], keys: Sequence[str]) -> list[Record]:
    """Average all other numbers of plain records over those that share the keys; their spread is `<name>_sd`.

    One number has no spread: it is left empty.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    rows = []
    for values, held in sorted(groups.items(), key=lambda item: tuple(map(str, item[0]))):
        row: Record = dict(zip(keys, values, strict=True)) | {"repeats": len(held)}
        for name in held[0]:
            numbers = [record[name] for record in held if isinstance(record[name], float)]
            if name not in (*keys, "repeat") and numbers:
                row[name], sd = MeanSpread.of(numbers)
                row[f"{name}_sd"] = sd if len(numbers) > 1 else ""
            elif name not in (*keys, "repeat"):
                row[name] = row[f"{name}_sd"] = ""
        rows.append(row)
    return rows


def in_words(parameters: Iterable[tuple[str, Any]]) -> str:
    """Return parameters as text."""
    return " ".join(f"{name}={value}" for name, value in parameters)


def deviation(spread: MeanSpread | None) -> float | None:
    """Return the standard deviation, if there is one."""
    return None if spread is None or math.isnan(spread.deviation) else spread.deviation


def rounded(value: object) -> object:
    """Return a number with as many digits as mean something."""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _case(record: Record, bound: str) -> PaperCase:
    facts = {field: record[field] for field in PaperCase._fields if field not in {"bound", "parameters"}}
    return PaperCase(**facts, bound=bound, parameters=in_words(record["parameters"].items()))


def _names(record: Record) -> list[str]:
    """Return what a record's bound is: also the method's own, if that is the common one, which is run once."""
    if record["bound"] != "common":
        return [record["bound"]]
    own = method_bound(record["dataset"], record["mechanism"], record["epsilon"])
    here = Bound(round(record["bound_step"] * WH_PER_KWH), round(record["bound_window"] * WH_PER_KWH))
    return ["common", "own"] if own == here else ["common"]


def _line(held: list[Record]) -> ResultLine:
    spreads: dict[str, Any] = {}
    for measure in MEASURES:
        values = [record[measure] for record in held if record[measure] is not None]
        spreads[measure] = _spread(values) if values else None
    means = {name: sum(record[name] for record in held) / len(held) for name in ("zero_truths", "suppressed")}
    return ResultLine(repeats=len(held), **spreads, **means)


def _spread(values: list[float]) -> MeanSpread:
    """Return mean and standard deviation, which of one value is not a number: zero would be read as certainty."""
    return MeanSpread.of(values) if len(values) > 1 else MeanSpread(values[0], math.nan)


def _texts(case: PaperCase) -> list[str]:
    return [f"{value:g}" if isinstance(value, float) else str(value) for value in case]
