"""What a label says of a real publication: where its bounds came from, and with which noise it was made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.leak import town

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.even import Even
from gridveil.publishing import plan
from gridveil.publishing import run as publication
from gridveil.publishing.run import run
from gridveil.publishing.spec import make_spec
from gridveil.release.format.files import load_label
from gridveil.release.format.label import Label, describe
from gridveil.simulate.sources import Tape
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

TABLE = "regulator's table 7"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    town.write(tmp_path / "a", *town.town())
    monkeypatch.chdir(tmp_path / "a")
    return tmp_path / "a"


def published(name: str, **changes: Any) -> Label:
    settings = {**town.settings(name, "auto"), "bound_origin": TABLE, **changes}
    label = run(make_spec(settings), noise=Tape.record(seed=6)).label
    assert load_label(Path("release/label.json")) == label
    return label


def histogram(label: Label) -> float:
    return sum(m.epsilon for m in label.measurements if m.kind == "household_totals")


def words(label: Label) -> str:
    return "\n".join(line for section in describe(label) for line in section.lines)


def test_a_stated_window_bound_that_cannot_bind_is_not_where_mosaics_bounds_come_from() -> None:
    """2 kWh a step in 24 steps are 48 kWh at most: a window bound of 1000 leaves the choice to mosaic."""
    label = published("mosaic", bound_step=2, bound_window=1000)
    assert label.private_bound_epsilon == histogram(label) > 0
    assert all(bound.window_kwh < 48 for bound in label.bounds)
    assert {(bound.window_origin, bound.step_origin) for bound in label.bounds} == {("histogram", "stated")}
    assert label.bound_origin == TABLE
    assert f"epsilon {histogram(label):g} of it; the step's: {TABLE}" in words(label)


@pytest.mark.parametrize("window", [20, 1000])
@pytest.mark.parametrize("name", ["even", "stpt"])
def test_bounds_that_were_stated_are_said_to_be(name: str, window: float) -> None:
    """The training window's too, to which they are carried over."""
    label = published(name, bound_step=2, bound_window=window)
    assert [bound.window_kwh for bound in label.bounds if bound.window == "published"] == [min(window, 48)]
    assert {bound.window for bound in label.bounds} == {"published", *(["training"] if name == "stpt" else [])}
    assert {(bound.window_origin, bound.step_origin) for bound in label.bounds} == {("stated", "stated")}
    assert label.bound_origin == TABLE
    assert label.private_bound_epsilon is None


def test_mosaic_under_a_stated_bound_says_so_though_it_asks_for_the_histogram() -> None:
    label = published("mosaic", bound_step=2, bound_window=20)
    assert histogram(label) > 0
    assert [(bound.window_kwh, bound.window_origin) for bound in label.bounds] == [(20, "stated")]
    assert label.private_bound_epsilon is None


def test_a_private_bound_as_large_as_can_be_was_chosen_all_the_same() -> None:
    """One step of 1 Wh: there is no lower bound to choose."""
    label = published("even", bound_step=0.001, steps=1)
    assert [bound.window_kwh for bound in label.bounds] == [0.001]
    assert label.bounds[0].window_origin == "histogram"
    assert label.private_bound_epsilon == histogram(label) > 0


def test_staircase_noise_is_told_wherever_a_release_is_described() -> None:
    """With real noise. The epsilons of both questions with it add up in the warning."""
    spec = make_spec({**town.settings("mosaic", "auto"), "epsilon": 10, "parameters": {"noise": "staircase"}})
    label = run(spec).label
    told, text = words(label), Path("release/README.md").read_text()
    assert label.private
    (noise,) = label.noise
    assert (noise.kinds, noise.samplers) == (["laplace", "staircase"], ["opendp"])
    assert f"OpenDP {noise.opendp}" in told
    histogram, whole, regions, steps = label.measurements
    assert [m.noise for m in label.measurements] == ["laplace", "staircase", "staircase", "laplace"]
    assert min(whole.epsilon, regions.epsilon) < 5
    said = f"WARNING: staircase noise at epsilon {whole.epsilon + regions.epsilon:g} is far smaller than one household"
    assert said in told
    assert said in text
    assert label.private_bound_epsilon == histogram.epsilon
    used = list(dict.fromkeys([whole.bound_kwh, regions.bound_kwh, steps.bound_kwh]))
    assert [bound.window_kwh for bound in label.bounds] == used
    assert len(used) == 2
    both = " or ".join(f"{kwh:g}" for kwh in used)
    sentence = f"at most 23 kWh a step and {both} kWh in the published window of 24 steps, depending on the question"
    assert sentence in told
    assert sentence in text
    assert f"Measured: sums, {1 + regions.labels} numbers in 2 questions" in told
    assert f"bound {whole.bound_kwh:g} kWh, staircase noise)" in told
    assert "Negative values" not in text


def test_every_bound_is_listed_those_of_the_looks_at_regions_too() -> None:
    """And the leak tests' publication of regional profiles does look at them, twice."""
    label = published("mosaic", **town.MOSAICS["regions"])
    assert label.mechanism.details["regional_profiles"] > 0
    histogram, test, full, whole, regions, steps = label.measurements
    assert histogram.bound_kwh is None
    assert [bound.window_kwh for bound in label.bounds] == [test.bound_kwh, whole.bound_kwh, steps.bound_kwh]
    assert (full.bound_kwh, regions.bound_kwh) == (test.bound_kwh, whole.bound_kwh)


@dataclass(frozen=True)
class WithoutHistogram:
    """A mechanism that chooses bounds, but not from a histogram."""

    chooses_bounds: ClassVar[bool] = True

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        return Even().release(measure, progress)


def test_where_there_is_no_histogram_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "make", lambda *_: WithoutHistogram())
    label = published("even", bound_step=2)
    assert label.private_bound_epsilon is None
    assert label.bounds[0].window_origin == "mechanism"
    assert "histogram" not in words(label)


def test_the_day_is_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a run takes depends on the data, and so does whether it goes past midnight."""

    class Clock(datetime):
        day_now = 1

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2026, 1, cls.day_now, tzinfo=tz)

    ingest = plan.ingest

    def slowly(*asked: Any) -> Any:
        Clock.day_now = 2
        return ingest(*asked)

    monkeypatch.setattr(publication, "datetime", Clock)
    monkeypatch.setattr(plan, "ingest", slowly)
    assert published("even").published == date(2026, 1, 1)
    assert Clock.day_now == 2
