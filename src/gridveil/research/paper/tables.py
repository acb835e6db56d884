"""The tables of the paper's evaluation: errors averaged over repeats, mean ranks, and all of them as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.model.arrays import WH_PER_KWH
from gridveil.research.compare.results import mean_ranks
from gridveil.research.compare.study import Record
from gridveil.research.paper.experiments import ExperimentSize
from gridveil.research.paper.trials import method_bound
from gridveil.trusted.budget import Bound

Tables = dict[str, pd.DataFrame]
"""By name, as `make_tables` returns them: what figures are drawn from, and what is written as CSV."""

CASE = ["dataset", "placement", "epsilon", "bound", "workload", "truth", "mechanism", "parameters"]
"""What is averaged over repeats. `parameters` are those that are not the method's defaults."""
CONTEST = CASE[:6]
"""Methods are ranked among those that share these."""
MEASURES = ["mre", "mre_floor", "wape", "mae", "bias"]
SPREADS = ["mre", "wape"]
PATTERN = ["dataset", "placement", "mechanism", "depth", "per_point"]
RUNTIME = ["mechanism", "epsilon"]
COMPARISONS = ("london", "panels", "buckets", "leak")
PAPER_SETTING = {"bound": "common", "truth": "clipped"}
"""The paper's: one clip for all, and errors against readings cut at it."""
RANKED = {"panels": [("common", "clipped"), ("own", "raw")], "london": [("own", "raw"), ("common", "clipped")]}
"""The bounds and truths that methods are ranked under, by table."""


def make_tables(records: Mapping[str, list[Record]], size: ExperimentSize) -> Tables:
    """Return every table that has rows: `COMPARISONS`, `pattern`, `runtime`, `panels-ranks` and `london-ranks`."""
    tables = {name: average_errors(records[name]) for name in COMPARISONS if records.get(name)}
    if not size.own_bounds:
        # A few methods happen to have the common bound as their own: a table of these alone would mislead.
        tables = {name: select(table, bound="common") for name, table in tables.items()}
    if records.get("pattern"):
        tables["pattern"] = average_numbers(records["pattern"], PATTERN)
    if records.get("runtime"):
        medians = pd.DataFrame(records["runtime"]).groupby(RUNTIME)["seconds"].median()
        tables["runtime"] = average_numbers(records["runtime"], RUNTIME).join(
            medians.rename("seconds_median"), on=RUNTIME
        )
    ranks = {f"{name}-ranks": rank_methods(tables[name], RANKED[name]) for name in RANKED if name in tables}
    return tables | {name: table for name, table in ranks.items() if len(table)}


def write_tables(tables: Tables, folder: Path) -> None:
    """Write every table as CSV, numbers with the four digits that mean something, and remove those of before."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.csv"):
        old.unlink()
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.4g", lineterminator="\n")


def average_errors(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row for each case: the mean of each measure over the repeats in which it is defined, and their spread.

    The standard deviation of one repeat is missing: zero would be read as certainty.
    """
    table = pd.DataFrame(records).astype(dict.fromkeys(MEASURES, float))
    table["parameters"] = [format_parameters(parameters) for parameters in table["parameters"]]
    table["bound"] = [_bound_names(record) for record in table.to_dict("records")]
    cases = table.explode("bound").groupby(CASE, sort=False)
    averages = cases[MEASURES].mean().assign(**{f"{name}_sd": cases[name].std() for name in SPREADS})
    averages.insert(0, "repeats", cases.size())
    return averages.join(cases[["zero_truths", "suppressed"]].mean()).reset_index()


def average_numbers(records: Iterable[Record], keys: list[str]) -> pd.DataFrame:
    """Return mean and standard deviation (`<name>_sd`) of all other numbers of records that share the keys."""
    table = pd.DataFrame(records).drop(columns="repeat")
    groups = table.astype({name: float for name in table.columns if name not in keys}).groupby(keys)
    averages = groups.size().rename("repeats").to_frame()
    for name in table.columns.drop(keys):
        averages[name], averages[f"{name}_sd"] = groups[name].mean(), groups[name].std()
    return averages.reset_index()


def rank_methods(table: pd.DataFrame, settings: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return mean ranks by MRE (1 is best) over data sets, placements and workloads, at each epsilon and at all.

    Methods that promise less have no part. A contest that not all methods took part in, in a run that was stopped, does
    not count: where `all` covers fewer contests than a column for an epsilon, that is why.
    """
    parts = []
    for bound, truth in settings:
        contests = select(table, bound=bound, truth=truth)
        contests = contests[~contests["mechanism"].isin(COMPARISON_ONLY) & contests["mre"].notna()]
        errors = contests.set_index([*CONTEST, "mechanism"])["mre"]
        ranks = {"all": _rank_complete(errors)}
        for epsilon in sorted(contests["epsilon"].unique()):
            ranks[f"epsilon {epsilon:g}"] = _rank_complete(errors.xs(epsilon, level="epsilon", drop_level=False))
        ranked = pd.DataFrame(ranks).dropna(subset="all").sort_values("all", kind="stable")
        parts.append(ranked.rename_axis("mechanism").reset_index().assign(bound=bound, truth=truth))
    table = pd.concat(parts)
    return table[["bound", "truth", *table.columns.drop(["bound", "truth"])]]


def select(table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the rows with the values wanted."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Return parameters as text.

    >>> format_parameters({"depth": 2, "epochs": 5})
    'depth=2 epochs=5'
    """
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def format_repeats(table: pd.DataFrame) -> str:
    """Return how many repeats a table rests on.

    >>> format_repeats(pd.DataFrame({"repeats": [2, 10]})), format_repeats(pd.DataFrame({"repeats": [1]}))
    ('2 to 10 repeats', '1 repeat')
    """
    low, high = int(table["repeats"].min()), int(table["repeats"].max())
    return f"{low} to {high} repeats" if low < high else f"{low} repeat{'s' * (low > 1)}"


def has_own_bounds(table: pd.DataFrame) -> bool:
    """Whether methods were run under bounds of their own."""
    return bool(((table["bound"] == "own") & ~table["mechanism"].isin(COMPARISON_ONLY)).any())


def _rank_complete(errors: pd.Series[float]) -> pd.Series[float]:
    """Return mean ranks over the contests that all methods took part in."""
    methods = errors.groupby(level=CONTEST).transform("size")
    return mean_ranks(errors[methods == methods.max()], "mechanism")


def _bound_names(record: Mapping[Any, Any]) -> list[str]:
    """Return what a record's bound is: also the method's own, if that is the common one, which is run once."""
    if record["bound"] != "common":
        return [record["bound"]]
    own = method_bound(record["dataset"], record["mechanism"], record["epsilon"])
    here = Bound(round(record["bound_step"] * WH_PER_KWH), round(record["bound_window"] * WH_PER_KWH))
    return ["common", "own"] if own == here else ["common"]
