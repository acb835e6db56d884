"""The system's Java for tests of Spark: found, installed where that is allowed, or said loudly to be missing.

`make test` runs this before pytest. Debian's package only, as for the browser: no Java is downloaded into a home folder
(the ones of the package index lack a module that Spark needs).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = 17
PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
"""Of Debian 12, and of Debian 13 and Ubuntu."""

HOW = f"install it with: sudo apt-get install {PACKAGES[0]} (elsewhere: any Java from {OLDEST} on)"
MISSING = f"Java {OLDEST} or later is missing, so the tests of Spark cannot run; {HOW}"


def find() -> str | None:
    """Return where a Java that is new enough is, if there is one: in JAVA_HOME, else on the PATH, as Spark looks."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    return java if version and int(version[1]) >= OLDEST else None


def must_run() -> bool:
    """Whether tests that cannot run are a failure: in continuous integration nobody reads that they were skipped."""
    return os.environ.get("CI") == "true"


def install() -> bool:
    """Install Debian's package if this user may without being asked for a password. Return whether it is there now."""
    if shutil.which("apt-get") is None or os.environ.get("JAVA_HOME"):
        return False
    become = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become and (shutil.which("sudo") is None or not _done([*become, "true"])):
        return False
    print("Installing Java for the tests of Spark ...", flush=True)  # noqa: T201  # a script that tells
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    wanted = [[*become, *quiet, "install", "-y", "--no-install-recommends", package] for package in PACKAGES]
    # A fresh machine has no package lists; one that has them needs no new ones.
    return any(map(_done, wanted)) or (_done([*become, *quiet, "update"]) and any(map(_done, wanted)))


def main() -> int:
    """Make sure that there is a Java; without one fail where tests must run, else say how to get it."""
    if find() or (install() and find()):
        return 0
    print(MISSING, file=sys.stderr)  # noqa: T201  # as above
    return 1 if must_run() else 0


def _done(command: list[str]) -> bool:
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
