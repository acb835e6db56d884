"""The tables of docs/attacks.md, from the kept result of the attacks alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gridveil.research.audit.bound import Rate
from gridveil.trusted.budget import attacker_rate

Record = Mapping[str, Any]

ORDER = (("stated", "canary"), ("private", "canary"), ("stated", "ordinary"), ("private", "ordinary"))


def make_tables(kept: Record) -> dict[str, str]:
    """Return every table of the page, and the sentences that have numbers in them, by the name of its place."""
    return {
        "setting": describe_setting(kept),
        "rules": make_rules(kept["rules"]),
        "borders": describe_borders(kept["borders"]),
        "summary": make_summary(kept["membership"]),
        "membership": make_membership(kept["membership"]),
        "values": make_values(kept["values"]),
        "difference": make_difference(kept["difference"], kept["guess"]),
        "releases": make_releases(kept["membership"]),
    }


def replace_tables(page: str, kept: Record) -> str:
    """Return the page with its tables replaced: each stands between two comments that name it."""
    for name, text in make_tables(kept).items():
        start, end = f"<!-- attacks: {name} -->", f"<!-- end: {name} -->"
        head, rest = page.split(start)
        page = f"{head}{start}\n\n{text}\n\n{end}{rest.split(end)[1]}"
    return page


def rate_of(record: Record) -> Rate:
    """Return the counts of a record."""
    return Rate(record["found"], record["present"], record["accused"], record["absent"])


def describe_setting(kept: Record) -> str:
    """Return what was attacked, in words."""
    household = kept["household"]
    return (
        f"Attacked was {kept['data']} (gridveil {kept['gridveil']}, {kept['made']}). The *ordinary* household used "
        f"{household['kwh']:.0f} kWh in these hours, as the median household does, and lives in a cell of "
        f"{household['members']} households. The *canary* is the worst household that the bounds admit, planted in the "
        "same cell: all that it may use, in one hour (under the stated bound) or in as few hours as its fuse allows."
    )


def describe_borders(facts: Record) -> str:
    """Return what a second publication with other borders gives away, in words."""
    return (
        f"Publishing the same town again under the 15/15 rule, with all borders {facts['metres']} m further east, "
        f"moves {facts['crossed']} households into another cell. Of {facts['alone']} of them the two publications have "
        "the exact curve between them: nobody else crossed a border of that cell."
    )


def make_rules(rules: Sequence[Record]) -> str:
    """Return what each count rule gives away in the town."""
    head = (
        *("rule", "cells published", "households in them"),
        *("exact curve, by subtracting two publications", "joining or leaving shows, as a cell appears or disappears"),
        "largest error of the curves",
    )
    rows = [
        (
            *(rule["name"], f"{rule['cells']} of {rule['occupied']}"),
            *(format_part(rule[key], rule["households"]) for key in ("published", "by_difference", "by_threshold")),
            f"{rule['largest_error_wh']} Wh ({rule['tried']} tried)" if rule["tried"] else "-",
        )
        for rule in rules
    ]
    return format_table(head, rows)


def make_summary(records: Sequence[Record]) -> str:
    """Return the few numbers to remember: the bound, and what the best attack attained on two households."""
    single = {_key(record): record for record in records if record["releases"] == 1}
    rows = []
    for epsilon in _epsilons(records):
        worst = single["identity", epsilon, "stated", "canary"]
        usual = single["mosaic", epsilon, "private", "ordinary"]
        rows.append((f"{epsilon:g}", format_percent(attacker_rate(epsilon)), format_rates(worst), format_rates(usual)))
    head = (
        *("epsilon", "nobody can do better than"),
        *("attained: the worst case, `identity`", "attained: an ordinary household, `mosaic` as by default"),
    )
    return format_table(head, [("count rule", "-", "100 % at 0 %", "100 % at 0 %"), *rows])


def make_membership(records: Sequence[Record]) -> str:
    """Return the best attack on every release: true positives with their interval, false ones as they were counted."""
    single = {_key(record): record for record in records if record["releases"] == 1}
    head = ("mechanism", "epsilon", "bound", *(f"{target}, {bounds} bound" for bounds, target in ORDER))
    rows = [
        (
            *(f"`{mechanism}`", f"{epsilon:g}", format_percent(attacker_rate(epsilon))),
            *(format_rates(single[mechanism, epsilon, bounds, target]) for bounds, target in ORDER),
        )
        for mechanism in dict.fromkeys(record["mechanism"] for record in records)
        for epsilon in _epsilons(records)
    ]
    return format_table(head, rows)


def make_values(records: Sequence[Record]) -> str:
    """Return what an attacker attained who has the released values only."""
    by = {(record["epsilon"], record["target"]): record for record in records}
    epsilons = dict.fromkeys(record["epsilon"] for record in records)
    rows = [
        (
            f"{epsilon:g}",
            format_percent(attacker_rate(epsilon)),
            *(format_rates(by[epsilon, name]) for name in ("canary", "ordinary")),
        )
        for epsilon in epsilons
    ]
    return format_table(("epsilon", "bound", "canary", "ordinary household"), rows)


def make_releases(records: Sequence[Record]) -> str:
    """Return what several releases of the same households give away together."""
    by = {
        (record["epsilon"], record["releases"]): record
        for record in records
        if (record["mechanism"], record["bounds"], record["target"]) == ("identity", "stated", "canary")
    }
    counts = sorted({releases for _, releases in by})
    head = ["epsilon of each"]
    for count in counts:
        head += [f"{count} release{'s' if count > 1 else ''}: epsilon", "bound", "attained"]
    rows = []
    for epsilon in _epsilons(records):
        row = [f"{epsilon:g}"]
        for count in counts:
            total = epsilon * count
            row += [f"{total:g}", format_percent(attacker_rate(total)), format_rates(by[epsilon, count])]
        rows.append(row)
    return format_table(head, rows)


def make_difference(records: Sequence[Record], guess: Record) -> str:
    """Return how far the difference of two releases is from the household's curve, beside a guess without any."""
    rows: list[tuple[str, ...]] = [
        ("count rule", "-", "1.00", "0.00"),
        ("a guess: the average household", "-", f"{guess['correlation']:.2f}", f"{guess['error']:.2f}"),
    ]
    rows += [
        (
            *(f"`{record['mechanism']}`", f"{record['epsilon']:g}"),
            f"{record['correlation']:z.2f} ({record['correlation_low']:z.2f} to {record['correlation_high']:z.2f})",
            f"{record['error']:,.2f}",
        )
        for record in records
    ]
    return format_table(
        ("difference of two publications by", "epsilon", "correlation (range)", "error, kWh an hour"), rows
    )


def _format_interval(record: Record) -> str:
    """Return a true-positive rate with its 95 % interval."""
    rate = rate_of(record)
    low, high = rate.interval()
    return f"{format_percent(rate.true_positives)} ({format_percent(low)} to {format_percent(high)})"


def format_rates(record: Record) -> str:
    """Return a true-positive rate with its interval, and the rate of false positives that was counted with it."""
    return f"{_format_interval(record)} at {format_percent(rate_of(record).false_positives)}"


def format_percent(rate: float) -> str:
    """Return a rate in percent, with two digits of what is missing to either end.

    >>> format_percent(0.0123), format_percent(0.5), format_percent(0.99996), format_percent(1)
    ('1.2 %', '50 %', '99.996 %', '100 %')
    """
    for digits in range(7):
        text = f"{100 * rate:.{digits}f}"
        nearest = min(float(text), 100 - float(text))
        exact = 100 * min(rate, 1 - rate)
        if abs(nearest - exact) <= 0.03 * exact:
            return f"{text} %"
    return f"{100 * rate:.0f} %"


def format_part(count: int, of: int) -> str:
    """Return a number of households and its part of all."""
    return f"{count:,} ({format_percent(count / of)})"


def format_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _key(record: Record) -> tuple[str, float, str, str]:
    return record["mechanism"], record["epsilon"], record["bounds"], record["target"]


def _epsilons(records: Sequence[Record]) -> list[float]:
    return sorted({record["epsilon"] for record in records})
