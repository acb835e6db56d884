"""A clock that goes backwards: the order of debits is that of their numbers, and none is lost."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.resilience.conftest import new_ledger
from tests.resilience.kills import check

from gridveil.model.errors import BudgetError
from gridveil.publishing import run as publication
from gridveil.publishing.spec import make_spec
from gridveil.trusted.ledger import entry

MOMENTS = [datetime(year, 1, 1, tzinfo=UTC) for year in (2026, 2014, 2106)]


def test_debits_under_a_clock_that_goes_backwards(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = new_ledger(str(tmp_path / "ledger.db"), len(MOMENTS))
    for moment in MOMENTS:

        class Clock(datetime):
            @classmethod
            def now(cls, tz: object = None, now: datetime = moment) -> datetime:  # type: ignore[override]  # a stand-in with a default more
                del tz
                return now

        monkeypatch.setattr(entry, "datetime", Clock)
        monkeypatch.setattr(publication, "datetime", Clock)
        publication.run(make_spec({**settings, "out": tmp_path / str(moment.year), "ledger": ledger.where}))
    with pytest.raises(BudgetError):
        publication.run(make_spec({**settings, "out": tmp_path / "more", "ledger": ledger.where}))
    debits = [one for one in ledger.entries("town") if one.kind == "debit"]
    assert [datetime.fromisoformat(one.at).year for one in debits] == [moment.year for moment in MOMENTS]
    assert [one.number for one in debits] == sorted(one.number for one in debits)
    check(ledger, [tmp_path / str(moment.year) for moment in MOMENTS])
