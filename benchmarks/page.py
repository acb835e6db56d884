"""`gridveil serve` of a large release as a browser sees it: first page, slices, range queries, memory.

    python benchmarks/page.py RELEASE        prints JSON; the release may be the one that big.py makes

The browser is opened the moment the server says that it serves, and again when it has had time to warm up. Slices and
queries are of random steps, periods and boxes, none of them twice, over one connection.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright
from tests.browser.chromium import find

SLICES, QUERIES = 40, 200
WARM_UP_SECONDS = 10


def main() -> None:
    folder = Path(sys.argv[1])
    command = [sys.executable, "-c", "from gridveil.cli.main import main; main()", "serve", str(folder), "--port", "0"]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = next(word for word in str(server.stdout and server.stdout.readline()).split() if "http" in word)
        result: dict[str, object] = {"release": folder.name, "seconds to start": time.perf_counter() - began}
        result["seconds to first page, at once"] = first_page(address)
        time.sleep(WARM_UP_SECONDS)
        result["seconds to first page, warm"] = first_page(address)
        result |= answers(address)
        status = Path(f"/proc/{server.pid}/status")
        if status.exists():
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            result["server's peak MB"] = round(int(line.split()[1]) / 1024)
    finally:
        server.terminate()
        server.wait()
    print(json.dumps(result, indent=2))


def first_page(address: str) -> float:
    """Return the seconds from asking for the page to seeing the large number, the curve and the map."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=find(), args=arguments)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        slices: list[str] = []
        page.on("requestfinished", lambda request: slices.append(request.url) if "/slice" in request.url else None)
        began = time.perf_counter()
        page.goto(address)
        for part in ("#answer-value[data-value]", "#curve-chart canvas"):
            page.wait_for_selector(part, timeout=60_000)
        while not slices:
            page.wait_for_timeout(10)
        took = time.perf_counter() - began
        browser.close()
    return took


def answers(address: str) -> dict[str, object]:
    """Time slices of one step, slices of periods, and range queries."""
    release = f"{address}/api/releases/{get(f'{address}/api/releases')['releases'][0]['id']}"
    axes = get(release)["axes"]
    sizes = {"x": axes["x"]["size"], "y": axes["y"]["size"], "time": axes["time"]["steps"]}
    rng = np.random.default_rng(0)

    def span(name: str) -> str:
        first, last = np.sort(rng.choice(sizes[name] + 1, 2, replace=False))
        return f"{name}={first}:{last}"

    single = rng.choice(sizes["time"], min(SLICES, sizes["time"]), replace=False)
    return {
        "ms of a slice of one step": spread(f"{release}/slice?format=float32&time={t}:{t + 1}" for t in single),
        "ms of a slice of a period": spread(f"{release}/slice?format=float32&{span('time')}" for _ in range(SLICES)),
        "ms of a query": spread(f"{release}/query?{span('x')}&{span('y')}&{span('time')}" for _ in range(QUERIES)),
    }


def spread(addresses: Iterable[str]) -> dict[str, float]:
    """Return median and longest time, ms."""
    times = []
    for address in addresses:
        began = time.perf_counter()
        with urllib.request.urlopen(address) as response:  # noqa: S310 - our own server
            response.read()
        times.append(1000 * (time.perf_counter() - began))
    return {"median": round(float(np.median(times)), 1), "most": round(max(times), 1)}


def get(address: str) -> Any:  # noqa: ANN401 - whatever JSON says
    with urllib.request.urlopen(address) as response:  # noqa: S310 - our own server
        return json.load(response)


if __name__ == "__main__":
    main()
