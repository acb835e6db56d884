"""Nothing gets past the kernel in a series either: releases, ledger entries, catalogue, times, and what is served.

All of it goes through `publish --next` with a ledger, as private releases do: the noise itself is played from a tape.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.leak import town
from tests.serve.conftest import running

from gridveil.publishing.next_release import run_next
from gridveil.publishing.run import Published
from gridveil.publishing.spec import make_spec
from gridveil.release.series.catalogue import CATALOGUE
from gridveil.serve.app import create_app
from gridveil.serve.releases import OWN_FILES, list_formats, open_all
from gridveil.simulate.sources import Tape
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.ledger import entry
from gridveil.trusted.ledger.book import create_ledger
from gridveil.trusted.ledger.population import Population

DAYS = (date(2026, 1, 1), date(2026, 1, 2))
"""On which the two releases are published."""

BODIES = {"batch": {"ranges": [[0, 2, 0, 2, 0, 3]]}, "profile": {"timezone": "UTC"}}


def publish_series(tables: Path, folder: Path, tape: Tape, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Publish two days by `--next`, each with a debit, and with a tape's noise in place of the real one."""
    monkeypatch.setattr(ExactNoise, "add", lambda _, values, scales: tape.add(values, scales))
    monkeypatch.setattr(ExactNoise, "add_staircase", lambda _, values, stairs: tape.add_staircase(values, stairs))
    monkeypatch.setattr(secrets, "token_hex", lambda size: "5a" * size)  # an entry's nonce
    monkeypatch.setattr(entry, "today", DAYS[0].isoformat)
    ledger = folder / "ledger.db"
    folder.mkdir()
    create_ledger(ledger).add_population(Population("Borden", Fraction(10)))
    settings = {
        **town.settings("mosaic", tables=tables),
        "cadence": "day",
        "start": town.START - timedelta(days=1),
        "steps": None,
        "no_ledger": False,
        "ledger": ledger,
        "out": folder / "series",
    }
    for day in DAYS:
        published = run_next(make_spec(settings), today=day)
        assert isinstance(published, Published)
        assert published.label.private
        assert published.label.ledger_entry is not None
    return folder / "series"


def worlds(tables: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Publish the town's series and that of every neighbour, one after the other, with the same noisy answers."""
    tape = Tape.record(seed=6)
    yield publish_series(tables / "unchanged", folder / "unchanged", tape, monkeypatch)
    for what in town.CHANGES:
        again = tape.replay()
        yield publish_series(tables / what, folder / what, again, monkeypatch)
        again.check_played()


def test_neighbours_with_the_same_noisy_answers_publish_the_same_series(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = map(_content, worlds(tables, tmp_path, monkeypatch))
    first = next(every)
    assert {"2013-02-03/ledger-entry.json", "2013-02-04/ledger-entry.json", CATALOGUE, "."} < set(first[1])
    for other in every:
        assert other == first


def _content(series: Path) -> tuple[dict[str, int], dict[str, town.Seen]]:
    """Everything, and when the newest release was last read."""
    return town.accessed(series / "2013-02-04"), town.content(series)


def test_times_are_those_of_the_days_of_publication(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Midnight UTC of `published`; of the series and its catalogue, that of the newest release."""
    for name, seen in town.content(next(worlds(tables, tmp_path, monkeypatch))).items():
        day = DAYS[0] if name.startswith("2013-02-03") else DAYS[1]
        assert datetime.fromtimestamp(seen.mtime_ns / 1e9, UTC) == datetime.combine(day, time.min, UTC)


def test_neighbours_are_served_with_the_same_headers(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every address, of a release and of a series; no time of a file is in any header."""
    every = worlds(tables, tmp_path, monkeypatch)
    one, other = answers(next(every)), answers(next(every))
    assert other == one
    assert len(one) > 2 * len(list_formats())
    assert not [headers for headers, _ in one.values() if "last-modified" in headers]


def answers(series: Path) -> dict[str, tuple[dict[str, str], bytes]]:
    """What a server says to every kind of question; none may be refused."""
    app, seen = create_app(open_all([series, series / "2013-02-04"])), {}
    with running(app) as port, httpx.Client(base_url=f"http://localhost:{port}") as client:
        for method, url in addresses(client.get("/api/openapi.json").json(), app.state.releases):
            answer = client.request(method, url, json=BODIES.get(url.rpartition("/")[2], {}))
            assert answer.status_code == HTTPStatus.OK, (url, answer.text)
            del answer.headers["date"]
            seen[f"{method} {url}"] = dict(answer.headers), answer.content
    return seen


def addresses(api: dict[str, Any], served: Iterable[str]) -> set[tuple[str, str]]:
    """Return method and address of all that there is in the API, and some of the page."""
    page = {("GET", url) for url in ("/", "/page/map.js", "/favicon.ico", "/api/openapi.json")}
    return page | {
        (method.upper(), path.format(id=name, format=form))
        for path, methods in api["paths"].items()
        for name, form in product(served, list_formats())
        if not (name == "series" and form in OWN_FILES)  # a series has none
        for method in methods
    }
