"""Patterns of text: what they take, and that no text takes long."""

import re
import time

import pytest

from gridveil.trusted.source.rules import NUMBER, TIMESTAMP


@pytest.mark.parametrize("text", ["0", "-1", "+1.", ".5", " 12.25 ", "1e5", "1.E-3", ".5e+07"])
def test_a_number(text: str) -> None:
    assert re.search(NUMBER, text)


@pytest.mark.parametrize("text", ["", ".", "-", "1,5", "1 2", "1e", "e5", "--1", "1..2", "0x1", "nan", "1_000", "½"])
def test_no_number(text: str) -> None:
    assert not re.search(NUMBER, text)


@pytest.mark.parametrize("pattern", [NUMBER, TIMESTAMP])
@pytest.mark.parametrize(
    "piece", ["1", " ", "+", ".", "1.", "1e1", "2013-01-01T00:00:00.1", "2013-01-01T00:00:00+00:0", "-"]
)
@pytest.mark.parametrize("end", ["", "x"])
def test_no_text_takes_long(pattern: str, piece: str, end: str) -> None:
    """Java's patterns, like Python's, try every way to read a text: one entry must not keep a run from ending."""
    for long in (piece * 100_000 + end, piece + "1" * 100_000 + end, piece + " " * 100_000 + end):
        began = time.thread_time()  # of this thread: others may have the machine
        re.search(pattern, long)
        assert time.thread_time() - began < 1
