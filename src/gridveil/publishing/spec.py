"""The spec: everything a publication needs to be told, from a TOML file, flags or Python. All of it is public."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gridveil.geography.grid import Grid, metres_per_unit
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import InputError, UsageError, quote_setting
from gridveil.model.files import read_small
from gridveil.model.window import Window, timezone
from gridveil.trusted.budget import Bound, default_step_bound
from gridveil.trusted.engines.base.engine import DEFAULT_ENGINE, ENGINES, EngineSettings, check_memory, parse_size
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, Seconds, kind_of
from gridveil.trusted.ledger.book import is_address, may_hold_password

T = TypeVar("T")
TableT = TypeVar("TableT", ReadingsTable, HouseholdsTable)
Cadence = Literal["day", "week", "month", "year"]
SLACK = timedelta(days=366)
"""Room in the calendar before and after a window, for clocks and training."""

DEFAULT_MECHANISM = "mosaic"
"""Of a publication that names none, and the first of the demo; `--help` says it too."""

MAX_SPEC_BYTES = 2**16
"""Bytes of a file with a spec."""

HOW_TO_CHOOSE = {
    "readings": "give the table of readings",
    "households": "give the table of households (--households FILE)",
    "extent": (
        "give --extent X0,Y0,X1,Y1: the public outer limits of the area, from a map or a statute, "
        "never from the households"
    ),
    "grid": "give --grid 32x32 (cells west-east x south-north) or --cell-size METRES",
    "start": (
        "give --start 2013-02-04T00:00: the first published step; which period is published must not depend on the data"
    ),
    "steps": "give --steps N: how many steps are published",
    "epsilon": "give --epsilon: 1 is strong, 3 moderate, from 5 on weak; gridveil plan shows the error at each",
    "out": "give --out DIR: a folder that does not exist yet",
}

LONGITUDE, LATITUDE = ("lon", "lng", "long", "longitude"), ("lat", "latitude")
"""Names of columns that are degrees."""

NO_CRS = (
    "the households' columns are longitude and latitude, but no coordinate system was stated: give --crs EPSG:4326 "
    "(in a spec: crs), or --crs local for a map that knows no degrees"
)


NO_LEDGER_STATED = """\
not stated: who keeps count. Releases about the same households add up; a ledger adds them up, and refuses what would
go over a cap. Make one, once for these households:
  gridveil ledger init ledger.db --population "Households of my town" --cap 4
and publish with it:
  --ledger ledger.db
or publish without one, and the label says so:
  --no-ledger
(in a spec or in Python: ledger = "ledger.db", or no_ledger = true)"""


def _refuse_bool(given: object) -> object:
    if isinstance(given, bool):
        msg = "give a number"
        raise ValueError(msg)  # noqa: TRY004  # pydantic turns only this one into a complaint
    return given


def _parse_grid(text: object) -> object:
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+)\s*x\s*(\d+)", text.strip())
    if not match:
        msg = f"{text!r} is not a grid; write 32x32"
        raise ValueError(msg)
    return int(match[1]), int(match[2])


def _parse_extent(given: object) -> object:
    numbers = given.split(",") if isinstance(given, str) else given
    if isinstance(numbers, list | tuple) and len(numbers) != len("xyxy"):
        msg = f"give four numbers X0,Y0,X1,Y1 (west, south, east, north), not {len(numbers)}"
        raise ValueError(msg)
    return numbers


def _parse_start(text: object) -> object:
    if isinstance(text, date):
        return text
    with suppress(TypeError, ValueError):
        return datetime.fromisoformat(text)  # type: ignore[arg-type]  # a number, seconds since 1970 perhaps, is refused
    msg = "write a date and a time, e.g. 2013-02-04T00:00"
    raise ValueError(msg)


def _parse_table(table: object) -> object:
    """Take `path`, `path::table` and a table's name alone for the table that they name."""
    settings = {"path": str(table)} if isinstance(table, str | Path) else table
    if not isinstance(settings, dict):
        return settings
    path, table = settings.get("path"), settings.get("table")
    named = isinstance(table, str) and bool(table)
    if named and path is None:
        return {**settings, "path": table}  # of a database or a catalogue, which needs no path
    if not named and isinstance(path, str | Path):
        path, mark, name = str(path).partition("::")
        return {**settings, "path": path, "table": name} if mark else settings
    return settings


def _check_engine(name: str) -> str:
    if name not in ENGINES.names():
        msg = f"give one of {', '.join(ENGINES.names())}"
        raise ValueError(msg)
    return name


def _parse_place(place: object) -> object:
    return str(place) if isinstance(place, Path) else place


class Spec(BaseModel):
    """The settings of one publication, or of a series: all of them public, as in the TOML file of a spec.

    What is `None` has not been stated; `publish` asks for it when it is needed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    readings: Annotated[ReadingsTable | None, BeforeValidator(_parse_table)] = None
    households: Annotated[HouseholdsTable | None, BeforeValidator(_parse_table)] = None
    extent: Annotated[tuple[float, float, float, float], BeforeValidator(_parse_extent)] | None = None
    grid: Annotated[tuple[int, int], BeforeValidator(_parse_grid)] | None = None
    cell_size: Annotated[float, Field(gt=0)] | None = None
    crs: str | None = None
    start: Annotated[datetime, BeforeValidator(_parse_start)] | None = None
    step: Seconds = 3600
    steps: Annotated[int, Field(ge=1)] | None = None
    bound: Literal["auto"] | None = None
    bound_step: Annotated[float, Field(gt=0)] | None = None
    bound_window: Annotated[float, Field(gt=0)] | None = None
    bound_origin: str = "not stated"
    epsilon: Annotated[str | float | int | None, BeforeValidator(_refuse_bool)] = None
    acknowledge: bool = False
    mechanism: str = DEFAULT_MECHANISM
    parameters: dict[str, Any] = Field(default_factory=dict)
    profile: Path | None = None
    engine: Annotated[str, AfterValidator(_check_engine)] = DEFAULT_ENGINE
    master: str | None = None
    database: Annotated[str | None, Field(repr=False)] = None
    memory: Annotated[int | None, BeforeValidator(parse_size), AfterValidator(check_memory)] = None
    scratch: Path | None = None
    cadence: Cadence | None = None
    title: str = "Electricity consumption"
    publisher: str = "not stated"
    choices: str = "not stated"
    ledger: Annotated[str | None, BeforeValidator(_parse_place), Field(repr=False)] = None
    population: str | None = None
    no_ledger: bool = False
    out: Path | None = None

    def need(self, *names: str) -> None:
        """Refuse to go on without these, saying how to choose them."""
        missing = [f"  {name}: {HOW_TO_CHOOSE[name]}" for name in names if not self._is_stated(name)]
        if missing:
            msg = "not stated, and gridveil never reads it off the data:\n" + "\n".join(missing)
            raise UsageError(msg, code="settings-missing")

    def _is_stated(self, name: str) -> bool:
        return getattr(self, name) is not None or (name == "grid" and self.cell_size is not None)

    def tables(self) -> tuple[ReadingsTable, HouseholdsTable]:
        """Return where the readings and the households are."""
        readings, households = self._require(self.readings, "readings"), self._require(self.households, "households")
        if self.reads_files:
            return readings, households
        return _name_table(readings, "readings", self.engine), _name_table(households, "households", self.engine)

    @property
    def reads_files(self) -> bool:
        """Whether the engine reads files of this machine; if not, a path is a table's name."""
        return ENGINES.load(self.engine).reads_files

    def to_grid(self) -> Grid:
        """Return the grid. A cell size in metres may move the extent's north-east corner out, to whole cells."""
        x0, y0, x1, y1 = self._require(self.extent, "extent")
        Grid(x0, y0, x1, y1, 1, 1)  # complain of swapped corners before anything else
        crs = self.crs or "local"
        across, up = metres_per_unit(crs, y0, y1)
        if self.grid is not None and self.cell_size is not None:
            msg = "give either a grid or a cell size, not both"
            raise UsageError(msg, code="grid-and-cell-size")
        if self.grid is not None:
            return Grid(x0, y0, x1, y1, *self.grid, crs=crs)
        size = self._require(self.cell_size, "grid")
        width, height = size / across, size / up
        # A billionth of a cell less, so that an extent of exactly n cells is not rounded up to n + 1.
        nx, ny = math.ceil((x1 - x0) / width - 1e-9), math.ceil((y1 - y0) / height - 1e-9)
        return Grid(x0, y0, x0 + nx * width, y0 + ny * height, nx, ny, crs=crs)

    def to_window(self) -> Window:
        """Return the published window; a start without offset is in the readings' timezone."""
        start, steps = self._require(self.start, "start"), self._require(self.steps, "steps")
        if start.tzinfo is None:
            start = start.replace(tzinfo=timezone(self.readings.timezone if self.readings else "UTC"))
        try:
            window = Window(start.astimezone(UTC), timedelta(seconds=self.step), steps)
            _ = window.start - SLACK, window.end + SLACK
        except OverflowError as error:
            msg = f"{steps} steps of {self.step} s around {start}: beyond the calendar; check start, step and steps"
            raise UsageError(msg, code="window-beyond-calendar") from error
        return window

    def to_engine(self) -> EngineSettings:
        """Return where the readings are worked on."""
        return EngineSettings(self.engine, self.master, self.database, self.memory, self.scratch)

    @property
    def private_bound(self) -> bool:
        """Whether the window bound is chosen privately, because no public one is given."""
        return self.bound_window is None

    def check_single(self) -> None:
        """Refuse a series where one release is asked for."""
        if self.cadence is not None:
            msg = (
                f"cadence {self.cadence}: the spec is of a series, whose next window is published with --next (in "
                "Python: publish_next); to publish one release, leave cadence out and state steps"
            )
            raise UsageError(msg, code="cadence-needs-next")

    def check_bound(self) -> None:
        """Refuse a window bound that is given and to be chosen at once."""
        if self.bound is not None and self.bound_window is not None:
            msg = (
                f"bound {self.bound} and bound_window {self.bound_window:g}: the bound of the window is either chosen "
                "privately or given; leave one of them out (only `compare` takes both, and tries both)"
            )
            raise UsageError(msg, code="bound-given-twice")

    def check_ledger(self) -> None:
        """Refuse a publication that states neither a ledger nor that there is none, or both."""
        if self.ledger is not None and self.no_ledger:
            msg = "ledger and no_ledger: a release is debited to a ledger, or it is not; leave one of them out"
            raise UsageError(msg, code="ledger-contradiction")
        if self.ledger is None and self.population is not None:
            msg = f"population {self.population!r}: populations are a ledger's; give --ledger, too (in a spec: ledger)"
            raise UsageError(msg, code="population-without-ledger")
        if self.ledger is None and not self.no_ledger:
            raise UsageError(
                NO_LEDGER_STATED.replace("--cap 4", f"--cap 4{self.ledger_flags()}"), code="ledger-not-stated"
            )

    def ledger_flags(self) -> str:
        """Return what `ledger init` wants to be told of a series, so that each of its windows is one of the ledger."""
        if self.cadence is None:
            return ""
        zone = self.readings.timezone if self.readings else "UTC"
        return f" --unit household-window --window {self.cadence} --timezone {zone}"

    def to_bound(self) -> Bound:
        """Return the public bound of the published window, in whole Wh, rounded down.

        Without a window bound it is what the steps add up to, and one is to be chosen privately below it.
        """
        steps = self._require(self.steps, "steps")
        step = _to_watt_hours(self.bound_step) if self.bound_step is not None else default_step_bound(self.step)
        window = step * steps if self.bound_window is None else _to_watt_hours(self.bound_window)
        return Bound(step, min(window, step * steps))

    def _require(self, value: T | None, name: str) -> T:
        if value is None:
            self.need(name)
            msg = f"{name} is not stated"
            raise UsageError(msg, code="setting-missing")
        return value


def _name_table(table: TableT, role: str, engine: str) -> TableT:
    if table.table is None and (kind_of(table.path) is not None or "/" in table.path):
        msg = f"{role}: {table.path}: path is for files, and engine {engine} has none; write table = ..."
        raise UsageError(msg, code="path-without-files")
    name = table.table or table.path
    return replace(table, path=name, table=name)


def _to_watt_hours(kwh: float) -> int:
    """Return the whole Wh of the decimal that was typed: 0.57 kWh are 570 Wh, though the nearest float is below."""
    return int(Fraction(str(kwh)) * WH_PER_KWH)


def read_spec(path: Path) -> dict[str, Any]:
    """Return the settings of a TOML file; its paths are relative to the file."""
    try:
        settings = tomllib.loads(read_small(path, MAX_SPEC_BYTES))
    except OSError as error:
        msg = f"{path}: cannot be read as a spec ({error.strerror})"
        raise InputError(msg, code="spec-unreadable") from error
    except (ValueError, RecursionError) as error:
        msg = f"{path}: not a TOML file ({error})"
        raise InputError(msg, code="spec-not-toml") from error
    for name in TABLES:
        table = settings.get(name)
        if isinstance(table, dict) and isinstance(table.get("path"), str):
            table["path"] = _resolve_path(path, table["path"])
        elif isinstance(table, str):
            settings[name] = {"path": _resolve_path(path, table)}
    for name in ("out", "profile", "scratch"):
        if isinstance(settings.get(name), str):
            settings[name] = path.parent / settings[name]
    if isinstance(settings.get("ledger"), str) and not is_address(settings["ledger"]):
        settings["ledger"] = str(path.parent / settings["ledger"])
    return settings


def _resolve_path(spec: Path, path: str) -> str:
    """Return a path relative to the spec; the address of a file system of a cluster's (hdfs://...) stays as it is."""
    return path if "://" in path else str(spec.parent / path)


def make_spec(settings: dict[str, Any], base: Spec | str | Path | None = None) -> Spec:
    """Check settings; the first complaint names the setting and what was given. They override those of `base`."""
    if isinstance(base, Spec) and not settings:
        return base
    before = dict(base or {}) if base is None or isinstance(base, Spec) else read_spec(Path(base))
    try:
        return Spec.model_validate({**before, **settings})
    except ValidationError as error:
        complaints = [_describe_fault(dict(fault)) for fault in error.errors()]
    # Not from within the handler: pydantic's error repeats what was given, an address with its password perhaps.
    raise UsageError("\n".join(["settings that do not fit:", *complaints]), code="settings-invalid")


def _describe_fault(fault: dict[str, Any]) -> str:
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        close = difflib.get_close_matches(str(fault["loc"][-1]), KNOWN_SETTINGS, n=1)
        told = "there is no such setting" + (f"; did you mean {close[0]}?" if close else "")
        if not close and fault["loc"][0] in TABLES:  # a table by columns or households, perhaps: its keys are private
            return f"  {fault['loc'][0]}: a setting of it is not known; give a path, or a table and its columns' names"
    else:
        told = fault["msg"].removeprefix("Value error, ")
        told = told if fault["loc"][:1] in SECRET_SETTINGS else f"{told} (given: {quote_setting(fault['input'])})"
    if may_hold_password(name + told):
        known = next((str(part) for part in fault["loc"][:1] if part in KNOWN_SETTINGS), "a setting")
        return f"  {known}: it does not fit (what was given is not repeated: it may hold a password)"
    return f"  {name}: {told}"


TABLES = ("readings", "households")

SECRET_SETTINGS = {("ledger",), ("no_ledger",), ("database",)}
"""Settings whose values are not repeated: they may be an address with a password."""

KNOWN_SETTINGS = (
    *Spec.model_fields,
    *(field.name for kind in (ReadingsTable, HouseholdsTable) for field in fields(kind)),
)
