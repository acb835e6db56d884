"""The recipe of docs/engines.md on a real cluster, though a small one: a master, two workers, and spark-submit.

python benchmarks/scale/cluster.py FOLDER READINGS

All are on this machine, each in a process of its own, as they would be on several. Two drivers are submitted: one that
reads the tables and makes a cube, to be compared with that of other engines, and then gridveil's own, which publishes.
While the first runs, Spark is asked what it keeps: that is what workers need memory for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyspark
from generate import START, WINDOW
from keep import keep
from readings import once
from tables import tables

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[2]
MASTER, PORT, UI = "spark://127.0.0.1:17077", 17077, 14040
WORKERS, EXECUTOR = 2, "3g"
SUBMIT = ["--master", MASTER, "--deploy-mode", "client", "--driver-memory", "2g"]
SUBMIT += ["--executor-cores", "1", "--executor-memory", EXECUTOR, "--conf", f"spark.ui.port={UI}"]
# The 200 pieces that Spark cuts everything into are for a larger cluster.
SUBMIT += ["--conf", f"spark.sql.shuffle.partitions={4 * WORKERS}", "--conf", "spark.log.level=ERROR"]


@contextmanager
def cluster(work: Path) -> Iterator[None]:
    """Run a master and workers with one core each."""
    kind = "org.apache.spark.deploy"
    master = [f"{kind}.master.Master", "--host", "127.0.0.1", "--port", str(PORT), "--webui-port", "0"]
    worker = [f"{kind}.worker.Worker", "-c", "1", "-m", "4g", "--work-dir", str(work), "--webui-port", "0", MASTER]
    with (work / "log").open("w") as log:
        commands = [[str(HOME / "bin" / "spark-class"), *command] for command in (master, *[worker] * WORKERS)]
        processes = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
        try:
            yield
        finally:
            for process in processes:
                process.terminate()
                process.wait()


def submit(*driver: str) -> str:
    """Submit a file of Python; return what it printed."""
    command = [str(HOME / "bin" / "spark-submit"), *SUBMIT, *driver]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


class Watch(threading.Thread):
    """Asks Spark, once a second, how much it keeps and how much memory its workers have used."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kept_mb = self.heap_mb = 0.0

    def run(self) -> None:
        """Ask until the process ends."""
        at = f"http://127.0.0.1:{UI}/api/v1/applications"
        while True:
            with suppress(OSError, ValueError, IndexError):
                application = f"{at}/{_ask(at)[0]['id']}"
                tables = _ask(f"{application}/storage/rdd")
                self.kept_mb = max([self.kept_mb, *((t["memoryUsed"] + t["diskUsed"]) / 1e6 for t in tables)])
                workers = [
                    w.get("peakMemoryMetrics", {}) for w in _ask(f"{application}/executors") if w["id"] != "driver"
                ]
                self.heap_mb = max([self.heap_mb, *(w.get("JVMHeapMemory", 0) / 1e6 for w in workers)])
            time.sleep(1)


def _ask(url: str) -> Any:  # noqa: ANN401  # JSON
    with urlopen(url, timeout=5) as answer:  # noqa: S310  # our own
        return json.load(answer)


def drive(folder: Path, readings: int) -> None:
    """Be the driver: read the tables, make one cube, and say what came out."""
    seconds = {}

    def timed(name: str, work: Any) -> Any:  # noqa: ANN401  # whatever the work returns
        start = time.perf_counter()
        done = work()
        seconds[name] = time.perf_counter() - start
        return done

    with tables(folder, readings, "spark", None, None) as made:
        settings = replace(made.settings, master=None)  # that of spark-submit
        figures = once(replace(made, settings=settings), timed)
    print("figures " + json.dumps({**seconds, **figures}))


def main() -> None:
    folder, readings, *role = sys.argv[1:]
    if role:
        drive(Path(folder), int(float(readings)))
        return
    here = Path(folder) / f"{int(float(readings)):.0e}".replace("+", "")
    with tempfile.TemporaryDirectory(dir=folder) as work, cluster(Path(work)):
        time.sleep(5)
        watch = Watch()
        watch.start()
        told = submit(__file__, folder, readings, "driver")
        figures = json.loads(next(line for line in told.splitlines() if line.startswith("figures ")).split(" ", 1)[1])
        command = ["publish", f"{here}/day-*.parquet", "--households", f"{here}/households.parquet"]
        command += ["--engine", "spark", "--out", f"{work}/release", "--grid", "32x32", "--extent", "0,0,32,32"]
        command += ["--start", f"{START:%Y-%m-%dT%H:%M}", "--steps", str(WINDOW.steps), "--epsilon", "3", "--no-ledger"]
        start = time.perf_counter()
        submit(str(ROOT / "examples" / "spark" / "submit.py"), *command)
        figures |= {"publish_seconds": time.perf_counter() - start, "kept_mb": watch.kept_mb, "heap_mb": watch.heap_mb}
    keep("cluster", f"spark {float(readings):.0e}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
