"""A publisher that is killed while a server keeps its ledger, and a server that goes away under a publisher."""

import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.resilience.conftest import Publish, new_ledger
from tests.resilience.kills import check, kill_some
from tests.trusted.ledger.postgres import server
from tests.work import wait_until

from gridveil.model.errors import GridveilError
from gridveil.publishing import plan
from gridveil.publishing import run as publication
from gridveil.publishing.spec import make_spec
from gridveil.trusted.ledger.entry import Entry

SECRET = "correct-horse"  # noqa: S105  # what must not be told


def test_killed_publishers_leave_a_sound_chain(
    publisher: Publish, new_postgres: Callable[[], str], tmp_path: Path
) -> None:
    folder = tmp_path / "releases"
    folder.mkdir()
    url = new_postgres()
    ledger = new_ledger(url, 100)
    counts = kill_some(6, publisher, url, ledger, folder, seed=0)
    assert sum(sum(found.values()) for found in counts.values()) == 6
    check(ledger, folder.iterdir())


def with_password(url: str) -> str:
    """The server trusts everybody here, and asks for none."""
    return url.replace("@", f":{SECRET}@", 1)


def failure(settings: dict[str, Any], out: Path, url: str) -> str:
    """Publish, and return all that could be told of the failure: sentence, notes and traceback."""
    with pytest.raises(GridveilError) as failed:
        publication.run(make_spec({**settings, "out": out, "ledger": url}))
    assert not out.exists()
    return "".join(traceback.format_exception(failed.value))


def test_a_connection_lost_while_debiting(
    settings: dict[str, Any], new_postgres: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_postgres()
    ledger = new_ledger(url, 2)
    after = Entry.after

    def lose(*given: Any) -> Entry:
        """Make the entry, and lose the connection before it is sent."""
        with psycopg.connect(url, autocommit=True) as other:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gridveil'"
            assert other.execute(others).fetchall() == [(True,)]
        return after(*given)

    monkeypatch.setattr(Entry, "after", lose)
    told = failure(settings, tmp_path / "release", with_password(url))
    assert "nothing was debited" in told
    assert SECRET not in told
    monkeypatch.undo()
    assert ledger.standing("town").spent == 0
    publication.run(make_spec({**settings, "out": tmp_path / "release", "ledger": with_password(url)}))
    check(ledger, [tmp_path / "release"])


@pytest.mark.parametrize("moment", ["before the debit", "before the record"])
def test_a_server_that_stops(
    moment: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server() as new:
        url = new()
        new_ledger(url, 2)
        with psycopg.connect(url) as connection:
            [folder] = connection.execute("SHOW data_directory").fetchone() or [None]
        postmaster = int((Path(str(folder)) / "postmaster.pid").read_text().split()[0])
        name = "ingest" if moment == "before the debit" else "write_release"
        module = plan if name == "ingest" else publication
        usual = getattr(module, name)

        def stop(*given: Any, **named: Any) -> Any:
            done = usual(*given, **named)
            os.kill(postmaster, signal.SIGQUIT)  # what `pg_ctl stop --mode immediate` does
            _wait_until_gone(postmaster)
            return done

        monkeypatch.setattr(module, name, stop)
        if moment == "before the debit":
            told = failure(settings, tmp_path / "release", with_password(url))
            assert "the ledger's server cannot be reached" in told
        else:
            spec = make_spec({**settings, "out": tmp_path / "release", "ledger": with_password(url)})
            [warning] = publication.run(spec).warnings
            assert warning.code == "release-not-recorded"
            told = str(warning)
        assert SECRET not in told


def _wait_until_gone(process: int) -> None:
    """Wait for a process that is not this one's child; where nobody buries it, it stays as a zombie."""
    with suppress(OSError):
        wait_until(lambda: "Z" in Path(f"/proc/{process}/stat").read_text().split()[2])
