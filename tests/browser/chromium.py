"""The system's Chromium for browser tests: found, installed where that is allowed, or said loudly to be missing.

`make test` runs this before pytest. Debian's package only: the same browser everywhere, from a signed archive, with
security updates; no browser is downloaded into a home folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
HOW = "install it with: sudo apt-get install chromium (elsewhere: any Chromium or Chrome on the PATH)"
MISSING = f"Chromium is missing, so the browser tests cannot run; {HOW}"


def find() -> str | None:
    """Return where the browser is, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def must_run() -> bool:
    """Whether browser tests that cannot run are a failure: in continuous integration nobody reads that they skipped."""
    return os.environ.get("CI") == "true"


def install() -> bool:
    """Install Debian's package if this user may without being asked for a password. Return whether it is there now."""
    if shutil.which("apt-get") is None:
        return False
    become = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become and (shutil.which("sudo") is None or not _done([*become, "true"])):
        return False
    print("Installing Chromium for the browser tests ...", flush=True)  # noqa: T201  # a script that tells
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    # A fresh machine has no package lists; one that has them needs no new ones.
    wanted = [*become, *quiet, "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    if not _done(wanted):
        _done([*become, *quiet, "update"])
        _done(wanted)
    return find() is not None


def main() -> int:
    """Make sure that there is a browser; without one fail where tests must run, else say how to get it."""
    if find() or install():
        return 0
    print(MISSING, file=sys.stderr)  # noqa: T201  # as above
    return 1 if must_run() else 0


def _done(command: list[str]) -> bool:
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
