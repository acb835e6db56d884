"""Facts about a release: axes, scale, label and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
from pydantic import Field, JsonValue

from gridveil.geography.grid import Grid, find_cell_size, make_lattice
from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.release.export.table import DECIMALS
from gridveil.release.format import wording
from gridveil.release.format.documents import cite
from gridveil.release.format.label import Label, attack_statements, describe, warnings
from gridveil.release.format.wording import AttackStatement
from gridveil.release.query.highest import values_at
from gridveil.serve.answers import AnswerResponse, ResponseModel, to_iso
from gridveil.serve.execution import HEAVY_WORK, Deadline, Query
from gridveil.serve.releases import ServedRelease, file_kind, file_name, list_formats, refuse_format

SAMPLED_DAYS, DAY_STEPS, BUSIEST_STEPS = 5, 24, 4
TOP_QUANTILE = 0.995  # of cells in these steps; the top of the colour scale

Pair = tuple[float, float]


class ReleaseHeading(ResponseModel):
    """What a release is called."""

    id: str = Field(examples=["town"])
    title: str
    publisher: str
    published: str
    private: bool = Field(description="False for values made with test noise")


class ReleaseSummary(ReleaseHeading):
    """A release in the list."""

    epsilon: float
    nx: int
    ny: int
    steps: int
    start: str
    step_seconds: int


class ReleaseListResponse(ResponseModel):
    """All releases that are served."""

    releases: list[ReleaseSummary]
    together: str | None = Field(
        description="What they are together, if they are about the same households; null where there is only one"
    )


class PlaceAxis(ResponseModel):
    """An axis of the map, in the grid's own coordinates."""

    start: float
    end: float
    size: int = Field(description="Cells")
    unit: str


class TimeAxis(ResponseModel):
    """The axis of time, UTC."""

    start: str
    end: str
    step_seconds: int
    steps: int


class ReleaseAxes(ResponseModel):
    """Where and when."""

    x: PlaceAxis
    y: PlaceAxis
    time: TimeAxis


class ScaleResponse(ResponseModel):
    """kWh per step in a cell, in busy steps of days spread through the window: a high quantile and the largest."""

    top: float
    most: float


class AttackRateResponse(ResponseModel):
    """Two worlds that differ in one household, and how well an attacker can tell them apart."""

    question: str
    worlds: str
    loss: float = Field(description="Bounds the log-ratio of an outcome's probabilities in the two worlds")
    true_positive_rate: float = Field(description="At 1 % false positives, at most")


class AttackResponse(ResponseModel):
    """What an attacker who knows everything else can learn from some releases."""

    releases: str
    rates: list[AttackRateResponse]


class PrivacyResponse(ResponseModel):
    """What is promised to households, in words."""

    epsilon: float
    epsilon_accounted: float
    unit: str
    neighbours: str
    promise: str
    attack_statements: list[AttackResponse] = Field(
        description="What an attacker can learn about one household: from what is served, and from all releases that "
        "the publisher's ledger knows; empty where nothing is promised"
    )
    warnings: list[str]
    not_covered: list[str]


class LabelSectionResponse(ResponseModel):
    """A section of the label in plain words."""

    heading: str
    lines: list[str]


class DownloadResponse(ResponseModel):
    """A file to download."""

    format: str
    description: str
    name: str
    bytes: int | None = Field(description="null where the file is made when it is first asked for")


class ReleaseResponse(ReleaseHeading):
    """Everything about a release but its values."""

    units: str
    axes: ReleaseAxes
    crs: str
    lonlat: list[list[Pair]] | None = Field(
        description="Longitude and latitude of points spread evenly over the map, edges included: rows from the south, "
        "points from the west; between them in proportion (bilinear). null without a coordinate system"
    )
    cell_metres: Pair | None = Field(description="Width and height of the cell in the middle")
    scale: ScaleResponse
    total: AnswerResponse
    about_the_truth: bool
    error_bars: str
    privacy: PrivacyResponse
    label_in_words: list[LabelSectionResponse]
    label: dict[str, JsonValue]
    cite: str
    downloads: list[DownloadResponse]
    together: str | None = Field(description="As in the list of all releases")


class FactsQuery(Query):
    """The facts about a release."""

    def __init__(self, served: ServedRelease) -> None:
        self.served = served
        self.key = (served.id, "facts")

    def work(self) -> float:
        """Count it as heavy, so that it is cached."""
        return HEAVY_WORK

    def compute(self, _: Deadline) -> bytes:
        """Answer with everything but the values."""
        with _blame_label(self.served):
            return describe_release(self.served).encode()


def list_releases(every: Iterable[ServedRelease]) -> ReleaseListResponse:
    """Return the list of releases, without those whose label JSON cannot hold."""
    summaries, together = [], None
    for served in every:
        with suppress(InputError), _blame_label(served):
            summaries.append(summarise_release(served))
            together = served.together
    return ReleaseListResponse(releases=summaries, together=together)


@contextmanager
def _blame_label(served: ServedRelease) -> Iterator[None]:
    """Report as the release's fault that its label does not fit into JSON, as a number that is not finite does not."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        msg = f"{served.release.path.parent}: its label cannot be written as JSON; get a fresh copy of the release"
        raise InputError(msg, code="label-not-json") from error


def summarise_release(served: ServedRelease) -> ReleaseSummary:
    """Return a release in the list."""
    label, window = served.release.label, served.release.window
    return ReleaseSummary(
        **_heading(served),
        epsilon=label.privacy.epsilon,
        nx=label.grid.nx,
        ny=label.grid.ny,
        steps=window.steps,
        start=to_iso(window.start),
        step_seconds=label.window.step_seconds,
    )


def describe_release(served: ServedRelease) -> ReleaseResponse:
    """Return everything about a release but its values."""
    release, label = served.release, served.release.label
    lonlat, cell_metres = _locate(release.grid)
    return ReleaseResponse(
        **_heading(served),
        units="kWh",
        axes=_axes(release.grid, release.window),
        crs=release.grid.crs,
        lonlat=lonlat,
        cell_metres=cell_metres,
        scale=_scale(served),
        total=AnswerResponse(**asdict(release.query())),
        about_the_truth=release.about_the_truth,
        error_bars=wording.error_bars(corrected=label.correction is not None, about_the_truth=release.about_the_truth),
        privacy=_privacy(label),
        label_in_words=[LabelSectionResponse(heading=heading, lines=lines) for heading, lines in describe(label)],
        label=label.model_dump(mode="json"),
        cite=cite(label),
        downloads=_downloads(served),
        together=served.together,
    )


def _heading(served: ServedRelease) -> dict[str, Any]:
    label = served.release.label
    return {
        "id": served.id,
        "title": label.heading,
        "publisher": label.publisher,
        "published": label.published.isoformat(),
        "private": label.private,
    }


def _axes(grid: Grid, window: Window) -> ReleaseAxes:
    unit = _unit(grid)
    return ReleaseAxes(
        x=PlaceAxis(start=grid.x0, end=grid.x1, size=grid.nx, unit=unit),
        y=PlaceAxis(start=grid.y0, end=grid.y1, size=grid.ny, unit=unit),
        time=TimeAxis(
            start=to_iso(window.start),
            end=to_iso(window.end),
            step_seconds=round(window.step.total_seconds()),
            steps=window.steps,
        ),
    )


def _unit(grid: Grid) -> str:
    if grid.crs == "local":
        return ""
    from pyproj import CRS

    return str(CRS.from_user_input(grid.crs).axis_info[0].unit_name)


def _locate(grid: Grid) -> tuple[list[list[Pair]] | None, Pair | None]:
    """Return a lattice of longitudes and latitudes, and the size of the cell in the middle in metres."""
    if grid.crs == "local":
        return None, None
    try:
        places, metres = make_lattice(grid), find_cell_size(grid)
    except InputError:
        return None, None
    return np.round(places, DECIMALS).tolist(), metres


def _scale(served: ServedRelease) -> ScaleResponse:
    """Return how high cells go in a step: in the busiest of some steps, so that a long window opens at once."""
    release, steps = served.release, served.release.window.steps
    day = min(steps, max(1, timedelta(days=1) // release.window.step))
    times = np.linspace(0, day, DAY_STEPS, endpoint=False).astype(int)
    candidates = np.unique(np.linspace(0, steps - day, SAMPLED_DAYS).astype(int)[:, None] + times)
    totals = release.values_of([served.map_box(step, step + 1) for step in candidates.tolist()])
    busiest = candidates[np.argsort(-totals)[:BUSIEST_STEPS]]
    values = values_at(release, np.equal.outer(busiest, np.arange(steps)).astype(float))
    return ScaleResponse(top=float(np.quantile(values, TOP_QUANTILE)), most=float(values.max()))


def _privacy(label: Label) -> PrivacyResponse:
    privacy = label.privacy
    return PrivacyResponse(
        epsilon=privacy.epsilon,
        epsilon_accounted=privacy.epsilon_accounted,
        unit=wording.UNITS[privacy.unit],
        neighbours=wording.NEIGHBOURS[privacy.neighbours],
        promise=label.promise,
        attack_statements=[_attack(statement) for statement in attack_statements(label)] if label.private else [],
        warnings=[str(warning) for warning in warnings(label)],
        not_covered=label.not_covered_in_words(),
    )


def _attack(statement: AttackStatement) -> AttackResponse:
    rates = [
        AttackRateResponse(**rate.model_dump(), worlds=statement.describe_worlds(rate)) for rate in statement.rates
    ]
    return AttackResponse(releases=statement.releases, rates=rates)


def _downloads(served: ServedRelease) -> list[DownloadResponse]:
    return [
        DownloadResponse(
            format=form,
            description=file_kind(form).description,
            name=file_name(served, form),
            bytes=served.sizes.get(form),
        )
        for form in list_formats()
        if refuse_format(served, form) is None
    ]
