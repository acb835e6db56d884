"""Whether a label can be a publication's: its measurements, bounds, sums and codes fit together."""

from __future__ import annotations

from gridveil.release.format import wording
from gridveil.release.format.label import Label

ROUNDING = 1e-6


def check_facts(label: Label) -> str:
    """Return what was found, or raise with what no publication writes."""
    faults = [*_sums(label), *_bounds(label), *_codes(label)]
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
    if used != listed:
        faults.append("its measurements were made under other bounds than it lists")
    if any(bound.steps != steps.get(bound.window, bound.steps) for bound in label.bounds):
        faults.append("its bounds are of windows of other lengths than it states")
    return faults


def _codes(label: Label) -> list[str]:
    """Compare codes with the facts that they follow from."""
    unit = label.ledger_entry.unit if label.ledger_entry else None
    caveats = [
        wording.caveats(corrected=label.correction is not None, about_the_truth=truth, unit=unit)
        for truth in (False, True)
    ]
    kinds = {measured.noise for measured in label.measurements}
    as_follows = {
        "noise": {kind for noise in label.noise for kind in noise.kinds} == (kinds if label.private else set()),
        "not_covered": label.not_covered in caveats,
    }
    return [f"{name}: it does not follow from the rest of the label" for name, is_so in as_follows.items() if not is_so]
