"""The examples of docs/serving.md, asked and compared; and its limits, with those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import BASE

from gridveil.release.query.open import Release
from gridveil.serve import answers, execution, middleware, releases, requests, slices
from gridveil.serve.app import create_app

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ (curl .*?)\n(\{.*?)\n```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=lambda text: text[:60])
def test_an_example_is_answered_as_shown(town: Release, command: str, shown: str) -> None:
    words = shlex.split(command)
    path = next(word for word in words if word.startswith("localhost:8000")).removeprefix("localhost:8000")
    with TestClient(create_app({"town": town}), base_url=BASE) as client:
        if "--json" in words:
            sent = {"content": words[words.index("--json") + 1], "headers": {"content-type": "application/json"}}
            answer = client.post(path, **sent)
        else:
            answer = client.get(path)
    assert re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*?"), answer.text, re.DOTALL), answer.text[:1000]


def test_there_are_examples_of_all_kinds() -> None:
    asked = {re.search(r"releases(?:/town)?(?:/([a-z]+(?:/batch)?))?", command)[1] for command, _ in EXAMPLES}
    assert asked == {None, "query", "query/batch", "series", "slice", "profile", "highest"}


def test_limits_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| ([a-z].*?) \| (.*?) \|$", PAGE.partition("## Limits")[2], re.MULTILINE))
    assert rows["body"] == f"{middleware.MAX_BODY // 2**20} MiB"
    assert rows["ranges in a batch"] == f"{requests.MAX_RANGES:,}"
    assert rows["points of a polygon"] == f"{requests.MAX_VERTICES:,}"
    series = f"{answers.MAX_POINTS:,}; {answers.USUAL_POINTS:,} unless `every` asks for more"
    assert rows["points of a series"] == series
    assert rows["cells of a slice as JSON"] == f"{slices.MAX_JSON_CELLS:,}; more as `float32`"
    assert rows["work of a question"] == f"{execution.MAX_WORK / 1e6:,.0f} million numbers; then status 422"
    assert rows["time of a question"].startswith(f"{execution.MAX_SECONDS:.0f} seconds")
    assert (answers.PROFILE_WORK, answers.SERIES_WORK, slices.CELLS_WORK, answers.ROW_WORK) == (2, 4, 10, 2000)
    assert rows["files made while you wait"].startswith(f"{releases.MAX_ROWS:,} cells times steps")
