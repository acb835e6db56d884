"""The page: its files, read once from the package, so that no address ever reaches the file system."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "LICENSE": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    body: bytes
    type: str
    etag: str


def read_page() -> dict[str, PageFile]:
    """Return the page's files by name, with `/` between folders."""
    return dict(_read(files("gridveil.serve") / "static", ""))


def _read(folder: Traversable, before: str) -> list[tuple[str, PageFile]]:
    found: list[tuple[str, PageFile]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _read(entry, f"{before}{entry.name}/")
        elif (suffix := entry.name.rpartition(".")[2]) in TYPES:
            body = entry.read_bytes()
            etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
            found.append((before + entry.name, PageFile(body, TYPES[suffix], etag)))
    return found
