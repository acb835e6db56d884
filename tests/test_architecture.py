"""The import rules between folders, who may ask a source, and who may draw randomness."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "gridveil"
FILES = sorted(SRC.rglob("*.py"))

BASE = {"model", "geography"}
READ = {*BASE, "uncertainty", "trusted.budget", "trusted.ledger"}
USED = {"model", "geography", "uncertainty", "release", "trusted.budget"}
MEASURED = {"trusted.budget", *(f"trusted.kernel.{name}" for name in ("session", "staircase", "transforms"))}
PUBLISHED = {*BASE, "uncertainty", "trusted", "mechanisms", "release"}

MAY_IMPORT = {
    "model": set(),
    "geography": {"model"},
    "uncertainty": {*BASE},
    "trusted.budget": {"model"},
    "trusted.kernel": {*BASE, "trusted.budget"},
    "trusted.engines.base": {*BASE},
    "trusted.engines.duckdb": {*BASE, "trusted.engines.base"},
    "trusted.engines.spark": {*BASE, "trusted.engines.base"},
    "trusted.engines.postgres": {*BASE, "trusted.engines.base"},
    "trusted.source": {*BASE, "trusted.engines.base", "trusted.budget", "trusted.kernel.labels"},
    "trusted.ledger": {"model", "trusted.budget"},
    # A mechanism sees the kernel's interface: public numbers and noisy answers, never a source.
    "mechanisms": {*BASE, "uncertainty", *MEASURED},
    "release": {*READ},
    # What recipients use sees releases only.
    "serve": {*USED},
    "report": {*USED},
    # Seeded noise and sources in memory are in simulate: a publication has no way to them.
    "publishing": {*PUBLISHED},
    "convert": {*PUBLISHED, "publishing"},
    "simulate": {*PUBLISHED, "publishing", "report"},
    "cli": {*PUBLISHED, "publishing", "convert", "simulate", "serve", "report"},
    "research": {*PUBLISHED, "publishing", "convert", "simulate", "serve", "report", "cli"},
}
"""What each folder may import of gridveil, beside itself. Nothing imports research."""


def module(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def folder(name: str) -> str | None:
    """Return the folder of `MAY_IMPORT` that a module, or a name in it, belongs to."""
    return max((one for one in MAY_IMPORT if is_in(name, one)), key=len, default=None)


def is_in(name: str, place: str) -> bool:
    return f"{name}.".startswith(f"{place}.")


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def violations(name: str, tree: ast.AST) -> list[str]:
    """Return what a module imports of gridveil against the rules."""
    ours = {one.removeprefix("gridveil.") for one in imported(tree) if one.startswith("gridveil.")}
    here = folder(name)
    if here is None:  # the package itself, which hands out the public API
        return sorted(one for one in ours if is_in(one, "research"))
    allowed = {here, *MAY_IMPORT[here]}
    return sorted(one for one in ours if one != "__version__" and not any(is_in(one, place) for place in allowed))


@pytest.mark.parametrize("path", FILES, ids=module)
def test_imports_follow_the_rules_of_folders(path: Path) -> None:
    assert violations(module(path), ast.parse(path.read_text())) == []


VIOLATIONS = [
    ("model.window", "from gridveil.geography.grid import Grid"),
    ("geography.grid", "from gridveil.release.format.label import Label"),
    ("uncertainty.posterior", "from gridveil.release.query.open import Release"),
    ("trusted.budget", "from gridveil.trusted.kernel.kernel import Kernel"),
    ("trusted.kernel.kernel", "from gridveil.trusted.source.ingest import IngestedSource"),
    ("trusted.engines.base.engine", "from gridveil.trusted.source.rules import places"),
    ("trusted.engines.duckdb.engine", "from gridveil.trusted.engines.spark.engine import SparkEngine"),
    ("trusted.engines.spark.engine", "from gridveil.trusted.kernel.kernel import Kernel"),
    ("trusted.engines.postgres.engine", "from gridveil.trusted.ledger.book import Ledger"),
    ("trusted.source.ingest", "from gridveil.trusted.engines.duckdb.engine import DuckDBEngine"),
    ("trusted.source.parts", "from gridveil.trusted.kernel.noise import ExactNoise"),
    ("trusted.ledger.book", "from gridveil.trusted.kernel.kernel import Kernel"),
    ("mechanisms.literature.even", "from gridveil.trusted.kernel.kernel import Kernel"),
    ("mechanisms.mosaic.mechanism", "import gridveil.trusted.source.ingest"),
    ("release.format.label", "from gridveil.trusted.kernel.noise import ExactNoise"),
    ("serve.app", "from gridveil.mechanisms.base import make"),
    ("report.page", "from gridveil.publishing.run import publish"),
    ("publishing.run", "from gridveil.simulate.sources import SeededLaplace"),
    ("convert.convert", "from gridveil.serve.app import create_app"),
    ("simulate.demo", "from gridveil.research.nonprivate import make"),
    ("cli.publish", "from gridveil.research.compare.compare import compare"),
    ("__init__", "from gridveil.research.audit.study import audit"),
    ("research.paper.run", "from gridveil.somewhere.else_ import thing"),
]


@pytest.mark.parametrize(("name", "line"), VIOLATIONS)
def test_a_violation_of_each_rule_is_found(name: str, line: str) -> None:
    assert violations(name, ast.parse(line))


def test_every_folder_has_a_rule_and_a_violation_that_is_tried() -> None:
    inside = [path for path in FILES if path.parent != SRC and len(module(path).split(".")) > 2]
    assert [str(path) for path in inside if folder(module(path)) is None] == []
    assert {folder(name) for name, _ in VIOLATIONS} - {None} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=module)
def test_only_the_kernel_asks_a_source_and_only_noise_draws_noise(path: Path) -> None:
    tree, kernel = ast.parse(path.read_text()), SRC / "trusted" / "kernel"
    called = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    if path != kernel / "kernel.py":
        assert not called & {"bounded_cube", "count_totals"}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    named = imported(tree) | {name for name in attributes if name.startswith("os.")}
    random = {name for name in named if re.match(r"(random|secrets|uuid|opendp|os\.(urandom|getrandom))\b", name)}
    # A ledger's entry draws its nonce, which protects its hash and is no noise.
    allowed = {
        kernel / "noise.py": r"opendp\..*",
        kernel / "discrete_laplace.py": r"os\.urandom",
        SRC / "trusted" / "ledger" / "entry.py": "secrets",
    }
    assert all(re.fullmatch(allowed.get(path, ""), name) for name in random)
    # Noise is added by `ExactNoise`, and nothing else has a way to the sampler or its random bits.
    sampler = {name for name in named if "discrete_laplace" in name}
    if path != kernel / "noise.py":
        assert sampler <= {"gridveil.trusted.kernel.discrete_laplace.VECTORISED_FROM"}


def random_calls(tree: ast.AST) -> list[ast.Call]:
    """Calls of anything below numpy.random, scipy.stats or torch's generators."""
    pattern = (
        r"(np|numpy)\.random\.\w+|scipy\.stats.*|torch\.(rand\w*|normal|bernoulli|multinomial|manual_seed|poisson)"
    )
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if re.fullmatch(pattern, ast.unparse(call.func))]


@pytest.mark.parametrize("path", FILES, ids=module)
def test_other_randomness_has_a_public_seed_and_stays_out_of_what_is_trusted(path: Path) -> None:
    calls = random_calls(ast.parse(path.read_text()))
    if module(path).split(".")[0] in {"model", "geography", "trusted", "release", "publishing"}:
        assert not calls
    for call in calls:
        # torch.randperm draws from the generator that torch.manual_seed set.
        allowed = {"np.random.default_rng", "torch.manual_seed", "torch.randperm"}
        assert ast.unparse(call.func) in allowed, "draw from one seeded generator"
        assert call.args, "a generator without a seed is neither private nor repeatable"


def test_a_publication_cannot_be_given_a_seed_for_its_noise() -> None:
    names = ("spec", "plan", "run")
    files = [*(SRC / "publishing" / f"{name}.py" for name in names), SRC / "cli" / "options.py"]
    assert not any("seed" in file.read_text() for file in (*files, SRC / "trusted" / "kernel" / "kernel.py"))


@pytest.mark.parametrize(
    "module", ["gridveil", "gridveil.cli.main", "gridveil.release.query.open", "gridveil.mechanisms.stpt"]
)
def test_slow_libraries_are_imported_only_when_needed(module: str) -> None:
    slow = ["torch", "ibis", "duckdb", "xarray", "matplotlib", "scipy", "opendp"]
    code = f"import sys, {module}; print([name for name in {slow} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert loaded == "[]"


def test_every_class_name_is_used_once() -> None:
    """A name with two meanings has to be looked up each time."""
    names = [node.name for path in FILES for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
