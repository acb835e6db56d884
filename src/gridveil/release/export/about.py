"""What every export says about itself: how private it is, and how its error bars are to be read."""

from __future__ import annotations

from typing import Any

from gridveil.release.format import wording
from gridveil.release.format.label import warnings
from gridveil.release.query.open import Release


def about(release: Release) -> dict[str, Any]:
    """Return texts, and the whole label as plain data; all of it can be written as JSON."""
    label = release.label
    return {
        "title": label.heading,
        "publisher": label.publisher,
        "published": label.published.isoformat(),
        "private": label.private,
        "privacy": wording.promise(label.privacy.epsilon, label.releases) if label.private else wording.NOT_PRIVATE_WHY,
        "warnings": warnings(label) if label.private else [],
        "units": "kWh",
        "step_seconds": label.window.step_seconds,
        "error_bars": wording.error_bars(
            corrected=label.correction is not None, about_the_truth=release.about_the_truth
        ),
        "comment": f"{wording.QUADRATURE} {wording.NEGATIVE}",
        "privacy_label": label.model_dump(mode="json"),
    }


def remarks(release: Release) -> list[str]:
    """Return the same as sentences for people, without the label."""
    known = about(release)
    return [
        known["title"],
        f"Published by {known['publisher']} on {known['published']}.",
        known["privacy"],
        *known["warnings"],
        known["error_bars"],
        wording.QUADRATURE,
        wording.NEGATIVE,
    ]
