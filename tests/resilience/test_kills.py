"""kill -9 at random points of the write path: 20 times in `make test`, 200 in `make test-long`."""

import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from tests.resilience.conftest import Publish, new_ledger
from tests.resilience.kills import check, kill_some, refuse, table

KILLS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 20


def test_killed_publications_leave_a_sound_ledger_and_whole_releases(
    publisher: Publish, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    folder = tmp_path / "releases"
    folder.mkdir()
    ledger = new_ledger(str(tmp_path / "ledger.db"), 5 * KILLS)
    seed = int.from_bytes(os.urandom(4))
    counts = table(kill_some(KILLS, publisher, ledger.where, ledger, folder, seed))
    record_property("told", f"{KILLS} publications killed (seed {seed}): {json.dumps(counts)}")
    assert sum(sum(found.values()) for found in counts.values()) == KILLS

    # What is left can be spent to the last bit, and no more.
    rest = ledger.standing("town").remaining
    last = publisher(folder / "rest", ledger.where, epsilon=str(rest), acknowledge=True)
    assert last["ended"] == "published", last
    assert ledger.standing("town").remaining == Fraction(0)
    more = publisher(folder / "more", ledger.where, epsilon="0.001")
    assert (more["ended"], (folder / "more").exists()) == ("BudgetError", False)
    check(ledger, folder.iterdir())


def test_what_is_left_aside_is_no_release_be_it_whole(publisher: Publish, tmp_path: Path) -> None:
    ledger = new_ledger(str(tmp_path / "ledger.db"), 1)
    assert publisher(tmp_path / "release", ledger.where)["ended"] == "published"
    check(ledger, [tmp_path / "release"])
    refuse((tmp_path / "release").rename(tmp_path / ".gridveil-1a2b3c"))
