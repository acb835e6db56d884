"""Whether a label can be a publication's: its measurements, bounds and sums fit, and its words are gridveil's."""

from __future__ import annotations

import re
from importlib.metadata import version

from gridveil.release.format import wording
from gridveil.release.format.label import Label
from gridveil.release.format.ledger_facts import in_words

ROUNDING = 1e-6
VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,30}")


def same_words(label: Label) -> bool:
    """Whether this gridveil wrote the label: other versions need not have the same words."""
    return label.gridveil_version == version("gridveil")


def check_facts(label: Label) -> str:
    """Return what was found, or raise with what no publication writes."""
    faults = [*_sums(label), *_bounds(label), *(_words(label) if same_words(label) else [])]
    if faults:
        raise ValueError("; ".join(faults))
    told = "it can be read, and its figures follow from each other"
    if not label.private:
        return f"{told}; NOT PRIVATE, as it says: made with test noise"
    if label.privacy.epsilon_accounted < label.privacy.epsilon * (1 - ROUNDING):
        return f"{told}; less was accounted for than epsilon, though gridveil's mechanisms spend all of it"
    return told


def _sums(label: Label) -> list[str]:
    """Compare what was accounted for with what the measurements cost.

    Each costs its epsilon in the worst-off pillar, but pillars may differ, so their sum is an upper limit. A histogram
    of household totals costs all pillars the same: it comes on top of the largest of the others.
    """
    counted = sum(m.epsilon for m in label.measurements if m.kind == "household_totals")
    others = [m.epsilon for m in label.measurements if m.kind != "household_totals"]
    least, most = counted + max(others, default=0.0), counted + sum(others)
    if least * (1 - ROUNDING) <= label.privacy.epsilon_accounted <= most * (1 + ROUNDING):
        return []
    return [f"epsilon_accounted {label.privacy.epsilon_accounted:g}: its measurements cost {least:g} to {most:g}"]


def _bounds(label: Label) -> list[str]:
    """Compare the bounds with what was measured under them, and with the windows they are of."""
    used = {(m.window, m.bound_kwh) for m in label.measurements if m.bound_kwh is not None}
    listed = {(bound.window, bound.window_kwh) for bound in label.bounds}
    steps = {"published": label.window.steps, "training": label.training_window and label.training_window.steps}
    faults = []
    if not used <= listed or (same_words(label) and used != listed):
        faults.append("its measurements were made under other bounds than it lists")
    if any(bound.steps != steps.get(bound.window, bound.steps) for bound in label.bounds):
        faults.append("its bounds are of windows of other lengths than it states")
    return faults


def _words(label: Label) -> list[str]:
    """Compare the words that a recipient relies on with those that this version writes."""
    privacy, unit = label.privacy, label.ledger_entry.unit if label.ledger_entry else None
    caveats = [
        wording.not_covered(corrected=label.correction is not None, about_the_truth=truth, unit=unit)
        for truth in (False, True)
    ]
    as_written = {
        "definition": privacy.definition == wording.DEFINITION,
        "unit": privacy.unit == wording.UNIT,
        "neighbours": privacy.neighbours == wording.NEIGHBOURS,
        "noise": _is_noise(label),
        "ledger": label.ledger == (in_words(label.ledger_entry) if label.ledger_entry else wording.NO_LEDGER),
        "not_covered": label.not_covered in caveats,
    }
    apart = [name for name, is_so in as_written.items() if not is_so]
    return [f"gridveil {label.gridveil_version} has other words for: {', '.join(apart)}"] if apart else []


def _is_noise(label: Label) -> bool:
    """Whether the noise is told as it is written. The version of OpenDP may be any: it is the publisher's."""
    if not label.private:
        return label.noise == wording.TEST_NOISE
    measured = [(m.noise, m.labels) for m in label.measurements]
    if not {kind for kind, _ in measured} <= wording.NOISES.keys():
        return False
    before, name, number = label.noise.rpartition("OpenDP ")
    return f"{before}{name}" == wording.exact_noise(measured, "") and VERSION.fullmatch(number) is not None
