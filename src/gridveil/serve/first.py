"""What the page asks first, answered before it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from gridveil.model.errors import GridveilError
from gridveil.serve import questions
from gridveil.serve.desk import Desk, QueryTask
from gridveil.serve.facts import all_facts
from gridveil.serve.regions import AskedRegion
from gridveil.serve.served import Served

# As in page/points.js.
MOST_POINTS = 1_000
LENGTHS = (1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)


def warm_up(desk: Desk, releases: Iterable[Served]) -> None:
    """Answer what the page asks first of each release."""
    for served in releases:
        for question in first_questions(served):
            with suppress(GridveilError, OSError):  # told when it is asked for
                desk.warm(question)


def first_questions(served: Served) -> Iterator[QueryTask]:
    """Return facts, map, curve and number of a release, in the order in which the page needs them."""
    steps = served.release.window.steps
    everything = AskedRegion.model_validate({})
    yield all_facts(served)
    yield questions.query(served, everything)
    yield questions.planes(served, 0, steps)
    yield questions.series(served, everything, steps_per_point(steps, served.release.label.window.step_seconds))


def steps_per_point(steps: int, seconds: int) -> int:
    """Return how many steps the page sums into a point of its curve.

    >>> steps_per_point(720, 3600), steps_per_point(8760, 3600)
    (1, 24)
    """
    natural = (length // seconds for length in LENGTHS if length > seconds and length % seconds == 0)
    enough = (every for every in (1, *natural) if -(-steps // every) <= MOST_POINTS)
    return next(enough, -(-steps // MOST_POINTS))
