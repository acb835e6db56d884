"""How the package is cut: files, lines, imports, and how many functions and files one publication and one query take.

python benchmarks/structure.py [SRC]       SRC is src/gridveil by default; only the installed package can be traced
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1] / "src" / "gridveil"
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> set[int]:
    """Return the lines that hold code: no blank lines, comments or docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def import_lines(text: str) -> set[int]:
    """Return the lines of import statements."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def importers(files: dict[str, str]) -> Counter[str]:
    """Return how many modules import each module of the package."""
    counts: Counter[str] = Counter()
    for name, text in files.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        counts.update(found & files.keys() - {name})
    return counts


def count(src: Path) -> None:
    """Print files, lines, imports and modules with one importer."""
    texts = {path: path.read_text("utf-8") for path in sorted(src.rglob("*.py"))}
    lines = [len(text.splitlines()) for text in texts.values()]
    code = sum(len(code_lines(text)) for text in texts.values())
    imports = sum(len(import_lines(text)) for text in texts.values())
    modules = {
        ".".join(("gridveil", *path.relative_to(src).with_suffix("").parts)): text for path, text in texts.items()
    }
    alone = [name for name, number in importers(modules).items() if number == 1]
    print(f"{len(texts)} files, {sum(lines):,} lines, {code:,} of code")
    print(f"{statistics.mean(lines):.0f} lines a file on average, {statistics.median(lines):.0f} in the median")
    print(f"imports are {100 * imports / code:.0f} % of the code; {len(alone)} modules have one importer")


def trace(what: str, run: Callable[[], Any]) -> None:
    """Print how many functions of the package, in how many files, a call runs through once all is imported."""
    seen: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, _: object) -> None:  # noqa: ANN401  # as sys.setprofile calls it
        if event == "call" and frame.f_code.co_filename.startswith(str(HERE)) and "<" not in frame.f_code.co_name:
            seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    run()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(f"{what}: {len(seen)} functions in {len({file for file, _ in seen})} files")


def trace_all() -> None:
    """Trace a publication of 60 households on 8 x 8 x 24, and a query over HTTP."""
    from starlette.testclient import TestClient

    import gridveil
    from gridveil.geography.grid import Grid
    from gridveil.serve.app import create_app
    from gridveil.serve.releases import open_all
    from gridveil.simulate.town import DEMO_WINDOW, make_town

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        town = make_town(60, grid=Grid(0, 0, 800, 800, nx=8, ny=8), window=DEMO_WINDOW)
        town.write(folder)
        settings: dict[str, Any] = {
            "readings": str(folder / "readings.parquet"),
            "households": str(folder / "households.parquet"),
            "extent": (0, 0, 800, 800),
            "grid": "8x8",
            "start": DEMO_WINDOW.start,
            "steps": 24,
            "epsilon": 3,
            "no_ledger": True,
        }
        outs = iter((folder / "one", folder / "two"))
        trace("publish", lambda: gridveil.publish(**settings, out=next(outs)))
        app = create_app(open_all([folder / "one"]))
        steps = iter("12")

        def query() -> None:
            with TestClient(app, base_url="http://localhost") as client:
                client.get(f"/api/releases/one/query?x=0:{next(steps)}").raise_for_status()

        trace("query over HTTP", query)


if __name__ == "__main__":
    count(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
    if len(sys.argv) == 1:
        trace_all()
