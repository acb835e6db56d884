"""docs/scaling.md has the figures that the benchmarks kept."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCALE = ROOT / "benchmarks" / "scale"


def test_the_tables_of_the_page_are_those_of_the_kept_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCALE))
    report = runpy.run_path(str(SCALE / "report.py"))
    monkeypatch.delitem(sys.modules, "keep")
    page = (ROOT / "docs" / "scaling.md").read_text()
    made = report["tables"](report["read"]())
    assert len(made) == page.count("<!-- end -->") == 5
    for name, table in made.items():
        assert f"<!-- {name} -->\n\n{table}\n\n<!-- end -->" in page, "run python benchmarks/scale/report.py"
