"""Verify a release: label, digests, values, README, and the ledger's entry."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from time import monotonic
from typing import Literal

import numpy as np

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.files import read_regular
from gridveil.model.running import Progress, silent
from gridveil.release.format import wording
from gridveil.release.format.documents import readme
from gridveil.release.format.files import (
    ENTRY,
    LABEL,
    README,
    SUMMED,
    SUMS,
    VALUES,
    Stored,
    digest,
    load_label,
    read_sums,
)
from gridveil.release.format.label import Label
from gridveil.release.format.read import read_content, reading, standard_errors
from gridveil.release.verify.ledger import Book, LedgerFaultError, check_entry, check_ledger

# Whether `consumption.nc` holds together: its values are numbers, and its prefix sums are theirs.

BLOCK_CELLS = 2**21
MAX_WIDTH = 512  # cells of a block across, and up
MAX_SECONDS = 60.0
STAGE = "compare values and prefix sums"
ROUNDING = 1e-9  # of the largest sum; float64 adds up millions of values to better than that


def check_cube(path: Path, label: Label, progress: Progress = silent) -> str:
    """Return how much was compared, or raise with what does not fit.

    Memory and time are limited: anyone may have written the file.
    """
    content = read_content(path, label)
    with reading(path):
        _check_attributes(content.values.file, label)
        share = _compare(content.values, standard_errors(content.values), content.prefix.dataset, progress)
    return "values and prefix sums agree" + ("" if share == 1 else f", as far as compared: {math.floor(100 * share)} %")


def _check_attributes(file: Stored, label: Label) -> None:
    expected = {"title": label.heading, "institution": label.publisher, "epsilon": label.privacy.epsilon}
    for name, value in expected.items():
        if file.attrs.get(name) != value:
            msg = f"its {name} is not that of {LABEL}: they are not of one release"
            raise ValueError(msg)


def _compare(values: Stored, errors: Stored, prefix: Stored, progress: Progress) -> float:
    """Compare block by block, and return the share that was compared before time was up."""
    begun, done, largest = monotonic(), 0, 0.0
    for block in _split_blocks(values.shape):
        if monotonic() - begun > MAX_SECONDS:
            break
        edges = tuple(slice(part.start, part.stop + 1) for part in block)
        stored, bars, sums = values[block].astype(np.float64), errors[block], prefix[edges]
        if not (np.isfinite(stored).all() and np.isfinite(bars).all() and np.isfinite(sums).all()):
            msg = "it has numbers that are not finite"
            raise ValueError(msg)
        if (bars < 0).any():
            msg = "it has standard errors below zero"
            raise ValueError(msg)
        if any(part.start == 0 and sums.take(0, axis=axis).any() for axis, part in enumerate(block)):
            msg = "its prefix sums do not begin with zeros"
            raise ValueError(msg)
        largest = max(largest, float(np.abs(sums).max()), float(np.abs(stored).sum()))
        apart = np.diff(np.diff(np.diff(sums, axis=0), axis=1), axis=2) - stored
        if np.abs(apart).max() > ROUNDING * largest:
            msg = f"its prefix sums are not those of its values: answers to queries would not be what {VALUES} says"
            raise ValueError(msg)
        done += stored.size
        progress(STAGE, done / math.prod(values.shape))
    return float(done / math.prod(values.shape))


def _split_blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut a cube (time, y, x) into blocks, each small enough to be held."""
    up, across = (min(size, MAX_WIDTH) for size in shape[1:])
    sizes = (max(1, BLOCK_CELLS // (up * across)), up, across)
    starts = (range(0, length, size) for length, size in zip(shape, sizes, strict=True))
    for corner in product(*starts):
        parts = zip(corner, sizes, shape, strict=True)
        yield tuple(slice(start, min(start + size, length)) for start, size, length in parts)


# Whether a label can be a publication's: its measurements, bounds, sums and codes fit together.

EPSILON_ROUNDING = 1e-6
HISTOGRAM = "household_totals"
"""The kind of measurement that bounds are chosen from."""


def check_facts(label: Label) -> str:
    """Return what was found, or raise with what no publication writes."""
    faults = [*_check_sums_of_epsilon(label), *_check_bounds(label), *_check_codes(label)]
    if faults:
        raise ValueError("; ".join(faults))
    finding = "it can be read, and its figures follow from each other"
    if not label.private:
        return f"{finding}; NOT PRIVATE, as it says: made with test noise"
    if label.privacy.epsilon_accounted < label.privacy.epsilon * (1 - EPSILON_ROUNDING):
        return f"{finding}; less was accounted for than epsilon, though gridveil's mechanisms spend all of it"
    return finding


def _check_sums_of_epsilon(label: Label) -> list[str]:
    """Compare what was accounted for with what the measurements cost.

    Each costs its epsilon in the worst-off pillar, but pillars may differ, so their sum is an upper limit. A histogram
    of household totals costs all pillars the same: it comes on top of the largest of the others.
    """
    counted = sum(m.epsilon for m in label.measurements if m.kind == HISTOGRAM)
    others = [m.epsilon for m in label.measurements if m.kind != HISTOGRAM]
    lowest, highest = counted + max(others, default=0.0), counted + sum(others)
    if lowest * (1 - EPSILON_ROUNDING) <= label.privacy.epsilon_accounted <= highest * (1 + EPSILON_ROUNDING):
        return []
    return [f"epsilon_accounted {label.privacy.epsilon_accounted:g}: its measurements cost {lowest:g} to {highest:g}"]


def _check_bounds(label: Label) -> list[str]:
    """Compare the bounds with what was measured under them, and with the windows they are of."""
    used = {(m.window, m.bound_kwh) for m in label.measurements if m.bound_kwh is not None}
    listed = {(bound.window, bound.window_kwh) for bound in label.bounds}
    steps = {"published": label.window.steps, "training": label.training_window and label.training_window.steps}
    faults = []
    if used != listed:
        faults.append("its measurements were made under other bounds than it lists")
    if any(bound.steps != steps.get(bound.window, bound.steps) for bound in label.bounds):
        faults.append("its bounds are of windows of other lengths than it states")
    return faults


def _check_codes(label: Label) -> list[str]:
    """Compare codes with the facts that they follow from."""
    unit = label.ledger_entry.unit if label.ledger_entry else None
    caveats = [
        wording.caveats(corrected=label.correction is not None, about_the_truth=truth, unit=unit)
        for truth in (False, True)
    ]
    kinds = {measured.noise for measured in label.measurements}
    histogram = sum(m.epsilon for m in label.measurements if m.kind == HISTOGRAM)
    chosen = any(bound.window_origin == "histogram" for bound in label.bounds)
    as_follows = {
        "private_bound_epsilon": (
            label.private_bound_epsilon is not None
            and math.isclose(label.private_bound_epsilon, histogram, rel_tol=EPSILON_ROUNDING)
            if chosen
            else label.private_bound_epsilon is None
        ),
        "noise": {kind for noise in label.noise for kind in noise.kinds} == (kinds if label.private else set()),
        "not_covered": label.not_covered in caveats,
    }
    return [f"{name}: it does not follow from the rest of the label" for name, is_so in as_follows.items() if not is_so]


# Whether a release is what it says it is: label, digests, values, README, and the ledger's entry.

MAX_README_BYTES = 2**17
MAX_NAMED = 5

NOT_SHOWN = (
    "What this does not show: that the noise was drawn honestly, that the readings were true, or that the publisher "
    "keeps only one ledger about these households."
)
WHO_WROTE_IT = (
    "Nor who wrote it: anyone who changes the files can make label, README, entry and digests fit. Only --ledger "
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
    finding: str
    remedy: str = FRESH_COPY
    """What to do about it, if it is a fault."""


class NotCheckedError(Exception):
    """There is nothing to look at, and that is no fault."""


def verify(folder: Path, ledger: Book | None = None, progress: Progress = silent) -> list[Check]:
    """Look at a release that may be anybody's, within limits of time and memory. Only "FAULT" is a fault."""
    label, found = _read_label(folder)
    digests: dict[str, str] = {}

    def sums() -> str:
        digests.update(_compute_digests(folder, progress))
        return _check_sums(folder, digests)

    def with_label(check: Callable[[Label], str]) -> Callable[[], str]:
        def run() -> str:
            if label is None:
                there = os.path.lexists(folder / LABEL)
                msg = f"{LABEL} is at fault, see above" if there else f"there is no {LABEL} to compare it with"
                raise NotCheckedError(msg)
            return check(label)

        return run

    checks = [
        found,
        _check(SUMS, sums),
        _check(VALUES, with_label(lambda known: check_cube(folder / VALUES, known, progress))),
        _check(README, with_label(lambda known: _check_readme(folder, known))),
        _check(ENTRY, with_label(lambda known: _check_entry(folder, known))),
    ]
    if ledger is not None:
        checks.append(_check("ledger", with_label(lambda known: check_ledger(ledger, known, digests))))
    return checks


def _check(what: str, run: Callable[[], str]) -> Check:
    try:
        return Check(what, "ok", run())
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


def _read_label(folder: Path) -> tuple[Label | None, Check]:
    try:
        label = load_label(folder / LABEL)
    except InputError as fault:
        return None, Check(LABEL, "FAULT", str(fault))
    return label, _check(LABEL, lambda: check_facts(label))


def _compute_digests(folder: Path, progress: Progress) -> dict[str, str]:
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
    others = _name_others(folder)
    return f"all {len(listed)} files match it, which anyone who changes a file can change, too" + (
        f" (no part of the release: {others})" if others else ""
    )


def _name_others(folder: Path) -> str:
    """Name what else is in the folder, as letters that no terminal obeys."""
    ours = {*SUMMED, SUMS}
    others = [ascii(path.name) for path in islice(folder.iterdir(), 1000) if path.name not in ours]
    return ", ".join(sorted(others)[:MAX_NAMED]) + (" and more" if len(others) > MAX_NAMED else "")


def _check_readme(folder: Path, label: Label) -> str:
    """Compare figures and names, not words: a later gridveil may have better sentences."""
    text = read_regular(folder / README, MAX_README_BYTES).decode("utf-8", "replace")
    truth = read_content(folder / VALUES, label).errors.about_the_truth
    if _find_figures(text) not in [
        _find_figures(readme(label, about_the_truth=truth, negative=some)) for some in (True, False)
    ]:
        msg = f"its figures do not follow from {LABEL}"
        raise ValueError(msg)
    names = [label.heading, label.publisher, *([label.ledger_entry.population] if label.ledger_entry else [])]
    if not all(name in text for name in names):
        msg = f"title, publisher or population is not that of {LABEL}"
        raise ValueError(msg)
    return f"its figures and names follow from {LABEL}"


def _find_figures(text: str) -> list[str]:
    return re.findall(r"[0-9][0-9.,:]*", text)


def _check_entry(folder: Path, label: Label) -> str:
    if label.ledger_entry is None and not (folder / ENTRY).exists():
        msg = "the label names no ledger"
        raise NotCheckedError(msg)
    return check_entry(folder / ENTRY, label)
