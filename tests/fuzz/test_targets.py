"""What atheris fuzzes for hours, for a moment: bytes put in, cut out and turned around."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.oracle import refusal
from tests.fuzz.targets import TARGETS

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"  # looks for new examples; else they are the same in every run
CUT = st.tuples(st.integers(0, 2**12), st.integers(0, 20), st.binary(max_size=8))


@pytest.mark.parametrize("name", TARGETS)
def test_what_it_starts_from_is_read(name: str) -> None:
    read, start = TARGETS[name]
    assert refusal(lambda: read(start)) is None


@pytest.mark.parametrize("name", TARGETS)
@given(cuts=st.lists(CUT, min_size=1, max_size=4))
@settings(max_examples=1000 if LONG else 20, derandomize=not LONG, suppress_health_check=list(HealthCheck))
def test_damaged_bytes(name: str, cuts: list[tuple[int, int, bytes]]) -> None:
    read, data = TARGETS[name]
    for place, length, piece in cuts:
        start = place % (len(data) + 1)
        data = data[:start] + piece + data[start + length :]
    refusal(lambda: read(data))
