"""The API asked at random, as its own OpenAPI document allows and forbids: it never fails, and keeps to it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serve.conftest import SPRING, TOWN, write

from gridveil.release.query.open import open_release
from gridveil.serve.app import create_app
from gridveil.serve.releases import ServedRelease

SIZES = {"x": 4, "y": 3, "time": 30}  # that both releases have
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


# The document does not depend on the releases: they are put in when the tests run.
APP = create_app({}, hosts=["testserver"])  # as schemathesis calls it
schema = schemathesis.openapi.from_asgi("/api/openapi.json", APP)


@pytest.fixture(scope="module", autouse=True)
def served(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two releases to ask."""
    top: Path = tmp_path_factory.mktemp("fuzz")
    for name, where, kind in (("town", TOWN, "parts"), ("spring", SPRING, "replicates")):
        APP.state.releases[name] = ServedRelease(name, open_release(write(top / name, where, kind)))


Parameters = dict[str, Any] | None


@schema.hook
def map_path_parameters(_context: schemathesis.HookContext, parameters: Parameters) -> Parameters:
    """Ask for a release that there is, three times of four."""
    if parameters and "id" in parameters and len(parameters["id"]) % 4:
        return {**parameters, "id": ("town", "spring")[len(parameters["id"]) % 2]}
    return parameters


@schema.hook
def map_query(_context: schemathesis.HookContext, query: Parameters) -> Parameters:
    """Bring ranges that are well written to where the releases are, mostly."""
    if not query:
        return query
    return {name: folded_text(value, SIZES[name]) if name in SIZES else value for name, value in query.items()}


@schema.hook
def map_body(_context: schemathesis.HookContext, body: Any) -> Any:
    """Do the same in bodies."""
    if not isinstance(body, dict):
        return body
    changed = {name: folded(value, SIZES[name]) if name in SIZES else value for name, value in body.items()}
    if isinstance(body.get("ranges"), list):
        changed["ranges"] = [folded_row(row) for row in body["ranges"]]
    return changed


def folded(pair: Any, size: int) -> Any:
    """Return two proper indices as a range inside an axis, unless they are odd in sum; all else as it is."""
    if not (isinstance(pair, list) and len(pair) == 2 and all(type(i) is int and 0 <= i < 2**31 for i in pair)):
        return pair
    first = min(pair) % size
    return pair if sum(pair) % 2 else [first, first + 1 + max(pair) % (size - first)]


def folded_text(text: Any, size: int) -> Any:
    if not (isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}:[0-9]{1,9}", text)):
        return text
    first, last = folded([int(part) for part in text.split(":")], size)
    return f"{first}:{last}"


def folded_row(row: Any) -> Any:
    if not (isinstance(row, list) and len(row) == 6):
        return row
    return [
        i for pair, size in zip((row[:2], row[2:4], row[4:]), SIZES.values(), strict=True) for i in folded(pair, size)
    ]


@schema.parametrize()
@settings(
    max_examples=1000 if LONG else 20, deadline=None, derandomize=not LONG, suppress_health_check=list(HealthCheck)
)
def test_no_question_makes_it_fail(case: schemathesis.Case) -> None:  # type: ignore[type-arg]  # generic in its stubs only
    case.call_and_validate(checks=CHECKS)
