"""SHA256SUMS: the digests of a release's files, as `sha256sum -c` checks them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from gridveil.model.progress import Progress, silent
from gridveil.model.regular import check_regular, read_regular
from gridveil.release.format.files import ENTRY, LABEL, README, SUMS, VALUES

SUMMED = (VALUES, LABEL, README, ENTRY)
BLOCK = 2**20
STAGE = "sum up its files"
LARGEST_SUMS = 2**12
LARGEST_FILE = 2**38  # more than the largest cube that is read can take
LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def digest(path: Path, progress: Progress = silent) -> str:
    """Return a file's SHA-256; devices, pipes and what is larger than any release are refused, and never waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        check_regular(status)
        if status.st_size > LARGEST_FILE:
            msg = "it is larger than any release"
            raise ValueError(msg)
        known = hashlib.sha256()
        for done in range(0, status.st_size, BLOCK):  # and no more, should it grow meanwhile
            known.update(file.read(BLOCK))
            progress(STAGE, min(1.0, (done + BLOCK) / status.st_size))
    return known.hexdigest()


def write_sums(folder: Path, progress: Progress = silent) -> dict[str, str]:
    """Write the digests of the files in a folder beside them, and return them."""
    others = {name: digest(folder / name) for name in SUMMED[1:] if (folder / name).exists()}
    digests = {VALUES: digest(folder / VALUES, progress), **others}
    lines = (f"{known}  {name}\n" for name, known in digests.items())
    (folder / SUMS).write_text("".join(lines), encoding="ascii")
    return digests


def read_sums(path: Path) -> dict[str, str]:
    """Return the digests that are listed; only names of a release's files are believed."""
    raw = read_regular(path, LARGEST_SUMS)
    if len(raw) > LARGEST_SUMS:
        msg = "it is longer than any list of a release's files"
        raise ValueError(msg)
    digests: dict[str, str] = {}
    for line in raw.decode("ascii").splitlines():
        match = LINE.fullmatch(line)
        if match is None or match[2] not in SUMMED or match[2] in digests:
            msg = f"a line is not a digest and the name of one of {', '.join(SUMMED)}, each once"
            raise ValueError(msg)
        digests[match[2]] = match[1]
    return digests
