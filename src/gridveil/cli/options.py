"""Flags that several commands share, and the spec they make together with a TOML file."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridveil.model.errors import InputError, UsageError
from gridveil.trusted.engines.base.schema import kind_of
from gridveil.trusted.engines.base.settings import DEFAULT_ENGINE, ENGINES

if TYPE_CHECKING:
    from gridveil.publishing.spec import Spec

TABLES, GRID, TIME, PRIVACY, LABEL, ENGINE = "Tables", "Grid", "Time", "Privacy", "Label", "Engine"

Source = Annotated[
    str | None,
    typer.Argument(help="A spec (.toml), or the readings: .parquet, .csv, DATABASE.duckdb::TABLE, a table of --engine"),
]
Households = Annotated[str | None, typer.Option(help="Table of households and their places", rich_help_panel=TABLES)]
Timezone = Annotated[
    str | None, typer.Option(help="Of timestamps without offset", show_default="UTC", rich_help_panel=TABLES)
]
Timestamps = Annotated[
    str | None,
    typer.Option(
        help="Whether timestamps mark the start or end of an interval", show_default="start", rich_help_panel=TABLES
    ),
]
Unit = Annotated[str | None, typer.Option(help="kWh, Wh or kW", show_default="kWh", rich_help_panel=TABLES)]
Interval = Annotated[str | None, typer.Option(help="Of the meters, e.g. 30min; for kW", rich_help_panel=TABLES)]
Extent = Annotated[str | None, typer.Option(help="Public limits X0,Y0,X1,Y1", rich_help_panel=GRID)]
Cells = Annotated[str | None, typer.Option("--grid", help="Cells, e.g. 32x32", rich_help_panel=GRID)]
CellSize = Annotated[float | None, typer.Option(help="Or their size in metres", rich_help_panel=GRID)]
Crs = Annotated[str | None, typer.Option(help="Coordinate system, e.g. EPSG:27700", rich_help_panel=GRID)]
Start = Annotated[str | None, typer.Option(help="First step, e.g. 2013-02-04T00:00", rich_help_panel=TIME)]
Step = Annotated[str | None, typer.Option(help="Length of a step", show_default="1h", rich_help_panel=TIME)]
Steps = Annotated[int | None, typer.Option(help="How many steps", rich_help_panel=TIME)]
BoundStep = Annotated[
    float | None,
    typer.Option(help="Bound on a household's kWh in a step", show_default="23 kW", rich_help_panel=PRIVACY),
]
BoundWindow = Annotated[
    float | None,
    typer.Option(
        help="Bound on a household's total kWh in the window", show_default="chosen privately", rich_help_panel=PRIVACY
    ),
]
Bound = Annotated[
    str | None,
    typer.Option(help="auto: choose the bound on the total privately, with part of epsilon", rich_help_panel=PRIVACY),
]
Epsilon = Annotated[
    str | None,
    typer.Option(help="The budget: 1 strong, 3 moderate, 5 weak; twice it for behaviour", rich_help_panel=PRIVACY),
]
Acknowledge = Annotated[bool, typer.Option("--acknowledge", help="Allow epsilon above 30", rich_help_panel=PRIVACY)]
MechanismName = Annotated[
    str | None, typer.Option(help="See `gridveil mechanisms`", show_default="mosaic", rich_help_panel=PRIVACY)
]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", help="A mechanism's parameter, NAME=VALUE", rich_help_panel=PRIVACY)
]
Profile = Annotated[
    Path | None,
    typer.Option(
        help="Public shape of the day (CSV) to start from, never one of the readings: the label repeats its numbers",
        rich_help_panel=PRIVACY,
    ),
]

Title = Annotated[str | None, typer.Option(help="Of the release", rich_help_panel=LABEL)]
Publisher = Annotated[str | None, typer.Option(help="Who publishes it", rich_help_panel=LABEL)]
BoundOrigin = Annotated[str | None, typer.Option(help="Where the bounds come from", rich_help_panel=LABEL)]
Choices = Annotated[str | None, typer.Option(help="How the settings were chosen", rich_help_panel=LABEL)]
Ledger = Annotated[
    str | None,
    typer.Option(
        help="Privacy ledger: a file or postgresql:// URL (gridveil ledger init makes one)",
        rich_help_panel=PRIVACY,
    ),
]
Population = Annotated[
    str | None, typer.Option(help="Population to debit, if the ledger has more than one", rich_help_panel=PRIVACY)
]
NoLedger = Annotated[
    bool,
    typer.Option("--no-ledger", help="Publish though nobody keeps count; the label says so", rich_help_panel=PRIVACY),
]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", help=", ".join(ENGINES.names()), show_default=DEFAULT_ENGINE, rich_help_panel=ENGINE),
]
Master = Annotated[
    str | None, typer.Option(help="Of Spark, e.g. local[2] or spark://HOST:7077", rich_help_panel=ENGINE)
]
Database = Annotated[
    str | None, typer.Option(help="Where PostgreSQL has the tables: postgresql://...", rich_help_panel=ENGINE)
]
Memory = Annotated[str | None, typer.Option(help="Most that the engine may use, e.g. 4GB", rich_help_panel=ENGINE)]
Scratch = Annotated[
    Path | None,
    typer.Option(help="A private folder for what exceeds memory; DuckDB goes on from it", rich_help_panel=ENGINE),
]
Out = Annotated[Path | None, typer.Option(help="The release: a new folder")]
Next = Annotated[
    bool, typer.Option("--next", help="The next window of a series: the spec has a cadence, --out is the series")
]
Again = Annotated[
    bool,
    typer.Option("--again", help="With --next: try a window once more that was debited, and has no release"),
]
OperatorRecord = Annotated[
    Path | None,
    typer.Option(help="A new file for the operator only: digests and counts of what was read, never to be published"),
]

TABLE_NAMES = ("readings", "households")
_OF_READINGS = ("timezone", "timestamps", "unit", "interval")


def spec_from(
    source: str | None,
    parameters: list[str] | None,
    flags: dict[str, Any],
    spec: str | None = None,
    *,
    tables: bool = True,
) -> Spec:
    """Return the spec: what the TOML file says (`source` or `spec`), overridden by flags that were given.

    tables: whether they are read; if not, what is said of readings (the timezone, by which windows begin) holds without
    a place where they are.
    """
    from gridveil.publishing.spec import make_spec, read_spec

    is_spec = source is not None and source.endswith(".toml")
    file = source if is_spec else spec
    settings = read_spec(Path(file)) if file is not None else {}
    given = {name: value for name, value in flags.items() if value is not None and value is not False}
    engine = str(given.get("engine", settings.get("engine", DEFAULT_ENGINE)))
    if source is not None and not is_spec:
        settings["readings"] = {**_group(settings, "readings"), **_table(source, engine)}
        _check_named(settings["readings"], engine)
    if "households" in given:
        settings["households"] = {**_group(settings, "households"), **_table(given.pop("households"), engine)}
    of_readings = {name: given.pop(name) for name in _OF_READINGS if name in given}
    if of_readings:
        settings["readings"] = {**_group(settings, "readings"), **of_readings}
    if not tables:
        settings |= {
            name: {"path": name, **_group(settings, name)} for name in TABLE_NAMES if _lacks_place(settings, name)
        }
    if given.get("mechanism", settings.get("mechanism")) != settings.get("mechanism"):
        settings.pop("parameters", None)  # those in the file are of another mechanism
    if "no_ledger" in given and "ledger" not in given:
        settings = {name: value for name, value in settings.items() if name not in ("ledger", "population")}
    if "ledger" in given and "no_ledger" not in given:
        settings.pop("no_ledger", None)
    settings["parameters"] = {**_group(settings, "parameters"), **dict(_pair(text) for text in parameters or [])}
    return make_spec({**settings, **given})


def _lacks_place(settings: dict[str, Any], name: str) -> bool:
    """Whether something is said of a table, but not where it is."""
    return isinstance(settings.get(name), dict) and not settings[name].keys() & {"path", "table"}


def _group(settings: dict[str, Any], name: str) -> dict[str, Any]:
    group = settings.get(name, {})
    if not isinstance(group, dict):
        msg = f"{name} in the spec must be a group of settings ([{name}] and lines below it), not {group!r}"
        raise UsageError(msg, code="spec-group-syntax")
    return group


def _table(text: str, name: str) -> dict[str, Any]:
    engine = ENGINES.load(name)
    if not engine.reads_files or (engine.has_catalogue and not _is_path(text)):
        return {"path": text, "table": text if kind_of(text) is None else None}
    path, _, table = text.partition("::")
    return {"path": path, "table": table or None}


def _is_path(text: str) -> bool:
    """Whether it looks like a file or a pattern, and not like the name of a table in a catalogue."""
    return "/" in text or "%" in text or glob.has_magic(text) or kind_of(text) is not None or Path(text).exists()


def _check_named(table: dict[str, Any], name: str) -> None:
    """Say it first if the one thing that was named is not there: a spec with a typing error in its name, perhaps."""
    path, engine = table["path"], ENGINES.load(name)
    elsewhere = not engine.reads_files or (engine.has_catalogue and (table["table"] is not None or "://" in path))
    if not (elsewhere or glob.has_magic(path) or "%" in path) and not Path(path).exists():
        msg = f"{path}: there is no such file (a spec ends in .toml)"
        raise InputError(msg, code="spec-missing")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        msg = f"--set {text}: write NAME=VALUE, e.g. --set depth=5"
        raise UsageError(msg, code="set-syntax")
    return name, value
