"""What `make test` does about Chromium, with stand-ins for the commands it may use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.browser import chromium

SCRIPT = Path(chromium.__file__)
UPDATED = 'case "$*" in *" update") touch "$0.updated";; *install*) {install};; esac'


class Machine:
    """A machine that has only the commands it is given; every call of them is noted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.notes = folder / "bin", folder / "notes"
        self.bin.mkdir()
        for name in ("env", "touch"):
            (self.bin / name).symlink_to(f"/usr/bin/{name}")
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.delenv("CI", raising=False)

    def has(self, name: str, script: str = "true") -> None:
        command = self.bin / name
        command.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.notes}\n{script}\n')
        command.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    @property
    def install(self) -> str:
        """What a package manager does that puts Chromium there."""
        return f"touch {self.bin}/chromium; /bin/chmod 755 {self.bin}/chromium"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_that_is_there_is_used(machine: Machine, name: str) -> None:
    machine.has(name)
    assert chromium.find() == str(machine.bin / name)
    machine.has("apt-get")
    assert chromium.main() == 0
    assert not machine.calls


@pytest.mark.usefixtures("root")
def test_missing_and_root_installs_it(machine: Machine) -> None:
    machine.has("apt-get", machine.install)
    assert chromium.main() == 0
    assert [call.split()[:3] for call in machine.calls] == [["apt-get", "-q", "install"]]
    assert "chromium" in machine.calls[0].split()


@pytest.mark.usefixtures("root")
def test_package_lists_are_fetched_where_there_are_none(machine: Machine) -> None:
    machine.has("apt-get", UPDATED.format(install=f'test -e "$0.updated" && {{ {machine.install}; }}'))
    assert chromium.main() == 0
    assert [call.split()[2] for call in machine.calls] == ["install", "update", "install"]


@pytest.mark.usefixtures("somebody")
def test_missing_and_sudo_without_password_installs_it(machine: Machine) -> None:
    machine.has("sudo", 'shift; exec "$@"')
    machine.has("true")
    machine.has("apt-get", machine.install)
    assert chromium.main() == 0
    assert machine.calls[0] == "sudo -n true"
    assert machine.calls[-1].startswith("apt-get -q install -y")


@pytest.mark.usefixtures("somebody")
@pytest.mark.parametrize(("ci", "code"), [(None, 0), ("false", 0), ("true", 1)])
@pytest.mark.parametrize("sudo", [None, "exit 1"])
def test_missing_and_may_not_says_how(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    sudo: str | None,
    ci: str | None,
    code: int,
) -> None:
    machine.has("apt-get", machine.install)
    if sudo:
        machine.has("sudo", sudo)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    assert chromium.main() == code
    assert "sudo apt-get install chromium" in capfd.readouterr().err
    assert not any(call.startswith("apt-get") for call in machine.calls)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("apt", [None, "exit 100"])
@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_no_package_manager_or_one_that_fails(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, apt: str | None, ci: str, code: int
) -> None:
    if apt:
        machine.has("apt-get", apt)
    monkeypatch.setenv("CI", ci)
    assert chromium.main() == code


def test_it_runs_as_make_runs_it(machine: Machine) -> None:
    machine.has("chromium")
    done = subprocess.run([sys.executable, SCRIPT], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("ci", "workers", "outcome"), [("false", 1, "skipped"), ("true", 0, "error")])
def test_browser_tests_without_a_browser(tmp_path: Path, ci: str, workers: int, outcome: str) -> None:
    """Skipped with a line that cannot be overlooked (by the process that only collects from workers, as `make test` has
    it), or failed in continuous integration.
    """
    root = SCRIPT.parents[3]
    one = f"{SCRIPT.parent}/test_journeys.py::test_the_page_opens"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist.plugin", "-n", str(workers), one],
        check=False,
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | {"PATH": str(tmp_path), "CI": ci, "NO_COLOR": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert outcome in done.stdout.splitlines()[-1]
    assert "passed" not in done.stdout.splitlines()[-1]
    assert chromium.MISSING in done.stdout
    if ci == "false":
        assert any(line.startswith("BROWSER TESTS DID NOT RUN") for line in done.stdout.splitlines())
