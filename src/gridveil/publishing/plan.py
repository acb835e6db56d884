"""The plan of a publication, made before any data is read. All of it is public."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from typing import Any

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import Mechanism, Progress, make, silent, train_steps
from gridveil.mechanisms.mosaic.time import read_shape
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.window import Window
from gridveil.publishing.spec import LATITUDE, LONGITUDE, Spec
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.files import check_openable
from gridveil.release.format.label import DebitFacts, StatedBound
from gridveil.trusted.source.ingest import IngestedSource, find_axes, ingest
from gridveil.trusted.source.report import Report

version = cache(metadata.version)  # read from a file, which an audit would do thousands of times


@dataclass(frozen=True)
class Plan:
    """All that is decided before any data is read."""

    spec: Spec
    grid: Grid
    window: Window
    reading_window: Window
    mechanism: Mechanism

    @classmethod
    def of(cls, spec: Spec) -> Plan:
        """Return the plan of a spec, or say what is missing."""
        spec.check_single()
        spec.need("extent", "grid", "start", "steps")
        spec.check_bound()
        spec.to_engine()
        window = spec.to_window()
        mechanism = make(spec.mechanism, {**spec.parameters, **_read_profile(spec)})
        before = train_steps(mechanism)
        first = window.before(before).start if before else window.start
        return cls(spec, spec.to_grid(), window, Window(first, window.step, before + window.steps), mechanism)

    @property
    def training_window(self) -> Window | None:
        """The steps before the published ones that the mechanism learns from, if any."""
        before = train_steps(self.mechanism)
        return self.window.before(before) if before else None

    def reads(self) -> dict[str, Window]:
        """Return what is read, by the names that a debit and the label give it."""
        training = self.training_window
        return {"published": self.window, **({"training": training} if training else {})}

    def debit_facts(self) -> DebitFacts:
        """Return the public settings that a ledger's entry holds."""
        spec, bound = self.spec, self.spec.to_bound()
        return DebitFacts(
            title=spec.title,
            publisher=spec.publisher,
            choices=spec.choices,
            gridveil_version=version("gridveil"),
            mechanism=spec.mechanism,
            parameters=asdict(self.mechanism),  # type: ignore[call-overload]  # mechanisms are dataclasses
            grid=GridFacts.of(self.grid),
            window=WindowFacts.of(self.window),
            training_window=WindowFacts.of(self.training_window) if self.training_window else None,
            bound=StatedBound(
                step_kwh=bound.step / WH_PER_KWH,
                window_kwh=None if spec.private_bound else bound.window / WH_PER_KWH,
                origin=spec.bound_origin,
            ),
        )

    def has_lonlat_without_crs(self) -> bool:
        """Whether places are in columns called longitude and latitude, but no coordinate system was stated.

        It asks for the names of columns alone, never for a row, so that it may stop a publication.
        """
        if self.spec.crs is not None:
            return False
        x, y = find_axes(self.spec.tables()[1], self.spec.to_engine())
        return x.lower() in LONGITUDE and y.lower() in LATITUDE

    def check_openable(self) -> None:
        """Refuse, before anything is read or spent, what would be a release that nobody could open."""
        spec = self.spec
        texts = {name: getattr(spec, name) for name in ("title", "publisher", "choices", "bound_origin")}
        check_openable(self.grid, (self.window, self.reading_window), texts, asdict(self.mechanism))  # type: ignore[call-overload]  # mechanisms are dataclasses

    def ingest(self, progress: Progress = silent) -> tuple[IngestedSource, Report]:
        """Read the tables."""
        return ingest(*self.spec.tables(), self.grid, self.reading_window, self.spec.to_engine(), progress)


def _read_profile(spec: Spec) -> dict[str, Any]:
    """Return the public shape of the day as parameters of a mechanism: its numbers, so that the label has them too."""
    if spec.profile is None:
        return {}
    zone = spec.readings.timezone if spec.readings else "UTC"
    return {"profile": read_shape(spec.profile).hourly.ravel().tolist(), "profile_zone": zone}
