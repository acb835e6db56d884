from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_examples_of_the_format_page(publish: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(publish("parts").parent)
    page = str(DOCS / "release-format.md")
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert tried > 0
    assert failed == 0
