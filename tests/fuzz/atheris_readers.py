"""Fuzz readers with atheris, each for a while: `python -m tests.fuzz.atheris_readers [SECONDS] [NAME...]`.

A reader may refuse in words; anything else that it raises, ten seconds for one input, or two gigabytes is a finding:
atheris prints it and keeps the input in `build/`, and this ends with 1. Run by `make test-long`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 60
TOP = Path(__file__).parents[2]


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz one reader in this process; does not return."""
    import atheris

    with atheris.instrument_imports(include=["gridveil", "json", "tomllib", "zipfile", "csv"]):
        from tests.fuzz.targets import TARGETS

        from gridveil.model.errors import GridveilError
    read, _ = TARGETS[name]

    def once(data: bytes) -> None:
        try:
            read(data)
        except GridveilError:
            return

    atheris.Setup([sys.argv[0], *arguments], once)
    atheris.Fuzz()


def main(seconds: int, chosen: list[str]) -> int:
    """Fuzz readers one after the other, each in a process of its own; return how many have findings."""
    from tests.fuzz.targets import TARGETS

    failed = []
    (TOP / "build").mkdir(exist_ok=True)
    for name in chosen or TARGETS:
        with tempfile.TemporaryDirectory() as corpus:
            (Path(corpus) / "start").write_bytes(TARGETS[name][1])
            limits = [
                f"-max_total_time={seconds}",
                "-timeout=10",
                "-rss_limit_mb=2000",
                f"-artifact_prefix={TOP}/build/{name}-",
            ]
            child = [sys.executable, "-m", "tests.fuzz.atheris_readers", "--one", name, *limits, corpus]
            print(f"atheris: {name}, {seconds} s", flush=True)  # noqa: T201  # a script that prints
            if subprocess.run(child, cwd=TOP, check=False).returncode:
                failed.append(name)
    print("atheris:", f"findings in {', '.join(failed)}" if failed else "no findings")  # noqa: T201  # as above
    return len(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(1 if main(int(next(iter(sys.argv[1:]), SECONDS)), sys.argv[2:]) else 0)
