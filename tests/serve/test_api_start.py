"""`gridveil serve` as a command: where it says it is, what it says when it cannot start, and how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.release.query.open import Release
from gridveil.serve.app import serve

COMMAND = [sys.executable, "-c", "from gridveil.cli.main import main; main()", "serve"]


@contextmanager
def serving(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command, and give it with the line it says."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


def test_it_says_where_it_is_answers_and_ends_with_ctrl_c(folders: list[Path]) -> None:
    with serving(*folders, "--port", 0) as (process, line):
        begin, end = "Serving 2 releases at ", " (Ctrl-C ends it)\n"
        assert line.startswith(begin)
        assert line.endswith(end)
        address = line.removeprefix(begin).removesuffix(end)
        with urllib.request.urlopen(f"{address}/api/releases", timeout=30) as response:  # noqa: S310 - on loopback
            assert [release["id"] for release in json.load(response)["releases"]] == ["town", "spring"]
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=30)
        assert (process.returncode, rest, complaints) == (0, "", "")


def test_a_port_that_is_taken_is_told_with_a_way_out(folders: list[Path]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*COMMAND, str(folders[0]), "--port", str(port)], capture_output=True, text=True, check=False, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"gridveil: port {port} ")
    assert done.stderr.endswith("[port-taken]\n")


def test_a_release_that_is_not_there_is_the_usual_mistake(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, str(tmp_path / "none")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    assert "no such file; a release is a folder with consumption.nc" in done.stderr


@pytest.mark.parametrize("host", ["256.0.0.1", "no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_this_machine_is_told(releases: dict[str, Release], host: str) -> None:
    with pytest.raises(UsageError, check=has_code("port-refused")):
        serve(releases, host=host, port=0, say=print)


def test_the_browser_opens_once_it_answers(releases: dict[str, Release], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    said: list[str] = []

    def browse(address: str) -> bool:
        with urllib.request.urlopen(f"{address}/api/releases", timeout=30) as response:  # noqa: S310 - on loopback
            assert response.status == 200
        opened.append(address)
        signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    serve(releases, host="127.0.0.1", port=0, say=said.append, browse=True)
    assert said[0].startswith(f"Serving 2 releases at {opened[0]} ")
