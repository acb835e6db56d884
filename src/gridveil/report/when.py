"""Section "When": the whole map over time, the typical day and week with 95 % bands, and parts of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.area import Area
from gridveil.model.arrays import Floats
from gridveil.model.window import Window
from gridveil.release.query.open import Answer, QueryAnswers, Release
from gridveil.release.query.profile import time_zone, typical
from gridveil.report.figures.chart import ChartLine, line_chart, round_times
from gridveil.report.formatting import amount, interval, moment, per, span

MAX_POINTS = 1000
LENGTHS = [timedelta(hours=hours) for hours in (1, 2, 3, 4, 6, 24, 48, 7 * 24, 14 * 24, 28 * 24)]
"""Of points. None between a quarter of a day and a day: halves of days would only jump up and down."""
WIDE, NARROW = (860, 280), (400, 240)
EQUAL = 1e-6  # relative difference: nothing but rounding
MARGIN = 0.05  # above the highest band
MINUTES_OF_DAY = 24 * 60
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY = timedelta(days=1)
QUARTERS = (
    ("Night", "0:00 to 6:00"),
    ("Morning", "6:00 to 12:00"),
    ("Afternoon", "12:00 to 18:00"),
    ("Evening", "18:00 to 24:00"),
)
HALVES = (("Weekdays", "Monday to Friday"), ("Weekends", "Saturday and Sunday"))
WORK_DAYS = 5


@dataclass(frozen=True)
class ReportCurve:
    """Average kWh per step in runs of `every` steps (the last may be shorter), and the sum of all."""

    window: Window
    every: int
    answers: QueryAnswers
    total: Answer

    @property
    def firsts(self) -> NDArray[np.int64]:
        """The steps at which runs begin."""
        return np.arange(0, self.window.steps, self.every, dtype=np.int64)

    @property
    def middles(self) -> Floats:
        """Where in the window the runs' middles are, 0 to 1."""
        last = np.minimum(self.firsts + self.every, self.window.steps)
        return (self.firsts + last) / 2 / self.window.steps


def curve_of(release: Release) -> ReportCurve:
    """Return the whole map's curve, in runs of steps if there are too many for a chart."""
    window = release.window
    every = _every(window)
    firsts = np.arange(0, window.steps, every)
    periods = np.stack([firsts, np.minimum(firsts + every, window.steps)], axis=1)
    # The total is asked for with the curve: of a large release, getting ready for an area is most of the work.
    answers = _parts(release.over(Area.box(release.grid), [*periods.tolist(), [0, window.steps]]))
    lengths = np.diff(periods, axis=1)[:, 0]
    total = Answer(*(float(part[-1]) for part in answers))
    return ReportCurve(window, every, QueryAnswers(*(part[:-1] / lengths for part in answers)), total)


def when(release: Release, zone: str) -> dict[str, str]:
    """Return the fields of the page about when."""
    curve = curve_of(release)
    unit = f"kWh per {per(release.window.step)}"
    length = per(curve.every * release.window.step)
    points = (
        "" if curve.every == 1 else f", each point the average of {length if length[0].isdigit() else f'one {length}'}"
    )
    return {
        "total": amount(curve.total.value),
        "total_interval": interval(curve.total),
        "curve": _charts(curve, unit),
        "curve_points": points,
        "unit": unit,
        "profiles": _profiles(release, zone, unit),
        **_peak(curve),
    }


def _peak(curve: ReportCurve) -> dict[str, str]:
    """Return when most was used, unless all times are the same."""
    window, answers = curve.window, curve.answers
    top = int(np.argmax(answers.value))
    first = int(curve.firsts[top])
    start = window.start + first * window.step
    end = window.start + min(first + curve.every, window.steps) * window.step
    alike = len(answers.value) > 1 and float(np.ptp(answers.value)) <= EQUAL * abs(float(answers.value[top]))
    highest = f"Highest {per(end - start)}: {span(start, end)} (UTC)"
    return {
        "peak": "This release has no highest time: all are the same" if alike else highest,
        "peak_kwh": amount(float(answers.value[top])),
        "peak_interval": f"{amount(float(answers.low[top]))} to {amount(float(answers.high[top]))}",
    }


def _every(window: Window) -> int:
    """Return how many steps make a point: one, or as many as make a round length, or as it needs."""
    if window.steps <= MAX_POINTS:
        return 1
    least = -(-window.steps // MAX_POINTS)
    round_ones = [length // window.step for length in LENGTHS if length % window.step == timedelta(0)]
    return next((every for every in round_ones if every >= least), least)


def _charts(curve: ReportCurve, unit: str) -> str:
    """Draw the curve twice, wide for screens and paper, narrow for phones; the style sheet shows one."""
    answers, window = curve.answers, curve.window
    top = int(np.argmax(answers.value))
    text = (
        f"The whole map over time: from {amount(float(answers.value.min()))} to {amount(float(answers.value.max()))} "
        f"{unit}, highest on {moment(window.start + int(curve.firsts[top]) * window.step)}; the 95 % interval is "
        f"{amount(float((answers.high - answers.low).mean()))} kWh wide on average"
    )
    marks = [(step / window.steps, name) for step, name in round_times(window)]
    lines = [ChartLine(answers.value, "released", (answers.low, answers.high))]
    return "".join(
        f'<div class="{name}">'
        + line_chart(lines, at=curve.middles, marks=marks, span=_span(lines), unit=unit, description=text, size=size)
        + "</div>"
        for name, size in (("wide", WIDE), ("narrow", NARROW))
    )


def _profiles(release: Release, zone: str, unit: str) -> str:
    """Draw the typical day and week, where the window has them."""
    area, figures = Area.box(release.grid), []
    kinds: dict[str, tuple[QueryAnswers, str]]
    day, week = typical(release, area, zone)
    if day is not None:
        if day.weekday is not None and day.weekend is not None:
            kinds = {"Monday to Friday": (day.weekday, "released"), "Saturday and Sunday": (day.weekend, "second")}
        else:
            kinds = {"all days": (day.all, "released")}
        if len(day.minutes) > 1:
            hours = [(hour / 24, f"{hour}:00") for hour in range(0, 24, 6)]
            figures.append(_profile("Typical day", kinds, day.minutes / MINUTES_OF_DAY, hours, unit))
    if week is not None:
        days = [(number / len(WEEK), name) for number, name in enumerate(WEEK)]
        kinds = {"all weeks": (week.all, "released")}
        figures.append(_profile("Typical week", kinds, week.minutes / (MINUTES_OF_DAY * len(WEEK)), days, unit))
    if not figures:
        return ""
    return (
        f'<p>Averages of the whole map by the clock in {escape(zone)}.</p><div class="charts">{"".join(figures)}</div>'
    )


def _profile(
    title: str,
    kinds: dict[str, tuple[QueryAnswers, str]],
    starts: Floats,
    marks: Sequence[tuple[float, str]],
    unit: str,
) -> str:
    """Draw averages at the middles of their steps."""
    lines = [ChartLine(answers.value, style, (answers.low, answers.high)) for answers, style in kinds.values()]
    description = "; ".join(
        f"{title}, {kind}: from {amount(float(answers.value.min()))} to {amount(float(answers.value.max()))} {unit}"
        for kind, (answers, _) in kinds.items()
    )
    key = "".join(swatch(style, kind) for kind, (_, style) in kinds.items()) if len(kinds) > 1 else next(iter(kinds))
    at = starts + np.median(np.diff(starts)) / 2
    chart = line_chart(lines, at=at, marks=marks, span=_span(lines), unit=unit, description=description)
    return f"<figure><figcaption><b>{title}</b> {key}</figcaption>{chart}</figure>"


def swatch(style: str, name: str) -> str:
    """Return a line of a chart and its name, for the key; `band` is the area around a line."""
    shape = '<rect class="band released" width="36" height="14"/>'
    line = shape if style == "band" else f'<path class="{style}" d="M0,7 36,7"/>'
    return f'<span class="key"><svg viewBox="0 0 36 14" aria-hidden="true">{line}</svg>{name}</span>'


def _span(lines: Sequence[ChartLine]) -> tuple[float, float]:
    """Return the lowest and highest kWh of a chart, which shows zero, all lines and all bands."""
    ends = [end for line in lines for end in (line.kwh, *(line.band or ()))]
    bottom, top = min(0.0, *(float(end.min()) for end in ends)), max(0.0, *(float(end.max()) for end in ends))
    return bottom, top + MARGIN * (top - bottom) or 1.0


def _parts(answers: QueryAnswers) -> tuple[Floats, Floats, Floats, Floats]:
    return answers.value, answers.standard_error, answers.low, answers.high


@dataclass(frozen=True)
class DayPart:
    """A part of the day or week, with a weight for each step: one over their number, 0 for the others."""

    name: str
    when: str
    schedule: Floats


def parts_of(window: Window, zone: str) -> list[DayPart]:
    """Return the quarters of the day by local time; with longer steps weekdays and weekends, or nothing.

    A step belongs to the part that its middle lies in.
    """
    short = window.step <= DAY / len(QUARTERS)
    names, number = (QUARTERS, _quarter) if short else (HALVES, _half)
    if window.step > DAY or window.steps * window.step < DAY:
        return []
    place = time_zone(zone)
    numbers = np.array([number((time + window.step / 2).astimezone(place)) for time in window.times()])
    counts = np.bincount(numbers, minlength=len(names))
    if not counts.all():
        return []
    return [DayPart(*name, (numbers == part) / counts[part]) for part, name in enumerate(names)]


def _quarter(local: datetime) -> int:
    return local.hour * len(QUARTERS) // 24


def _half(local: datetime) -> int:
    return int(local.weekday() >= WORK_DAYS)
