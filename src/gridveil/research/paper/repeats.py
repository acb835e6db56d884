"""How many repeats results rest on, in words: in a run that is not finished, not all on as many."""

from __future__ import annotations

from collections.abc import Iterable

from gridveil.research.paper.findings import listed
from gridveil.research.paper.numbers import Lines, select


def counted(repeats: Iterable[int]) -> str:
    """Return `10 repeats`, or `2 to 10 repeats`.

    >>> counted([1]), counted([10, 10]), counted([2, 10])
    ('1 repeat', '10 repeats', '2 to 10 repeats')
    """
    low, high = min(some := list(repeats)), max(some)
    return f"{low} to {high} repeats" if low < high else f"{low} repeat{'s' * (low > 1)}"


def repeats_of(lines: Lines) -> str:
    """Return how many repeats lines rest on."""
    return counted(line.repeats for line in lines.values())


def repeats_note(lines: Lines) -> str:
    """Return how many repeats each epsilon rests on, and which methods have another number of them."""
    if len({line.repeats for line in lines.values()}) == 1:
        return f"All rest on {repeats_of(lines)}."
    parts = []
    for epsilon in sorted({case.epsilon for case in lines}):
        here = select(lines, epsilon=epsilon)
        by_words: dict[str, list[str]] = {}
        for name in dict.fromkeys(case.mechanism for case in here):
            by_words.setdefault(repeats_of(select(here, mechanism=name)), []).append(f"`{name}`")
        most, *others = sorted(by_words, key=lambda words: -len(by_words[words]))
        rest = "; ".join(f"{listed(by_words[words], most=30)}: {words}" for words in others)
        parts.append(f"epsilon {epsilon:g}: {most}" + (f" ({rest})" if rest else ""))
    return f"Not all rest on as many repeats: {', '.join(parts)}."
