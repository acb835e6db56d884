import re
from pathlib import Path

import numpy as np
import pytest
from tests.codes import has_code
from tests.mechanisms.test_simple import BOUND, READINGS, WINDOW
from tests.plugin import install

from gridveil.mechanisms import base as registry
from gridveil.mechanisms.base import Mechanism
from gridveil.model.errors import UsageError
from gridveil.simulate.sources import kernel_on

DOCS = Path(__file__).parents[2] / "docs" / "mechanisms.md"


@pytest.mark.parametrize("name", registry.list_names())
def test_every_mechanism_has_a_line_and_can_be_made(name: str) -> None:
    assert isinstance(registry.make(name, {}), Mechanism)
    assert registry.describe(name).endswith(".")
    assert registry.make(name, registry.list_defaults(name)) == registry.make(name, {})
    assert f"`{name}`" in DOCS.read_text()


def test_parameters_are_checked_and_read_from_text() -> None:
    assert registry.make("stpt", {"depth": "4", "partition": "quantized"}).depth == 4
    assert registry.make("stpt-paper", {"buckets": 7}).buckets == 7
    for name, parameters, told in (
        ("stpt", {"dept": 4}, ("parameter-unknown", "dept;", "depth")),
        ("stpt", {"depth": "-1"}, ("parameter-invalid", "depth")),
        ("stpt", {"partition": "rings"}, ("parameter-invalid", "partition")),
        ("identity", {"k": 1}, ("parameter-unknown", "none")),
        ("stpd", {}, ("name-unknown", "mosaic")),
    ):
        with pytest.raises(UsageError, check=has_code(*told)):
            registry.make(name, parameters)


def test_the_documented_mechanism_works_when_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    install(tmp_path, registry.GROUP, "per-cell = my_package:PerCell", code[-1])
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.list_names()[-1] == "per-cell"
    kernel = kernel_on(READINGS, WINDOW, epsilon="1e9", bound=BOUND, seed=None)
    estimate = registry.make("per-cell", {}).release(kernel.session())
    np.testing.assert_allclose(estimate.dense().sum(axis=2), READINGS.sum(axis=2))
    assert kernel.spent == pytest.approx(1e9)
