"""A package of a third party, as pip would install it."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, group: str, entry: str, code: str) -> None:
    """Write a package into a folder that is to be put on Python's path. entry: `name = module:attribute`."""
    module = entry.partition("=")[2].partition(":")[0].strip()
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{module}.py").write_text(code)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
