"""Publications that are killed at random, and what must hold after each."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Literal, get_args

import pytest
from tests.resilience.conftest import Publish

from gridveil.model.errors import GridveilError
from gridveil.model.files import ASIDE_PREFIX
from gridveil.release.query.open import open_release
from gridveil.release.verify.release import verify
from gridveil.serve.releases import open_all
from gridveil.trusted.ledger.book import Ledger

Left = Literal["no debit, no release", "debit without release", "release not recorded", "release"]
"""What a publication left behind: nothing, a debit, a release that the ledger has no digests of, or all of it."""

NOT_RECORDED = "no record of these files"


def kill_some(
    kills: int, publish: Publish, where: str, ledger: Ledger, folder: Path, seed: int
) -> dict[str, Counter[str]]:
    """Kill so many publications to the ledger at `where`, each followed by one that must succeed; return what was left.

    They are killed by turns at a random call of the ledger's file, at one of any other file, and at a random moment.
    """
    chance = random.Random(seed)  # noqa: S311  # chooses when to kill
    usual = publish(folder / "usual", where)
    assert usual["ended"] == "published", usual
    known: set[Path] = set()
    ways = [way for way in ("ledger", "files", "seconds") if usual[way]]  # a server's ledger makes no calls here
    counts: dict[str, Counter[str]] = {way: Counter() for way in ways}
    for i in range(kills):
        name, how = f"killed-{i}", ways[i % len(ways)]
        when = chance.uniform(0, usual["seconds"]) if how == "seconds" else chance.randint(1, usual[how])
        told = publish(folder / name, where, kill=(how, when), title=name)
        while how == "seconds" and told["code"] == 0:  # it was done before
            usual["seconds"], when, name = told["seconds"], when / 2, f"{name}-again"
            told = publish(folder / name, where, kill=(how, when), title=name)
        assert told["code"] == -signal.SIGKILL, told
        counts[how][what_is_left(ledger, folder / name, name)] += 1
        new = [place for place in folder.iterdir() if place not in known]
        check(ledger, new)
        known.update(new)
        after = publish(folder / f"after-{i}", where)
        assert after["ended"] == "published", after
    return counts


def what_is_left(ledger: Ledger, out: Path, title: str) -> Left:
    """Return what a publication left in its ledger and its place."""
    entries = ledger.entries("town")
    debits = [entry for entry in entries if entry.kind == "debit" and entry.body["spec"]["title"] == title]
    recorded = {entry.body["debit"] for entry in entries if entry.kind == "release"}
    assert len(debits) <= 1
    if not debits:
        assert not out.exists()
        return "no debit, no release"
    if not out.exists():
        assert debits[0].hash not in recorded
        return "debit without release"
    return "release" if debits[0].hash in recorded else "release not recorded"


def check(ledger: Ledger, places: Iterable[Path]) -> None:
    """Whatever happened: the ledger is sound, nothing is overspent, and releases at these places whole and debited."""
    assert ledger.verify() == []
    entries = ledger.entries("town")
    debits = {entry.hash: Fraction(entry.body["epsilon"]) for entry in entries if entry.kind == "debit"}
    assert sum(debits.values()) == ledger.standing("town").spent <= ledger.standing("town").cap
    recorded = {entry.body["debit"] for entry in entries if entry.kind == "release"}
    for place in places:
        if place.name.startswith(ASIDE_PREFIX):
            refuse(place)
        else:
            stated = open_release(place).label.ledger_entry
            assert stated
            assert stated.hash in debits
            faults = [found.finding for found in verify(place, ledger) if found.verdict == "FAULT"]
            expected = 0 if stated.hash in recorded else 1
            assert [NOT_RECORDED in fault for fault in faults] == expected * [True], faults


def refuse(leftover: Path) -> None:
    """What a killed publication left aside is no release, be it whole."""
    for opened in (open_release, lambda place: open_all([place])):
        with pytest.raises(GridveilError):
            opened(leftover)
    assert any(found.verdict == "FAULT" for found in verify(leftover))


def table(counts: dict[str, Counter[str]]) -> dict[str, dict[str, int]]:
    """Return the counts in the order of the write path."""
    return {how: {left: found[left] for left in get_args(Left)} for how, found in counts.items()}
