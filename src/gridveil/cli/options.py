"""Flags that several commands share, each defined once, and the spec that they make together with a TOML file."""

from __future__ import annotations

import glob
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gridveil.model.errors import InputError, UsageError
from gridveil.trusted.engines.base.engine import DEFAULT_ENGINE, ENGINES
from gridveil.trusted.engines.base.schema import kind_of

if TYPE_CHECKING:
    from gridveil.publishing.spec import Spec

Flags = dict[str, Any]
"""The flags of a spec that were given on the command line, by the names of its settings."""

Source = Annotated[
    str | None,
    typer.Argument(help="A spec (.toml), or the readings: .parquet, .csv, DATABASE.duckdb::TABLE, a table of --engine"),
]


class Flag(NamedTuple):
    """A flag that may be left out.

    name: as it is written, where that does not follow from the setting. shown: the default that `--help` prints.
    """

    kind: Any
    text: str
    name: str | None = None
    shown: str | None = None


def group(panel: str | None, **flags: Flag) -> dict[str, Parameter]:
    """Return flags by setting as parameters of a command, shown together below a heading of `--help`."""
    parameters = {}
    for setting, flag in flags.items():
        is_switch, names = flag.kind is bool, [flag.name] if flag.name else []
        option = typer.Option(
            False if is_switch else None, *names, help=flag.text, show_default=flag.shown or True, rich_help_panel=panel
        )
        annotation = bool if is_switch else flag.kind | None
        parameters[setting] = Parameter(setting, Parameter.KEYWORD_ONLY, default=option, annotation=annotation)
    return parameters


TABLES = group(
    "Tables",
    households=Flag(str, "Table of households and their places"),
    timezone=Flag(str, "Timezone of timestamps without offset", shown="UTC"),
    timestamps=Flag(str, "Whether timestamps mark the start or end of an interval", shown="start"),
    unit=Flag(str, "kWh, Wh or kW", shown="kWh"),
    interval=Flag(str, "Interval of the meters, e.g. 30min; needed for kW"),
)
GRID = group(
    "Grid",
    extent=Flag(str, "Public limits X0,Y0,X1,Y1"),
    grid=Flag(str, "Number of cells, e.g. 32x32"),
    cell_size=Flag(float, "Or the size of cells in metres"),
    crs=Flag(str, "Coordinate system, e.g. EPSG:27700"),
)
TIME = group(
    "Time",
    start=Flag(str, "First step, e.g. 2013-02-04T00:00"),
    step=Flag(str, "Length of a step", shown="1h"),
    steps=Flag(int, "Number of steps"),
)
BOUNDS = group(
    "Privacy",
    bound_step=Flag(float, "Bound on a household's kWh in a step", shown="23 kW"),
    bound_window=Flag(float, "Bound on a household's total kWh in the window", shown="chosen privately"),
)
BUDGET = group(
    "Privacy",
    epsilon=Flag(str, "Privacy budget: 1 strong, 3 moderate, 5 weak; behaviour loses twice that"),
    acknowledge=Flag(bool, "Allow epsilon above 30", "--acknowledge"),
    mechanism=Flag(str, "See `gridveil mechanisms`", shown="mosaic"),
    parameters=Flag(list[str], "A mechanism's parameter, NAME=VALUE", "--set"),
)
LABEL = group(
    "Label",
    title=Flag(str, "Title of the release"),
    publisher=Flag(str, "Who publishes it"),
    bound_origin=Flag(str, "Where the bounds come from"),
)
LEDGER = group(
    "Privacy",
    ledger=Flag(str, "Privacy ledger: a file or postgresql:// URL (gridveil ledger init makes one)"),
    population=Flag(str, "Population to debit, if the ledger has more than one"),
    no_ledger=Flag(bool, "Publish without tracking the cumulative privacy loss; the label says so", "--no-ledger"),
)
ENGINE = group(
    "Engine",
    engine=Flag(str, ", ".join(ENGINES.names()), shown=DEFAULT_ENGINE),
    master=Flag(str, "Spark master, e.g. local[2] or spark://HOST:7077"),
    database=Flag(str, "Database of the tables, e.g. postgresql://..."),
    memory=Flag(str, "Maximum memory of the engine, e.g. 4GB"),
    scratch=Flag(Path, "Private folder for data that exceeds memory; DuckDB resumes from it"),
)
OUT = group(None, out=Flag(Path, "The release: a new folder"))


def takes(*groups: dict[str, Parameter]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these flags in place of its parameter `flags`, which holds those that were set."""
    shared = {name: one for flags in groups for name, one in flags.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = signature(command, eval_str=True)

        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401  # what typer has parsed
            flags = {name: given.pop(name) for name in shared}
            command(flags={n: value for n, value in flags.items() if value is not None and value is not False}, **given)

        own = [[one] if one.name != "flags" else [*shared.values()] for one in declared.parameters.values()]
        parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for several in own for one in several]
        run.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer reads it
        return run

    return decorate


TABLE_NAMES = ("readings", "households")
OF_READINGS = ("timezone", "timestamps", "unit", "interval")
"""Flags that are settings of the table of readings."""


def spec_from(source: str | None, flags: Flags, spec: Path | None = None, *, tables: bool = True) -> Spec:
    """Return the spec: the settings of the TOML file (`source` or `spec`), overridden by flags.

    tables: whether they are read. If not, settings of readings (the timezone, by which windows begin) hold even where
    no path is given.
    """
    from gridveil.publishing.spec import make_spec, read_spec

    is_spec = source is not None and source.endswith(".toml")
    file = source if is_spec else spec
    settings = read_spec(Path(file)) if file is not None else {}
    given = dict(flags)
    parameters = dict(_pair(text) for text in given.pop("parameters", []))
    engine = str(given.get("engine", settings.get("engine", DEFAULT_ENGINE)))
    if source is not None and not is_spec:
        settings["readings"] = {**_group(settings, "readings"), **_table(source, engine)}
        _check_named(settings["readings"], engine)
    if "households" in given:
        settings["households"] = {**_group(settings, "households"), **_table(given.pop("households"), engine)}
    of_readings = {name: given.pop(name) for name in OF_READINGS if name in given}
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
    settings["parameters"] = {**_group(settings, "parameters"), **parameters}
    return make_spec({**settings, **given})


def _lacks_place(settings: dict[str, Any], name: str) -> bool:
    """Whether a table has settings, but no path or name."""
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
    """Refuse at once a file that is not there: the name of a spec with a typing error, perhaps."""
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
