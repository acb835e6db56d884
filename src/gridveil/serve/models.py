"""What the API answers with, as its OpenAPI document describes it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

Kwh = Annotated[float, Field(description="kWh", examples=[1308.4])]
Many = Annotated[list[float], Field(description="kWh", examples=[[12.5, 13.1]])]
Rows = Annotated[
    list[list[float]], Field(description="kWh, one row of cells after the other, from the south-west cell")
]
Pair = tuple[float, float]


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str = Field(examples=["x range 3:1 is empty; x goes from 0 to 32, and the end is not included"])
    code: str = Field(description="Stable, unlike the sentence", examples=["range-outside"])


class AnswerModel(BaseModel):
    """Consumption in kWh with its standard error and 95 % interval."""

    value: Kwh
    standard_error: Kwh
    low: Annotated[float, Field(description="Lower end of the 95 % interval, kWh")]
    high: Annotated[float, Field(description="Upper end of the 95 % interval, kWh")]


class AnswersModel(BaseModel):
    """Many answers."""

    value: Many
    standard_error: Many
    low: Many
    high: Many


class Period(BaseModel):
    """A run of steps: `last` is not included, `end` is the instant at which the period is over."""

    first: int = Field(examples=[0])
    last: int = Field(examples=[24])
    start: str = Field(examples=["2013-02-04T00:00:00Z"])
    end: str = Field(examples=["2013-02-05T00:00:00Z"])


class CellCount(BaseModel):
    """How many cells an area covers; those in part count in part."""

    cells: float = Field(examples=[100.0])


class Covered(CellCount):
    """As before, and as a share of the map."""

    share: float = Field(examples=[0.0977])


class QueryModel(AnswerModel):
    """One question, answered."""

    area: Covered
    time: Period
    share_of_map: float | None = Field(
        description="Value over the whole map's in the same period; null where that is not above 0"
    )


class SeriesModel(AnswersModel):
    """An area over time. Points of the last `every` steps may be fewer."""

    time: Period
    every: int = Field(description="Steps summed into a point", examples=[1])
    first: list[int] = Field(description="Step at which each point starts")
    start: list[str] = Field(description="Instant at which each point starts, UTC")
    area: CellCount


class SliceModel(BaseModel):
    """Every cell over a period."""

    time: Period
    shape: tuple[int, int] = Field(description="Rows (south to north) and columns (west to east)")
    value: Rows
    standard_error: Rows
    low: Rows
    high: Rows


class DayModel(BaseModel):
    """The average kWh of each step of the day. A kind of day of which there is no whole one is null."""

    minutes: list[float] = Field(description="Minute of the day at which each step starts")
    all: AnswersModel
    weekday: AnswersModel | None
    weekend: AnswersModel | None


class WeekModel(AnswersModel):
    """The average kWh of each step of the week."""

    minutes: list[float] = Field(description="Minute of the week, from Monday, at which each step starts")


class ProfileModel(BaseModel):
    """A typical day and week, by the clock on the wall; null where steps or window do not make one."""

    timezone: str
    day: DayModel | None
    week: WeekModel | None


class HighCell(AnswerModel):
    """One of the highest cells."""

    x: int
    y: int
    place: tuple[int, int] = Field(
        description="The ranks that intervals allow, widened so that those of all cells hold together in 95 of 100 maps"
    )


class HighestModel(BaseModel):
    """The highest cells of a period, highest first."""

    time: Period
    cells: list[HighCell]


class Brief(BaseModel):
    """A release in the list."""

    id: str = Field(examples=["town"])
    title: str
    publisher: str
    published: str
    private: bool = Field(description="False for values made with test noise")
    epsilon: float
    nx: int
    ny: int
    steps: int
    start: str
    step_seconds: int


class Briefs(BaseModel):
    """All releases that are served."""

    releases: list[Brief]
    together: str | None = Field(
        description="What they are together, if they are about the same households; null where there is only one"
    )


class Axis(BaseModel):
    """An axis of the map, in the grid's own coordinates."""

    start: float
    end: float
    size: int = Field(description="Cells")
    unit: str


class TimeAxis(BaseModel):
    """The axis of time, UTC."""

    start: str
    end: str
    step_seconds: int
    steps: int


class Axes(BaseModel):
    """Where and when."""

    x: Axis
    y: Axis
    time: TimeAxis


class ScaleModel(BaseModel):
    """kWh per step in a cell, in busy steps of days spread through the window: a high quantile and the largest."""

    top: float
    most: float


class AttackRateModel(BaseModel):
    """Two worlds that differ in one household, and how well an attacker can tell them apart."""

    question: str
    worlds: str
    loss: float = Field(description="Bounds the log-ratio of an outcome's probabilities in the two worlds")
    true_positive_rate: float = Field(description="At 1 % false positives, at most")


class AttackModel(BaseModel):
    """What an attacker who knows everything else can learn from some releases."""

    releases: str
    rates: list[AttackRateModel]


class PrivacyModel(BaseModel):
    """What is promised to households, in words."""

    epsilon: float
    epsilon_accounted: float
    unit: str
    neighbours: str
    promise: str
    attack_statements: list[AttackModel] = Field(
        description="What an attacker can learn about one household: from what is served, and from all releases that "
        "the publisher's ledger knows; empty where nothing is promised"
    )
    warnings: list[str]
    not_covered: list[str]


class LabelSectionModel(BaseModel):
    """A section of the label in plain words."""

    heading: str
    lines: list[str]


class Download(BaseModel):
    """A file to take along."""

    format: str
    description: str
    name: str
    bytes: int | None = Field(description="null where the file is made when it is first asked for")


class ReleaseFactsModel(BaseModel):
    """Everything about a release but its values."""

    id: str
    title: str
    publisher: str
    published: str
    private: bool
    units: str
    axes: Axes
    crs: str
    lonlat: list[list[Pair]] | None = Field(
        description="Longitude and latitude of points spread evenly over the map, edges included: rows from the south, "
        "points from the west; between them in proportion (bilinear). null without a coordinate system"
    )
    cell_metres: Pair | None = Field(description="Width and height of the cell in the middle")
    scale: ScaleModel
    total: AnswerModel
    about_the_truth: bool
    error_bars: str
    privacy: PrivacyModel
    label_in_words: list[LabelSectionModel]
    label: dict[str, Any]
    cite: str
    downloads: list[Download]
    together: str | None = Field(description="As in the list of all releases")
