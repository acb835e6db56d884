"""A process that has imported everything and used nothing: it forks publishers, and kills them where it is told to.

One line of JSON in (`settings` of a publication, `kill`: null, ["ledger", n], ["files", n] or ["seconds", s]), one
line out: how the publisher ended, what it said if it failed, and how many calls and seconds the debit and all after it
took.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401  # here and below: what a publication imports late
import h5netcdf  # noqa: F401
import ibis.backends.duckdb  # noqa: F401
import numpy as np
import opendp.prelude  # noqa: F401

from gridveil.geography.grid import Grid
from gridveil.model.running import Progress
from gridveil.model.window import Window
from gridveil.publishing import plan
from gridveil.publishing import run as publication
from gridveil.publishing.spec import make_spec
from gridveil.simulate.sources import ArraySource
from gridveil.trusted.source.report import Report

FILES = (io.TextIOWrapper, io.BufferedWriter, io.FileIO)
SYSTEM = {"open", "close", "write", "fsync", "mkdir", "chmod", "rename", "link", "unlink", "rmdir"}


class Households(ArraySource):
    """A source without an engine."""

    def close(self) -> None:
        """There is nothing to close."""

    def forget(self) -> None:
        """There is nothing in a scratch folder."""


def tables(
    readings: object, households: object, grid: Grid, window: Window, settings: object, progress: Progress
) -> tuple[Households, Report]:
    """Stand in for reading the tables, which writes nothing: three households, and most of the time saved."""
    del readings, households, settings
    cells = np.array([[0, 0], [1, 0], [1, 0]])
    wh = np.arange(len(cells) * window.steps).reshape(len(cells), window.steps)
    progress("read the tables", 1.0)
    return Households(grid, window, cells, 100 * wh), Report(len(cells), wh.size, wh.size, ())


class Calls:
    """Counts calls of the ledger's file and of all other files, each before and after; kills this process at one."""

    def __init__(self, kind: str | None, last: float | None) -> None:
        self.counts = {"ledger": 0, "files": 0}
        self._kind, self._last = kind, last

    def __call__(self, frame: object, event: str, called: Any) -> None:
        del frame
        if event not in {"c_call", "c_return"}:
            return
        of = getattr(called, "__self__", None)
        system = getattr(called, "__module__", None) in {"posix", "_io"} and called.__name__ in SYSTEM
        if isinstance(of, (sqlite3.Connection, sqlite3.Cursor)):
            self._count("ledger")
        elif system or isinstance(of, FILES):
            self._count("files")

    def _count(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == self._kind and self.counts[kind] == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


def publish(job: dict[str, Any], calls: Calls, tell: Callable[[dict[str, Any]], None]) -> None:
    """Publish, and count from the moment when the tables are read: what follows is the debit.

    At that moment the disk is filled, if the job says so, up to some bytes.
    """
    began = time.monotonic()

    def progress(stage: str, done: float) -> None:
        nonlocal began
        if (stage, done) == ("read the tables", 1.0):
            began = time.monotonic()
            tell({"at": "the debit"})
            if job["fill"] is not None:
                fill(*job["fill"])
            sys.setprofile(calls)

    try:
        publication.run(make_spec(job["settings"]), progress=progress)
        told = {"ended": "published"}
    except Exception as error:  # noqa: BLE001  # whatever it is, the test wants to see it
        told = {"ended": type(error).__name__, "said": "\n".join([str(error), *getattr(error, "__notes__", [])])}
    sys.setprofile(None)
    tell({**told, **calls.counts, "seconds": time.monotonic() - began})


def fill(disk: str, free: int) -> None:
    """Leave so many bytes of a disk."""
    with Path(disk, "filling").open("wb") as file:
        file.write(b"0" * (shutil.disk_usage(disk).free - free))


def attend(job: dict[str, Any]) -> dict[str, Any]:
    """Fork a publisher, and return how it ended."""
    how, much = job["kill"] or (None, None)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        publish(job, Calls(how, much), lambda told: _say(write, told))
        os._exit(0)
    os.close(write)
    told: dict[str, Any] = {}
    with open(read, encoding="utf-8") as lines:  # noqa: PTH123  # of a pipe
        for line in lines:
            told |= json.loads(line)
            if how == "seconds" and told == {"at": "the debit"}:
                time.sleep(much)
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return {**told, "code": os.waitstatus_to_exitcode(status)}


def _say(pipe: int, told: dict[str, Any]) -> None:
    os.write(pipe, json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    os.chdir(Path(sys.argv[1]))
    plan.ingest = tables  # type: ignore[assignment]  # a source is a source
    for line in sys.stdin:
        print(json.dumps(attend(json.loads(line))), flush=True)  # noqa: T201  # how it answers
