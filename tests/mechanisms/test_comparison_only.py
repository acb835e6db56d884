"""Methods that may be compared with are refused wherever something would be published."""

from pathlib import Path

import pytest
from tests.codes import has_code

from gridveil.cli.releases import mechanisms
from gridveil.mechanisms import base as registry
from gridveil.model.errors import UsageError
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import Spec

NAMES = sorted(registry.COMPARISON_ONLY)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_refused_with_the_reason_and_the_way_on(name: str) -> None:
    for refused in (
        registry.make,
        lambda name, _: registry.list_defaults(name),
        lambda name, _: registry.describe(name),
    ):
        with pytest.raises(UsageError) as refusal:
            refused(name, {})
        assert str(refusal.value).startswith(f"{name} is for comparisons only")
        assert registry.COMPARISON_ONLY[name].promise in str(refusal.value)
        assert "`gridveil compare`" in str(refusal.value)
    assert name not in registry.list_names()


@pytest.mark.parametrize("name", NAMES)
def test_a_third_party_cannot_take_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = type("Entry", (), {"name": name, "load": staticmethod(lambda: object)})()
    monkeypatch.setattr("gridveil.model.registry.entry_points", lambda **_: [entry])
    assert name not in registry.list_names()
    with pytest.raises(UsageError, check=has_code("comparison-only")):
        registry.make(name, {})


@pytest.mark.parametrize("name", NAMES)
def test_a_publication_stops_before_it_reads_anything(name: str, tmp_path: Path) -> None:
    spec = Spec.model_validate(
        {
            "readings": str(tmp_path / "absent.parquet"),
            "households": str(tmp_path / "absent.parquet"),
            "extent": [0, 0, 800, 800],
            "grid": "8x8",
            "start": "2013-02-04T00:00:00Z",
            "steps": 24,
            "bound_step": 2,
            "bound_window": 20,
            "epsilon": 1,
            "mechanism": name,
            "out": str(tmp_path / "release"),
        }
    )
    with pytest.raises(UsageError, check=has_code("comparison-only")):
        Plan.of(spec)
    assert not list(tmp_path.iterdir())


def test_the_list_has_publishable_ones_first_and_promises_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    mechanisms()
    publishable, _, others = capsys.readouterr().out.partition("For comparison only")
    for name in registry.list_names():
        assert f"{name}\n  " in publishable
    for name, words in registry.COMPARISON_ONLY.items():
        assert f"{name}\n  {words.summary}\n  promise: {words.promise}\n" in others
        assert f"{name}\n" not in publishable
