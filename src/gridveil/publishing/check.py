"""The check of input tables: what a publication would drop and why, without publishing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.errors import GridveilWarning
from gridveil.publishing.in_memory import spec_with_tables
from gridveil.publishing.next_release import make_next_spec
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import NO_CRS, Spec
from gridveil.trusted.source.report import Report


def check(
    spec: Spec | str | Path | None = None,
    *,
    progress: Progress = silent,
    **settings: Any,  # noqa: ANN401  # see Spec
) -> Report:
    """Read the tables as `publish` would and return what it would drop and why; nothing is published or debited.

    spec, settings: as of `publish`; bounds, epsilon, a ledger and `out` are not needed. Of a series (a `cadence`) it is
    the next window. The report has exact counts of private data: it is for the operator only.

    Raises `UsageError` for settings that are missing or do not fit, `InputError` for a table that cannot be read.
    """
    with spec_with_tables(settings, spec) as made:
        plan = Plan.of(made if made.cadence is None else make_next_spec(made))
        source, report = plan.ingest(progress)
        source.close()
        in_degrees = plan.has_lonlat_without_crs()
    if not in_degrees:
        return report
    warning = GridveilWarning(f"WARNING: {NO_CRS}. Without it `publish` refuses to go on.", code="crs-not-stated")
    return replace(report, notices=(*report.notices, warning))
