"""Small releases with every kind of error model, and ways to change one that somebody hostile would think of."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hypothesis import strategies as st
from tests.release.conftest import make_estimate, make_label
from tests.uncertainty.test_posterior import make_posterior

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.uncertainty import Estimate, LinearNoise

GRID = Grid(-0.5, 51.25, -0.1, 51.5, nx=4, ny=3, crs="EPSG:4326")
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 6)
KINDS = ("identity", "parts", "pillars", "replicates", "posterior", "linear")
Change = Callable[[h5py.File], object]

NUMBERS = [0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**30, 1e308, -1e308, 5e-324, 0.5, np.nan, np.inf, -np.inf]
TEXTS = [
    "",
    "x",
    "NaN",
    "../../etc/passwd",
    "/dev/zero",
    "a\x00b",
    "\x1b[31m",
    "é" * 300,
    "cposix\nsystem\n(S'id'\ntR.",
]
KINDS_OF_NUMBER = ["f4", "f8", ">f8", "f2", "i1", "i4", "u8", "c16", "S5", "bool", h5py.string_dtype(), h5py.ref_dtype]


def write(path: Path, kind: str) -> Path:
    """Write a release of one kind."""
    shape = (GRID.nx, GRID.ny, WINDOW.steps)
    if kind == "posterior":
        errors = make_posterior(shape, draws=50, regions=2)
        profiles = errors.time[np.arange(len(errors.size))[:, None, None], errors.region]
        estimate = Estimate((errors.space[..., None] * profiles).mean(axis=0), errors)
    elif kind == "linear":
        rng = np.random.default_rng(0)
        factors = (rng.normal(0, 900, (size, 5)) for size in shape)
        estimate = Estimate(rng.normal(3000, 4000, shape), LinearNoise(*factors))
    else:
        estimate = make_estimate(kind, GRID, WINDOW)
    write_release(path, grid=GRID, window=WINDOW, estimate=estimate, label=make_label(GRID, WINDOW))
    return path


def names(path: Path) -> list[str]:
    """Return the names of all datasets and groups of a release's values."""
    found: list[str] = []
    with h5py.File(path / "consumption.nc") as file:
        file.visit(found.append)
    return sorted(found)


def change_file(file: h5py.File, name: str, how: str, value: Any) -> None:
    """Change one thing in a file, if it can be changed so."""
    if file.get(name, getclass=True, getlink=True) is not h5py.HardLink:
        return  # following it is what must not happen
    there = file[name]
    if how == "attribute":
        (there if isinstance(value, str) else file).attrs[_attribute(there, file)] = value
        return
    if how == "fill":
        if isinstance(there, h5py.Dataset) and there.dtype.kind in "fi" and 0 < (there.size or 0) < MOST:
            with np.errstate(all="ignore"):
                there[...] = np.float64(value).astype(there.dtype)
        return
    shape = getattr(there, "shape", None) or (2,)
    if np.prod(shape, dtype=float) > MOST:
        return
    del file[name]
    REPLACEMENTS[how](file, name, shape, value)


def _of_shape(file: h5py.File, name: str, _: Any, value: Any) -> None:
    chunks = tuple(min(size, 8) for size in value) if value and all(value) else None
    file.create_dataset(name, value, dtype="f8", chunks=chunks)


REPLACEMENTS: dict[str, Callable[[h5py.File, str, Any, Any], object]] = {
    "delete": lambda *_: None,
    "soft": lambda file, name, _, value: file.__setitem__(name, h5py.SoftLink(value)),
    "external": lambda file, name, _, value: file.__setitem__(name, h5py.ExternalLink(value, "/consumption")),
    "group": lambda file, name, *_: file.create_group(name),
    "type": lambda file, name, shape, value: file.create_dataset(name, shape, dtype=value),
    "shape": _of_shape,
    "packed": lambda file, name, shape, value: file.create_dataset(name, data=np.ones(shape), chunks=True, **value),
    "empty": lambda file, name, *_: file.create_dataset(name, data=h5py.Empty("f8")),
}


def _attribute(there: Any, file: h5py.File) -> str:
    return next(iter(there.attrs), None) or next(iter(file.attrs))


MOST = 10**6
"""Numbers that an example may write."""
PACKED = [{"scaleoffset": 3}, {"compression": "lzf"}, {"fletcher32": True}, {"compression": 9, "shuffle": True}]
SHAPES = [
    (),
    (0,),
    (1,),
    (2**40,),
    (2**20, 2**20, 2**20),
    (7, 4, 5),
    (6, 3, 4),
    (1, 1, 1),
    (0, 0, 0),
    (50, 4),
    (1,) * 9,
]
PLACES = ["/", "/gridveil", "/consumption", "nowhere", "pipe", "/dev/zero", "label.json", "consumption.nc", "../x"]

CHANGES = st.one_of(
    st.tuples(st.just("attribute"), st.sampled_from([*NUMBERS[:2], 1e308, np.inf, np.nan, *TEXTS[:5], *TEXTS[6:]])),
    st.tuples(st.just("fill"), st.sampled_from([0.0, -1.0, 1e30, 1e308, np.nan, np.inf, -np.inf])),
    st.tuples(st.sampled_from(["soft", "external"]), st.sampled_from(PLACES)),
    st.tuples(st.sampled_from(["delete", "group", "empty"]), st.none()),
    st.tuples(st.just("type"), st.sampled_from(KINDS_OF_NUMBER)),
    st.tuples(st.just("shape"), st.sampled_from(SHAPES)),
    st.tuples(st.just("packed"), st.sampled_from(PACKED)),
)


def paths(facts: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values of a label."""
    inner = facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else ()
    return [above, *(path for key, value in inner for path in paths(value, (*above, key)))]


VALUES = st.one_of(  # type: ignore[var-annotated]  # of any type
    st.sampled_from(
        [*NUMBERS, *TEXTS, None, True, [], {}, [[]], {"a": 1}, "9999-12-31T23:59:59Z", "0001-01-01", "EPSG:1"]
    ),
    st.text(max_size=20),
    st.floats(),
    st.integers(),
)


def change_label(path: Path, changes: list[tuple[int, Any]]) -> None:
    """Put other values into a label."""
    facts = json.loads((path / "label.json").read_text(encoding="utf-8"))
    for place, value in changes:
        ways = paths(facts)[1:]
        *above, key = ways[place % len(ways)]
        inner = facts
        for step in above:
            inner = inner[step]
        inner[key] = value
    (path / "label.json").write_text(json.dumps(facts), encoding="utf-8")
