"""`gridveil serve` under load: questions come at a fixed rate, whether or not earlier ones were answered.

    python benchmarks/serve.py RELEASE [RELEASE ...] [--rate 200] [--seconds 30]

Another process asks for random ranges on loopback. A question's time runs from when it was due, so that a server that
falls behind cannot hide it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TARGET_MS = 50.0
WARM_UP_SECONDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="+", type=Path)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=30)
    asked = parser.parse_args()
    for folder in asked.releases:
        print(json.dumps(measure(folder, asked.rate, asked.seconds)))


def measure(folder: Path, rate: int, seconds: int) -> dict[str, object]:
    """Serve one release, ask it, and say how long answers took."""
    server = subprocess.Popen(
        [sys.executable, "-c", "from gridveil.cli.main import main; main()", "serve", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        began = time.perf_counter()
        port = int(str(server.stdout and server.stdout.readline()).split("http://127.0.0.1:")[1].split()[0])
        started = time.perf_counter() - began
        facts = asyncio.run(ask(port, ["/api/releases"]))[0][2]["releases"][0]
        first_page = time.perf_counter()
        asyncio.run(ask(port, [f"/api/releases/{facts['id']}"]))
        first_page = time.perf_counter() - first_page
        asyncio.run(load(port, facts, rate, WARM_UP_SECONDS))
        before = cpu_seconds(server.pid)
        times = asyncio.run(load(port, facts, rate, seconds))
        return {
            "release": folder.name,
            "cells and steps": [facts["nx"], facts["ny"], facts["steps"]],
            "start s": round(started, 2),
            "facts s": round(first_page, 2),
            **times,
            "server's CPU ms a question": round(1000 * (cpu_seconds(server.pid) - before) / (rate * seconds), 2),
            "server's memory MB": memory(server.pid),
        }
    finally:
        server.terminate()
        server.wait()


async def load(port: int, facts: dict[str, int], rate: int, seconds: int) -> dict[str, object]:
    """Ask `rate` questions a second over a pool of connections."""
    rng = np.random.default_rng(1)
    questions = [question(rng, facts) for _ in range(rate * seconds)]
    idle: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(64):
        idle.put_nowait(await Connection.open(port))
    begin = time.perf_counter() + 0.1

    async def one(number: int, path: str) -> tuple[float, int]:
        due = begin + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        connection = await idle.get()
        status, _ = await connection.get(path)
        idle.put_nowait(connection)
        return time.perf_counter() - due, status

    results = await asyncio.gather(*(one(number, path) for number, path in enumerate(questions)))
    took = time.perf_counter() - begin
    while not idle.empty():
        await idle.get_nowait().close()
    times = 1000 * np.array([result[0] for result in results])
    p50, p99 = np.percentile(times, [50, 99])
    return {
        "asked a second": rate,
        "answered a second": round(len(results) / took, 1),
        "seconds": seconds,
        "p50 ms": round(float(p50), 1),
        "p99 ms": round(float(p99), 1),
        "most ms": round(float(times.max()), 1),
        "errors": sum(status != 200 for _, status in results),
        "kept": bool(p99 < TARGET_MS),
    }


def question(rng: np.random.Generator, facts: dict[str, int]) -> str:
    """Return a random range; no two are alike, so none comes from a cache."""
    x, y, t = (np.sort(rng.choice(size + 1, 2, replace=False)) for size in (facts["nx"], facts["ny"], facts["steps"]))
    return f"/api/releases/{facts['id']}/query?x={x[0]}:{x[1]}&y={y[0]}:{y[1]}&time={t[0]}:{t[1]}"


class Connection:
    """One kept-alive connection, with as little of HTTP as it takes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        return int(head.split()[1]), await self._reader.readexactly(length)

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        await self._writer.wait_closed()


async def ask(port: int, paths: list[str]) -> list[tuple[float, int, dict[str, list[dict[str, int]]]]]:
    """Ask one after the other; times in seconds, statuses and answers."""
    connection = await Connection.open(port)
    results = []
    for path in paths:
        began = time.perf_counter()
        status, body = await connection.get(path)
        results.append((time.perf_counter() - began, status, json.loads(body)))
    await connection.close()
    return results


def memory(process: int) -> int:
    """Return the most memory a process had, in MB (Linux)."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1000


def cpu_seconds(process: int) -> float:
    """Return the seconds of a core that a process took so far (Linux): on a busy machine these tell more than times."""
    user, system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
