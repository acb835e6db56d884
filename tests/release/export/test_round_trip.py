"""Every number of a release is in every export, read back by other people's libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.release.export.conftest import BRITISH, LOCAL, ONE, Publish
from tests.release.export.readers import MEASURES, Read, read

from gridveil.release.export import EXPORTERS, export
from gridveil.release.format import wording
from gridveil.release.format.label import Label
from gridveil.release.query.open import Release

CASES = {
    "posterior": {"kind": "posterior"},
    "parts, projected": {"kind": "parts", "grid": BRITISH},
    "linear, local": {"kind": "linear", "grid": LOCAL},
    "replicates": {"kind": "replicates"},
    "one cell, one step": {"kind": "identity", "grid": ONE[0], "window": ONE[1]},
}


def check_sums(got: Read, release: Release) -> None:
    """Compare sums over random boxes with the release's own answers."""
    rng = np.random.default_rng(3)
    sizes = (release.grid.nx, release.grid.ny, release.window.steps)
    total = float(np.abs(release.values()).sum(dtype=float))
    for _ in range(50):
        ranges = []
        for size in sizes:
            first, last = sorted(rng.choice(size + 1, 2, replace=False).tolist())
            ranges.append((first, last))
        x, y, time = ranges
        summed = got.cubes["kwh"][slice(*time), slice(*y), slice(*x)].sum()
        assert summed == pytest.approx(release.query(x, y, time).value, abs=1e-6 * total)


def check_error_bars(got: Read, release: Release) -> None:
    """Compare the error bars of every cell and step with the answers to as many range queries."""
    step, y, x = (index.ravel() for index in np.indices(got.cubes["kwh"].shape))
    answers = release.answers_of(np.stack([x, x + 1, y, y + 1, step, step + 1], axis=1))
    value, error, low, high = (got.cubes[name].ravel() for name in MEASURES)
    np.testing.assert_allclose(value, answers.value, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(error, answers.standard_error, rtol=1e-6, atol=1e-6)
    # Of all cells at once, ends are found by a quicker way: see `of_cells` of the error models.
    width = answers.high - answers.low
    assert (np.abs(low - answers.low) <= 5e-4 * width + 1e-6).all()
    assert (np.abs(high - answers.high) <= 5e-4 * width + 1e-6).all()
    for number in range(release.window.steps):
        cells = release.cells(number, number + 1)
        np.testing.assert_allclose(got.cubes["kwh_low"][number], cells.low, rtol=1e-6)
        np.testing.assert_allclose(got.cubes["kwh_high"][number], cells.high, rtol=1e-6)


def leaves(value: object, name: str = "") -> dict[str, object]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        return {name: value}
    return {k: v for key, item in items for k, v in leaves(item, f"{name}.{key}".lstrip(".")).items()}


def digits(label: dict[str, object]) -> dict[str, object]:
    return {key: f"{value:.14g}" if type(value) in {int, float} else value for key, value in label.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("form", EXPORTERS.names())
def test_sums_error_bars_and_label_are_those_of_the_release(
    release_of: Publish, tmp_path: Path, form: str, case: dict[str, object]
) -> None:
    release = release_of(**case)
    path = tmp_path / f"town{EXPORTERS.load(form).suffix}"
    written = export(release, path, form)
    assert written == [path] + ([Path(f"{path}.label.json")] if form == "csv" else [])
    got = read(form, path, release)
    check_sums(got, release)
    check_error_bars(got, release)
    if form == "xlsx":  # a row for every field, and numbers of 16 digits
        assert digits(got.label) == digits(leaves(release.label.model_dump(mode="json")))
    else:
        assert Label.model_validate(got.label) == release.label
    assert wording.QUADRATURE in got.words
    assert "NOT PRIVATE" not in got.words


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_test_noise_is_said_to_be_not_private(release_of: Publish, tmp_path: Path, form: str) -> None:
    release = release_of(private=False)
    path = tmp_path / f"town{EXPORTERS.load(form).suffix}"
    export(release, path, form)
    got = read(form, path, release)
    assert "NOT PRIVATE: made with test noise" in got.words
    assert f"{wording.NOT_PRIVATE}: Consumption of a town" in got.words
    assert got.label["private"] is False


def test_a_high_epsilon_is_said_plainly(release_of: Publish, tmp_path: Path) -> None:
    release = release_of(epsilon=8.0)
    for form in EXPORTERS.names():
        path = tmp_path / f"town{EXPORTERS.load(form).suffix}"
        export(release, path, form)
        assert "WARNING: epsilon 8 is high" in read(form, path, release).words


@pytest.mark.parametrize("form", EXPORTERS.names())
def test_the_same_release_gives_the_same_bytes(release_of: Publish, tmp_path: Path, form: str) -> None:
    release = release_of()
    for name in ("first", "second"):
        export(release, tmp_path / name / "town", form)
    first, second = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for folder in (tmp_path / "first", tmp_path / "second")
    )
    assert first == second
