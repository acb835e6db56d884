"""The exporter that the docs describe, installed as a package: everything that lists formats has it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.plugin import install
from tests.release.export.conftest import Publish
from tests.release.export.test_docs import PAGE
from tests.serve.conftest import BASE, TestClient

from gridveil.release.export import EXPORTERS
from gridveil.serve.app import create_app

NAME = "totals"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    install(tmp_path / "package", EXPORTERS.group, f"{NAME} = my_exporter:TOTALS", code)
    return tmp_path / "package"


def test_the_command_has_it(package: Path, release_of: Publish, tmp_path: Path) -> None:
    release = release_of()
    paths = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])

    def gridveil(*words: str) -> str:
        command = [Path(sys.executable).parent / "gridveil", "export", *words]
        environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "200"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    assert NAME in gridveil("--help")
    gridveil("release", "--to", NAME, "--out", "town.json")
    written = json.loads((tmp_path / "town.json").read_text())
    assert written["kwh"] == release.cells(0, release.window.steps).value.tolist()


def test_the_server_has_it(package: Path, release_of: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(package)
    with TestClient(create_app({"town": release_of()}), base_url=BASE) as client:
        document = client.get("/api/openapi.json").json()
        facts = client.get("/api/releases/town").json()
        download = client.get(f"/api/releases/town/download/{NAME}")
    [schema] = [
        parameter["schema"]
        for parameter in document["paths"]["/api/releases/{id}/download/{format}"]["get"]["parameters"]
        if parameter["name"] == "format"
    ]
    assert schema["enum"][-1] == NAME
    [listed] = [file for file in facts["downloads"] if file["format"] == NAME]
    assert (listed["name"], listed["description"]) == ("town.json", "Totals (JSON)")
    assert download.headers["content-type"] == "application/json"
    assert download.json()["privacy_label"] == facts["label"]
