"""Whether a release is what it says it is: label, digests, values, README, and the ledger's entry."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.progress import Progress, silent
from gridveil.model.regular import read_regular
from gridveil.release.format.files import ENTRY, LABEL, README, SUMS, VALUES, load_label
from gridveil.release.format.label import Label
from gridveil.release.format.read import read_content
from gridveil.release.format.readme import readme
from gridveil.release.format.sums import SUMMED, digest, read_sums
from gridveil.release.verify.verify_cube import check_cube
from gridveil.release.verify.verify_entry import Book, LedgerFaultError, check_entry, check_ledger
from gridveil.release.verify.verify_label import check_facts
from gridveil.uncertainty.posterior import Draws

LARGEST_README = 2**17
MOST_NAMED = 5

NOT_SHOWN = (
    "What this does not show: that the noise was drawn honestly, that the readings were true, or that the publisher "
    "keeps only one ledger about these households."
)
WHO_WROTE_IT = (
    "Nor who wrote it: whoever changes the files can make label, README, entry and digests that fit. Only --ledger "
    "shows that, with the publisher's own ledger or an export of it (not one that came with the release)."
)
WHOSE_LEDGER = (
    "Nor whose ledger this is: it must be the publisher's own, or an export that the publisher gave out, and not one "
    "that came with the release."
)

FRESH_COPY = "do not rely on it, get a fresh copy of the release"

Verdict = Literal["ok", "FAULT", "not checked"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what it means."""

    what: str
    verdict: Verdict
    told: str
    remedy: str = FRESH_COPY
    """What to do about it, if it is a fault."""


class NotCheckedError(Exception):
    """There is nothing to look at, and that is no fault."""


def verify(folder: Path, ledger: Book | None = None, progress: Progress = silent) -> list[Check]:
    """Look at a release that may be anybody's, within limits of time and memory. Only "FAULT" is a fault."""
    label, found = _label(folder)
    digests: dict[str, str] = {}

    def sums() -> str:
        digests.update(_digests(folder, progress))
        return _check_sums(folder, digests)

    def needs_label(question: Callable[[Label], str]) -> Callable[[], str]:
        def asked() -> str:
            if label is None:
                there = os.path.lexists(folder / LABEL)
                msg = f"{LABEL} is at fault, see above" if there else f"there is no {LABEL} to compare it with"
                raise NotCheckedError(msg)
            return question(label)

        return asked

    checks = [
        found,
        _look(SUMS, sums),
        _look(VALUES, needs_label(lambda known: check_cube(folder / VALUES, known, progress))),
        _look(README, needs_label(lambda known: _check_readme(folder, known))),
        _look(ENTRY, needs_label(lambda known: _check_entry(folder, known))),
    ]
    if ledger is not None:
        checks.append(_look("ledger", needs_label(lambda known: check_ledger(ledger, known, digests))))
    return checks


def _look(what: str, question: Callable[[], str]) -> Check:
    try:
        return Check(what, "ok", question())
    except NotCheckedError as why:
        return Check(what, "not checked", str(why))
    except LedgerFaultError as fault:
        return Check(what, "FAULT", str(fault), fault.remedy)
    except FileNotFoundError as fault:
        name = Path(fault.filename).name
        return Check(what, "FAULT", f"{'it' if name == what else name} is missing")
    except OSError as fault:
        return Check(what, "FAULT", f"it cannot be read ({fault.strerror or fault})")
    except (GridveilError, ValueError) as fault:
        return Check(what, "FAULT", str(fault))


def _label(folder: Path) -> tuple[Label | None, Check]:
    try:
        label = load_label(folder / LABEL)
    except InputError as fault:
        return None, Check(LABEL, "FAULT", str(fault))
    return label, _look(LABEL, lambda: check_facts(label))


def _digests(folder: Path, progress: Progress) -> dict[str, str]:
    digests = {}
    for name in filter(lambda name: (folder / name).exists(), SUMMED):
        try:
            digests[name] = digest(folder / name, progress if name == VALUES else silent)
        except (OSError, ValueError) as error:
            msg = f"{name}: {getattr(error, 'strerror', None) or error}"
            raise ValueError(msg) from error
    return digests


def _check_sums(folder: Path, digests: dict[str, str]) -> str:
    listed = read_sums(folder / SUMS)
    missing = sorted(listed.keys() - digests.keys())
    changed = sorted(name for name in listed.keys() & digests.keys() if listed[name] != digests[name])
    unlisted = sorted(({VALUES, LABEL, README} | digests.keys()) - listed.keys())
    if missing or changed or unlisted:
        words = {"missing": missing, "changed": changed, "not listed": unlisted}
        raise ValueError("; ".join(f"{word}: {', '.join(names)}" for word, names in words.items() if names))
    others = _others(folder)
    return f"all {len(listed)} files match it, which whoever changes a file can change too" + (
        f" (no part of the release: {others})" if others else ""
    )


def _others(folder: Path) -> str:
    """Name what else is in the folder, as letters that no terminal obeys."""
    ours = {*SUMMED, SUMS}
    others = [ascii(path.name) for path in islice(folder.iterdir(), 1000) if path.name not in ours]
    return ", ".join(sorted(others)[:MOST_NAMED]) + (" and more" if len(others) > MOST_NAMED else "")


def _check_readme(folder: Path, label: Label) -> str:
    """Compare figures and names, not words: a later gridveil may say the same better."""
    text = read_regular(folder / README, LARGEST_README).decode("utf-8", "replace")
    truth = isinstance(read_content(folder / VALUES, label).errors, Draws)
    if _figures(text) not in [_figures(readme(label, about_the_truth=truth, negative=some)) for some in (True, False)]:
        msg = f"its figures do not follow from {LABEL}"
        raise ValueError(msg)
    names = [label.heading, label.publisher, *([label.ledger_entry.population] if label.ledger_entry else [])]
    if not all(name in text for name in names):
        msg = f"title, publisher or population is not that of {LABEL}"
        raise ValueError(msg)
    return f"its figures and names follow from {LABEL}"


def _figures(text: str) -> list[str]:
    return re.findall(r"[0-9][0-9.,:]*", text)


def _check_entry(folder: Path, label: Label) -> str:
    if label.ledger_entry is None and not (folder / ENTRY).exists():
        msg = "the label says that no ledger kept count"
        raise NotCheckedError(msg)
    return check_entry(folder / ENTRY, label)
