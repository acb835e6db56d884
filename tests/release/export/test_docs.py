from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path

import pytest

from gridveil.release.export import EXPORTERS

PAGE = Path(__file__).parents[3] / "docs" / "exports.md"


def test_examples_of_the_page(publish: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(publish("parts").parent)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def test_every_format_and_limit_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in EXPORTERS.names():
        form = EXPORTERS.load(name)
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` "))
        assert row.split("|")[-2].strip().startswith("any" if form.max_rows is None else f"{form.max_rows:,}")
