"""What there is to say about a release: axes, scale, label and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.geography.ground import cell_size, lattice
from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.release.export.table import DECIMALS
from gridveil.release.format import wording
from gridveil.release.format.attack_rates import AttackStatement
from gridveil.release.format.label import Label, attack_statements, describe, warnings
from gridveil.release.format.readme import cite
from gridveil.release.query.highest import values_at
from gridveil.release.query.open import Release
from gridveil.serve.desk import HEAVY_WORK, Job, QueryTask
from gridveil.serve.downloads import downloads
from gridveil.serve.heavy import Deadline
from gridveil.serve.served import Served

SAMPLED_DAYS, DAY_STEPS, BUSIEST_STEPS = 5, 24, 4
TOP = 0.995  # of cells have at most the colour scale's top in these steps


def brief(served: Served) -> dict[str, Any]:
    """Return what the list says of a release."""
    label, window = served.release.label, served.release.window
    return {
        **_heading(served),
        "epsilon": label.privacy.epsilon,
        "nx": label.grid.nx,
        "ny": label.grid.ny,
        "steps": window.steps,
        "start": iso(window.start),
        "step_seconds": label.window.step_seconds,
    }


def facts(served: Served) -> dict[str, Any]:
    """Return everything about a release but its values."""
    release, label = served.release, served.release.label
    lonlat, cell_metres = _on_earth(release.grid)
    return {
        **_heading(served),
        "units": "kWh",
        "axes": _axes(release.grid, release.window),
        "crs": release.grid.crs,
        "lonlat": lonlat,
        "cell_metres": cell_metres,
        "scale": _scale(release),
        "total": asdict(release.query()),
        "about_the_truth": release.about_the_truth,
        "error_bars": wording.error_bars(
            corrected=label.correction is not None, about_the_truth=release.about_the_truth
        ),
        "privacy": _privacy(label),
        "label_in_words": [{"heading": heading, "lines": lines} for heading, lines in describe(label)],
        "label": label.model_dump(mode="json"),
        "cite": cite(label),
        "downloads": downloads(served),
        "together": served.together,
    }


def all_facts(served: Served) -> QueryTask:
    """Ask for the facts as JSON."""

    def make(_: Deadline) -> bytes:
        with telling(served):
            return json.dumps(facts(served), allow_nan=False, separators=(",", ":")).encode()

    return QueryTask((served.id, "facts"), lambda: Job(HEAVY_WORK, make))


def listed(every: Iterable[Served]) -> bytes:
    """Return the list of releases as JSON, without those of which nothing can be said."""
    briefs, said = [], None
    for served in every:
        with suppress(InputError), telling(served):
            briefs.append(json.dumps(brief(served), allow_nan=False, separators=(",", ":")))
            said = served.together
    return f'{{"releases":[{",".join(briefs)}],"together":{json.dumps(said)}}}'.encode()


@contextmanager
def telling(served: Served) -> Iterator[None]:
    """Call it the release's fault where its label cannot be said: JSON has no word for some of what YAML has."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        msg = f"{served.release.path.parent}: its label cannot be told ({error}); get a fresh copy of the release"
        raise InputError(msg, code="label-not-json") from error


def period(window: Window, first: int, last: int) -> dict[str, Any]:
    """Return a run of steps, with its instants."""
    start, end = (iso(window.start + step * window.step) for step in (first, last))
    return {"first": first, "last": last, "start": start, "end": end}


def iso(instant: datetime) -> str:
    """Return an instant in UTC.

    >>> iso(datetime(2013, 2, 4, tzinfo=UTC))
    '2013-02-04T00:00:00Z'
    """
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _heading(served: Served) -> dict[str, Any]:
    label = served.release.label
    return {
        "id": served.id,
        "title": label.heading,
        "publisher": label.publisher,
        "published": label.published.isoformat(),
        "private": label.private,
    }


def _axes(grid: Grid, window: Window) -> dict[str, Any]:
    unit = _unit(grid)
    return {
        "x": {"start": grid.x0, "end": grid.x1, "size": grid.nx, "unit": unit},
        "y": {"start": grid.y0, "end": grid.y1, "size": grid.ny, "unit": unit},
        "time": {
            "start": iso(window.start),
            "end": iso(window.end),
            "step_seconds": round(window.step.total_seconds()),
            "steps": window.steps,
        },
    }


def _unit(grid: Grid) -> str:
    if grid.crs == "local":
        return ""
    from pyproj import CRS

    return str(CRS.from_user_input(grid.crs).axis_info[0].unit_name)


def _on_earth(grid: Grid) -> tuple[list[list[list[float]]] | None, list[float] | None]:
    """Return a lattice of longitudes and latitudes, and the size of the cell in the middle in metres."""
    if grid.crs == "local":
        return None, None
    try:
        places, metres = lattice(grid), cell_size(grid)
    except InputError:
        return None, None
    return np.round(places, DECIMALS).tolist(), list(metres)


def _scale(release: Release) -> dict[str, float]:
    """Return how high cells go in a step: in the busiest of some steps, so that a long window opens at once."""
    grid, steps = release.grid, release.window.steps
    day = min(steps, max(1, timedelta(days=1) // release.window.step))
    times = np.linspace(0, day, DAY_STEPS, endpoint=False).astype(int)
    candidates = np.unique(np.linspace(0, steps - day, SAMPLED_DAYS).astype(int)[:, None] + times)
    totals = release.values_of([[0, grid.nx, 0, grid.ny, step, step + 1] for step in candidates.tolist()])
    busiest = candidates[np.argsort(-totals)[:BUSIEST_STEPS]]
    values = values_at(release, np.equal.outer(busiest, np.arange(steps)).astype(float))
    return {"top": float(np.quantile(values, TOP)), "most": float(values.max())}


def _privacy(label: Label) -> dict[str, Any]:
    privacy = label.privacy
    return {
        "epsilon": privacy.epsilon,
        "epsilon_accounted": privacy.epsilon_accounted,
        "unit": wording.UNITS[privacy.unit],
        "neighbours": wording.NEIGHBOURS[privacy.neighbours],
        "promise": wording.promise(privacy.epsilon, label.releases) if label.private else wording.NOT_PRIVATE_WHY,
        "attack_statements": [_rates(statement) for statement in attack_statements(label)] if label.private else [],
        "warnings": warnings(label) if label.private else [wording.NOT_PRIVATE_WHY],
        "not_covered": label.not_covered_in_words(),
    }


def _rates(statement: AttackStatement) -> dict[str, Any]:
    rates = [{**rate.model_dump(), "worlds": statement.worlds(rate)} for rate in statement.rates]
    return {"releases": statement.releases, "rates": rates}
