"""The spec: what it must say, and how it complains."""

import re
import tomllib
import traceback
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError
from tests.codes import has_code

from gridveil.cli import options
from gridveil.mechanisms.base import make
from gridveil.model.errors import InputError, UsageError
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import check_budget
from gridveil.publishing.spec import DEFAULT_MECHANISM, Spec, make_spec, read_spec
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings

PUBLIC = {"extent": "0,0,2,2", "grid": "2x3", "start": "2013-02-04T00:00", "steps": 4, "mechanism": "identity"}
DOCUMENTED = Path(__file__).parents[2] / "docs" / "input.md"


def test_the_documented_spec_is_one(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", DOCUMENTED.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    path = tmp_path / "spec.toml"
    path.write_text(found[1], encoding="utf-8")
    spec = make_spec(read_spec(path))
    readings, households = spec.tables()
    assert (readings.path, readings.timestamps) == (str(tmp_path / "readings-*.csv"), "end")
    assert (households.path, households.table) == (str(tmp_path / "town.duckdb"), "homes")
    assert spec.out == tmp_path / "release"
    plan = Plan.of(spec)
    assert plan.window.start == datetime(2013, 2, 4, tzinfo=UTC)
    assert spec.to_bound() == Bound(20_000, 136_000)
    assert spec.ledger == str(tmp_path / "ledger.db")
    assert spec.to_engine() == EngineSettings(memory=4 * 10**9, scratch=Path("/var/private/scratch"))
    unused = {"cell_size", "acknowledge", "bound", "profile", "no_ledger", "master", "database", "cadence"}
    assert set(tomllib.loads(found[1])) == set(type(spec).model_fields) - unused


def test_tables_as_paths_and_with_intervals(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(
        'households = "d.duckdb::homes"\n[readings]\npath = "/r.csv"\ninterval = "30min"\n', encoding="utf-8"
    )
    readings, households = make_spec(read_spec(path)).tables()
    assert (readings.path, readings.interval) == ("/r.csv", 1800)
    assert (households.path, households.table) == (str(tmp_path / "d.duckdb"), "homes")


@pytest.mark.parametrize("epsilon", [0.1, "0.1"])
def test_epsilon_is_the_decimal_that_was_typed(epsilon: Any) -> None:
    assert check_budget(make_spec({"epsilon": epsilon})).epsilon == Fraction(1, 10)


def test_bounds_are_the_decimals_that_were_typed() -> None:
    spec = make_spec({"bound_step": 0.57, "bound_window": 1.1, "steps": 4})
    assert spec.to_bound() == Bound(570, 1100)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"epsilon": True}, "epsilon: give a number"),
        ({"epsilom": 1}, "epsilom: there is no such setting; did you mean epsilon?"),
        ({"readings": {"path": "r", "timezome": "UTC"}}, "readings.timezome"),
        ({"readings": {"path": "r", "unit": "MWh"}}, "readings.unit"),
        ({"readings": {"path": "r", "interval": "half an hour"}}, "write 15min, 1h or 1d"),
        ({"readings": {"household": "h"}}, "readings.path"),
        ({"readings": 5}, "readings"),
        ({"grid": "32"}, "write 32x32"),
        ({"extent": "0,0,1"}, "extent"),
        ({"extent": [0, 0, "inf", 1]}, "extent"),
        ({"step": "1 hour"}, "write 15min, 1h or 1d"),
        ({"steps": 0}, "steps"),
        ({"start": 20130204}, "write a date and a time"),
        ({"start": "4 February"}, "start"),
        ({"bound_step": -1}, "bound_step"),
        ({"bound": "tight"}, "bound: Input should be 'auto'"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, check=has_code("settings-invalid")) as error:
        make_spec(settings)
    assert complaint in str(error.value)


SECRET = "hunter2"  # noqa: S105  # nobody's
ADDRESS = f"postgresql://me:{SECRET}@host/db"


@pytest.mark.parametrize(
    "settings",
    [
        {"ledgr": ADDRESS},
        {"ledger": [ADDRESS]},
        {"ledger": {"url": ADDRESS}},
        {"ledger": {"password": SECRET}},
        {"no_ledger": SECRET},
        {"ledger": ADDRESS, "no_ledger": ADDRESS},
        {"grid": ADDRESS},
        {"steps": f"host=db password={SECRET}"},
        {"readings": {"path": "a", ADDRESS: 1}},
    ],
)
def test_no_complaint_tells_a_password(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, check=has_code("settings-invalid")) as refused:
        make_spec(settings)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None  # pydantic's own words repeat it
    assert refused.value.__context__ is None


CANARY = "canary-71"
ROWS = [{"household": CANARY, "timestamp": datetime(2013, 2, 4, tzinfo=UTC), "kwh": 71.717}]
FRAME = pd.DataFrame(ROWS)


@pytest.mark.parametrize(
    "settings",
    [
        {"readings": FRAME.kwh},
        {"households": FRAME.household},
        {"readings": ROWS},
        {"readings": FRAME.to_dict("list")},
        {"readings": {CANARY: 71.717}},
        {"readings": {"path": FRAME}},
        {"readings": {"path": "r", "table": FRAME}},
        {"readings": {"path": "r", "unit": FRAME.to_csv() * 3}},
        {"extent": FRAME},
        {"grid": FRAME.to_numpy().tolist()},
        {"parameters": FRAME},
        {"spec": FRAME},
    ],
)
def test_no_complaint_tells_a_row(settings: dict[str, Any]) -> None:
    for refused_by in (make_spec, Spec.model_validate):
        with pytest.raises((UsageError, ValidationError)) as refused:
            refused_by(settings)
        if refused_by is make_spec or CANARY not in settings.get("readings", ()):  # pydantic names what is not known
            told = "".join(traceback.format_exception(refused.value))
            assert not re.search(r"canary|71\.?71", told)


def test_no_complaint_of_a_mechanism_tells_a_row() -> None:
    with pytest.raises(UsageError, check=has_code("parameter-invalid", "depth", "given: a DataFrame")) as refused:
        make("stpt", {"depth": FRAME})
    assert not re.search(r"canary|71\.?71", "".join(traceback.format_exception(refused.value)))


def test_a_spec_does_not_show_its_ledgers_password() -> None:
    spec = make_spec({"ledger": ADDRESS})
    assert spec.ledger == ADDRESS
    assert SECRET not in repr(spec) + str(spec)


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS.replace("//", "/"), f"host=db password={SECRET}"])
def test_an_address_in_a_file_is_not_taken_for_a_path(tmp_path: Path, address: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(f'ledger = "{address}"', encoding="utf-8")
    assert read_spec(path)["ledger"] == address


@pytest.mark.parametrize("name", ["extent", "grid", "start", "steps"])
def test_what_is_public_must_be_given(name: str) -> None:
    with pytest.raises(UsageError, check=has_code("settings-missing", f"{name}: give --{name}")):
        Plan.of(make_spec({key: value for key, value in PUBLIC.items() if key != name}))


def test_the_budget_must_be_given() -> None:
    with pytest.raises(UsageError, check=has_code("settings-missing", "epsilon")):
        make_spec(PUBLIC).need("epsilon")


@pytest.mark.parametrize(
    ("stated", "bound", "private"),
    [
        ({}, Bound(23_000, 92_000), True),
        ({"bound": "auto"}, Bound(23_000, 92_000), True),
        ({"step": "15min"}, Bound(5_750, 23_000), True),
        ({"step": "1d"}, Bound(552_000, 2_208_000), True),
        ({"step": "1s"}, Bound(6, 24), True),
        ({"bound_step": 5}, Bound(5_000, 20_000), True),
        ({"bound_window": 30}, Bound(23_000, 30_000), False),
        ({"bound_step": 5, "bound_window": 10}, Bound(5_000, 10_000), False),
    ],
)
def test_bounds_need_not_be_stated(stated: dict[str, Any], bound: Bound, private: object) -> None:
    spec = make_spec(PUBLIC | stated)
    assert (spec.to_bound(), spec.private_bound) == (bound, private)


def test_a_window_bound_is_given_or_chosen_and_not_both() -> None:
    both = make_spec(PUBLIC | {"bound": "auto", "bound_window": 30})
    with pytest.raises(UsageError, check=has_code("bound-given-twice")):
        Plan.of(both)


def test_the_help_names_the_default_mechanism() -> None:
    assert options.BUDGET["mechanism"].default.show_default == DEFAULT_MECHANISM


@pytest.mark.parametrize(
    "settings",
    [
        {"crs": "EPSG:99999"},
        {"crs": "nonsense"},
        {"crs": "EPSG:5703"},
        {"crs": "EPSG:4326", "extent": "0,0,1,91"},
        {"extent": "2,0,0,2"},
        {"start": "9999-12-31T00:00"},
        {"start": "0001-01-01T00:00"},
        {"steps": 10**15},
        {"readings": {"path": "r", "timezone": "Mars/Olympus"}},
    ],
)
def test_public_settings_that_make_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Plan.of(make_spec(PUBLIC | settings))


def test_start_without_offset_is_local() -> None:
    readings = {"path": "r", "timezone": "Europe/Berlin"}
    assert make_spec(PUBLIC | {"readings": readings}).to_window().start == datetime(2013, 2, 3, 23, tzinfo=UTC)
    assert make_spec(PUBLIC | {"start": "20130204T00+0200"}).to_window().start == datetime(2013, 2, 3, 22, tzinfo=UTC)


def test_cell_sizes_in_metres() -> None:
    flat = make_spec({"extent": "0,0,1000,450", "cell_size": 100, "crs": "EPSG:27700"}).to_grid()
    assert (flat.nx, flat.ny, flat.x1, flat.y1) == (10, 5, 1000, 500)
    round_ = make_spec({"extent": "0,51,0.1,51.1", "cell_size": 1000, "crs": "EPSG:4326"}).to_grid()
    assert (round_.nx, round_.ny) == (7, 12)  # 6,998 m by 11,132 m
    assert round_.cell_height * 111_320 == pytest.approx(1000)


@pytest.mark.parametrize(
    ("content", "code"), [(None, "spec-unreadable"), (b"epsilon = ", "spec-not-toml"), (b"\xff", "spec-not-toml")]
)
def test_specs_that_cannot_be_read(tmp_path: Path, content: bytes | None, code: str) -> None:
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, check=has_code(code, "spec.toml")):
        read_spec(path)
    with pytest.raises(InputError, check=has_code("spec-unreadable")):
        read_spec(tmp_path)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"master": "local[2]"}, ("engine-setting", "--engine spark")),
        ({"engine": "postgres"}, ("engine-needs-setting", "--database")),
        ({"database": "postgresql://u:secret@h/d"}, ("engine-setting", "--engine postgres")),
        ({"engine": "oracle"}, ("settings-invalid", "engine")),
        ({"memory": "4 potatoes"}, ("settings-invalid", "memory")),
        ({"memory": "1MB"}, ("settings-invalid", "memory")),
    ],
)
def test_settings_of_engines_that_do_not_go_together_are_refused_first(
    settings: dict[str, Any], told: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError, check=has_code(*told)) as refused:
        Plan.of(make_spec({**PUBLIC, "readings": "nowhere.parquet", "households": "nowhere.parquet", **settings}))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("engine", "named", "path", "table"),
    [
        ("postgres", "metering.readings", "metering.readings", "metering.readings"),
        ("spark", "metering.readings", "metering.readings", "metering.readings"),
        ("spark", "s3a://metering/readings.parquet", "s3a://metering/readings.parquet", None),
        ("spark", "lake/%Y/*.parquet", "lake/%Y/*.parquet", None),
    ],
)
def test_what_only_an_engine_can_see_is_not_asked_of_the_disk(
    engine: str, named: str, path: str, table: str | None
) -> None:
    database = {"database": "postgresql://host/db"} if engine == "postgres" else {}
    spec = options.spec_from(named, {"engine": engine, "households": named, **database})
    assert [(at.path, at.table) for at in spec.tables()] == [(path, table)] * 2


@pytest.mark.parametrize("engine", [None, "duckdb", "spark"])
def test_a_file_that_is_not_there_is_told_at_once(engine: str | None) -> None:
    with pytest.raises(InputError, check=has_code("spec-missing", "nothing.parquet")):
        options.spec_from("nothing.parquet", {} if engine is None else {"engine": engine})


@pytest.mark.parametrize("path", ["readings.parquet", "readings.csv.gz", "specs/metering.readings"])
def test_engine_postgres_has_no_files(path: str) -> None:
    given = {"engine": "postgres", "database": "postgresql://host/db", "households": {"table": "homes"}}
    with pytest.raises(UsageError, check=has_code("path-without-files", "readings")):
        make_spec({**given, "readings": {"path": path}}).tables()


def test_memory_is_refused_in_the_units_it_is_given_in() -> None:
    with pytest.raises(UsageError, check=has_code("settings-invalid", "memory", "256MB")):
        make_spec({"memory": "10MB"})
    assert make_spec({"memory": "256MB"}).memory == 256 * 10**6


def test_engine_postgres_takes_no_scratch(tmp_path: Path) -> None:
    spec = make_spec({"engine": "postgres", "database": "postgresql://host/db", "scratch": tmp_path})
    with pytest.raises(UsageError, check=has_code("engine-setting", "scratch")):
        spec.to_engine()
