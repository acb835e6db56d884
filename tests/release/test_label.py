from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from tests.codes import has_code
from tests.release.conftest import make_label

from gridveil.model.errors import InputError, UsageError
from gridveil.release.format.documents import readme, to_registry
from gridveil.release.format.files import dump_label, load_label
from gridveil.release.format.label import (
    BoundFacts,
    Label,
    MeasurementFacts,
    MechanismFacts,
    Privacy,
    describe,
    warnings,
)
from gridveil.release.format.wording import (
    CAVEATS,
    OTHER_RELEASES,
    Caveat,
    StepOrigin,
    WindowOrigin,
    bound_origin,
    caveats,
)
from gridveil.trusted.budget import attacker_rate

HERE = Path(__file__).parent


def words(label: Label) -> str:
    return "\n".join(line for section in describe(label) for line in (section.heading, *section.lines))


def test_round_trip(tmp_path: Path) -> None:
    facts = MechanismFacts(name="stpt", parameters={"depth": 5}, details={"parts": np.int64(7), "at": np.arange(2)})
    label = make_label(mechanism=facts, choices="epsilon by the board; ü")
    (tmp_path / "label.json").write_text(dump_label(label), encoding="utf-8")
    assert load_label(tmp_path / "label.json") == label
    assert label.mechanism.details == {"parts": 7, "at": [0, 1]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema_version": 2}, ("label-version-unknown", "version 2")),
        ({"schema_version": 0}, ("label-version-unknown", "version 0")),
        ({"surprise": 1}, ("label-unreadable", "surprise")),
        ({"private": "perhaps"}, ("label-unreadable", "private")),
        ({"title": None}, ("label-unreadable", "title")),
        (
            {"window": {"start": "2013-02-04T00:00:00", "step_seconds": 3600, "steps": 5}},
            ("label-unreadable", "timezone"),
        ),
    ],
)
def test_a_label_not_understood_is_refused(tmp_path: Path, change: dict[str, object], told: tuple[str, ...]) -> None:
    path = tmp_path / "label.json"
    path.write_text(json.dumps(json.loads(dump_label(make_label())) | change), encoding="utf-8")
    with pytest.raises(InputError, check=has_code(*told)):
        load_label(path)


@pytest.mark.parametrize(
    "text",
    ["", "[1, 2]", "{", "\x00", "title: a town\n", '{"a":' * 5000, "[" * 5000, "x" * 2**24],
    ids=["empty", "list", "open", "binary", "YAML", "nested", "deep", "huge"],
)
def test_a_garbled_label_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "label.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, check=has_code("label-unreadable", "label.json")):
        load_label(path)


def test_wording_of_an_ordinary_release() -> None:
    text = words(make_label(epsilon=1))
    assert "pure epsilon-differential privacy, epsilon 1." in text
    assert "at most 2.72 % (loss 1)" in text
    assert text.count("at most 7.39 % (loss 2)") == 2
    assert "adding or removing one household" in text
    assert "Releases about the same households add up" in text
    assert "How these were chosen: not stated" in text
    assert "WARNING" not in text
    assert "NOT PRIVATE" not in text


def test_a_high_epsilon_is_said_plainly() -> None:
    label = make_label(epsilon=30)
    [warning] = warnings(label)
    assert warning.to_record() == {"code": "epsilon-high", "epsilon": 30}
    assert "at most 100 % (loss 30)" in words(label)
    assert str(warning) in words(label)
    assert str(warning) in readme(label)


def test_test_noise_is_said_in_capitals() -> None:
    label = make_label(private=False)
    assert describe(label)[0].heading.startswith("NOT PRIVATE")
    assert readme(label).startswith("# NOT PRIVATE")
    assert [warning.code for warning in warnings(label)] == ["not-private"]
    assert "e^1" not in words(label)
    assert "at most 2.72 %" not in words(label)


@given(st.floats(0, 1000))
def test_attackers_rate_is_a_probability_not_below_chance(epsilon: float) -> None:
    assert 0.01 - 1e-12 <= attacker_rate(epsilon) <= 1


def test_the_label_compares_worlds_that_are_one_or_two_steps_apart() -> None:
    stated = Privacy(epsilon=3, epsilon_accounted=2).attack_rates
    assert {one.question: (one.loss, one.true_positive_rate) for one in stated} == {
        "membership": (3, attacker_rate(3)),
        "behaviour": (6, attacker_rate(6)),
        "place": (6, attacker_rate(6)),
    }


def test_registry_record_is_valid() -> None:
    schema = yaml.safe_load((HERE / "deployments-schema.yaml").read_text(encoding="utf-8"))
    record = json.loads(json.dumps(to_registry(make_label(), curator_type="Government")))
    validator = Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)
    assert list(validator.iter_errors(record)) == []
    assert record["url_slug"] == "consumption-of-a-town-example-grid-2026"


def test_test_noise_is_not_registered() -> None:
    with pytest.raises(UsageError, check=has_code("registry-not-private")):
        to_registry(make_label(private=False))


def test_measurements_of_one_kind_in_a_row_are_told_together() -> None:
    searched = [MeasurementFacts(kind="deviations", labels=2, epsilon=epsilon) for epsilon in (0.1, 0.1, 0.2)]
    total = MeasurementFacts(kind="sums", labels=1, epsilon=0.5)
    told = words(make_label(measurements=[total, *searched]))
    assert "Measured: sums, 1 numbers, epsilon 0.5 (published window)." in told
    assert "Measured: deviations, 6 numbers in 3 questions, epsilon 0.1 to 0.2 each (published window)." in told


def test_corrected_values_are_told() -> None:
    label = make_label(private_bound_epsilon=0.1, correction=1.0625)
    assert "corrected upwards by the factor 1.062 for what the bounds cut" in words(label)
    assert "true consumption means consumption so capped" in words(label)
    assert "how far the correction for the bounds is wrong" in readme(label)
    assert "energy cut off by the bounds" not in readme(label)
    assert "corrected" not in words(make_label())
    assert "energy cut off by the bounds" in readme(make_label())


def test_error_bars_about_the_truth_say_so() -> None:
    told = readme(make_label(correction=1.1), about_the_truth=True)
    assert "what was cut from the heaviest users" in told
    assert "as far as a model of households holds" in told
    assert "does not cover" not in told
    assert "does not cover" in readme(make_label(correction=1.1))
    assert {"corrected", "model"} <= set(caveats(corrected=True, about_the_truth=True))
    assert {"clipped", "spreading"} <= set(caveats(corrected=False, about_the_truth=False))


@pytest.mark.parametrize("unit", [None, "household", "household-window"])
def test_every_caveat_has_a_sentence_and_what_a_cap_limits_depends_on_the_unit(unit: str | None) -> None:
    found = caveats(corrected=False, about_the_truth=False, unit=unit)
    assert len(set(found)) == len(found)
    assert OTHER_RELEASES[unit] in found
    assert set(get_args(Caveat)) == set(CAVEATS)


@pytest.mark.parametrize(("epsilon", "plain"), [(4.9, 0), (5.0, 1), (16.0, 1)])
def test_staircase_noise_at_a_high_epsilon_is_said_plainly(epsilon: float, plain: int) -> None:
    measured = [
        MeasurementFacts(kind="sums", labels=1, epsilon=20, bound_kwh=80),
        MeasurementFacts(kind="sums", labels=9, epsilon=epsilon, noise="staircase", bound_kwh=80),
    ]
    label = make_label(measurements=measured)
    found = warnings(label)
    assert [warning.to_record() for warning in found] == [{"code": "staircase-noise-small", "epsilon": epsilon}] * plain
    assert all(words(label).count(str(warning)) == readme(label).count(str(warning)) == 1 for warning in found)
    assert "Measured: sums, 1 numbers, epsilon 20 (published window, bound 80 kWh)." in words(label)
    told = f"Measured: sums, 9 numbers, epsilon {epsilon:g} (published window, bound 80 kWh, staircase noise)."
    assert told in words(label)


def test_bounds_of_different_origin_are_told_apart() -> None:
    facts = {"step_kwh": 2, "steps": 30}
    origins: list[tuple[int, WindowOrigin]] = [(60, "stated"), (20, "histogram"), (9, "histogram")]
    bounds = [BoundFacts(window_kwh=kwh, window_origin=origin, **facts) for kwh, origin in origins]
    label = make_label(bounds=bounds, private_bound_epsilon=0.25)
    chosen = label.origin_in_words(bounds[1])
    assert "epsilon 0.25 of it" in chosen
    assert "Origin of 60 kWh: a public study." in words(label)
    assert f"Origin of 20 kWh and 9 kWh: {chosen}." in words(label)
    chosen_only = make_label(bounds=bounds[1:], private_bound_epsilon=0.25)
    assert words(chosen_only).count(f"Origin of the bounds: {chosen}.") == 1


@pytest.mark.parametrize("window", get_args(WindowOrigin))
@pytest.mark.parametrize("step", get_args(StepOrigin))
def test_every_origin_of_bounds_has_a_sentence_of_its_own(window: WindowOrigin, step: StepOrigin) -> None:
    label = make_label(private_bound_epsilon=0.25)
    stated = {(a, b): bound_origin(a, b, "a table", 0.25) for a in get_args(WindowOrigin) for b in get_args(StepOrigin)}
    assert len(set(stated.values())) == len(stated)
    bound = label.bounds[0].model_copy(update={"window_origin": window, "step_origin": step})
    assert label.origin_in_words(bound) == stated[window, step].replace("a table", "a public study")


def test_staircase_noise_is_told_by_all_of_it_on_the_published_window() -> None:
    stairs = {"kind": "sums", "labels": 1, "noise": "staircase"}
    measured = [
        MeasurementFacts(epsilon=3, **stairs),
        MeasurementFacts(epsilon=4, **stairs),
        MeasurementFacts(epsilon=9, window="training", **stairs),
        MeasurementFacts(kind="sums", labels=1, epsilon=9),
    ]
    [warning] = warnings(make_label(measurements=measured))
    assert warning.to_record() == {"code": "staircase-noise-small", "epsilon": 7}
    assert not warnings(make_label(measurements=[measured[0], *measured[2:]]))


def test_registry_record_tells_noise_bounds_and_fixed_charges() -> None:
    measured = [
        MeasurementFacts(kind="household_totals", labels=9, epsilon=0.2),
        MeasurementFacts(kind="sums", labels=4, epsilon=0.8, noise="staircase", bound_kwh=80),
    ]
    told = to_registry(make_label(measurements=measured))["deployment"]["implementation"]
    assert "\n- household_totals, 9 numbers, epsilon 0.2, laplace noise, published window\n" in told["mechanisms"]
    assert told["mechanisms"].endswith("sums, 4 numbers, epsilon 0.8, staircase noise, published window, bound 80 kWh")
    assert "fixed charges, added in full" in told["composition"]


def test_negative_values_are_explained_where_there_are_any() -> None:
    assert "- Negative values, if any, are noise" in readme(make_label())
    without = readme(make_label(), negative=False)
    assert "Negative" not in without
    assert "\n\n- " not in without.split("## Reading it\n\n")[1]
