"""The house plan, enforced: who may import whom, who may ask a source, who may draw randomness."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "gridveil"
FILES = sorted(SRC.rglob("*.py"))

# What each room may import of gridveil, beside itself. Data flows from ingest through the kernel to mechanisms and on.
MAY_IMPORT = {
    "errors": set(),
    "regular": set(),
    "address": {"errors"},
    "progress": set(),
    "cube": {"errors"},
    "values": set(),
    "estimate": {"values"},
    "folder": {"errors"},
    "privacy": {"errors", "address", "cube", "folder", "progress"},
    "ingest": {"errors", "address", "cube", "folder", "privacy", "progress"},
    "mechanisms": {"errors", "cube", "estimate", "privacy", "progress", "regular", "values"},
    "release": {"errors", "cube", "estimate", "folder", "privacy", "progress", "regular"},
    "spec": {"errors", "cube", "ingest", "privacy", "regular"},
    "debit": {"errors", "cube", "privacy", "release"},
    "operator_record": {"errors", "cube", "folder", "ingest"},
    "plan": {"cube", "ingest", "mechanisms", "release", "spec"},
    "schedule": {"errors", "cube", "privacy", "spec"},
    "learned_shape": {"errors", "cube", "estimate", "mechanisms", "release"},
    "series_lock": {"errors"},
    "next_recovery": {"errors", "folder", "privacy", "release", "schedule", "series_lock", "spec"},
    "next_checks": {"errors", "cube", "ingest", "privacy", "regular", "release", "schedule", "spec"},
    "next_release": {
        *("errors", "learned_shape", "mechanisms", "operator_record", "privacy", "publication", "release", "schedule"),
        *("next_checks", "next_recovery", "series_lock", "spec"),
    },
    "statement": {"cube", "estimate", "mechanisms", "plan", "privacy", "release", "spec"},
    "publication": {
        *("errors", "cube", "estimate", "folder", "ingest", "mechanisms", "privacy", "release", "spec"),
        *("debit", "operator_record", "plan", "statement"),
    },
    # The evaluation runs mechanisms on kernels of its own (privacy), with the sources in memory and the seeded noise of
    # testing: fast and repeatable, and marked as not private. A publication has no way to either.
    "evaluate": {
        *(
            "errors",
            "cube",
            "draw",
            "estimate",
            "ingest",
            "mechanisms",
            "plan",
            "privacy",
            "publication",
            "release",
            "spec",
            "testing",
        )
    },
    # What recipients use sees releases only.
    "draw": {"errors", "cube", "estimate"},
    "report": {"errors", "cube", "draw", "estimate", "folder", "progress", "release"},
    "serve": {"errors", "cube", "estimate", "release"},
    "cli": {
        *("errors", "audit", "serve", "report", "ingest", "mechanisms", "privacy", "publication", "release", "spec"),
        *("evaluate", "draw", "folder", "debit", "next_checks", "next_release", "plan", "progress", "regular"),
        "schedule",
    },
    # Attacks on the claim: they run the real path, and sources and noise of their own where that shows more.
    "audit": {
        *(
            "errors",
            "cube",
            "draw",
            "estimate",
            "evaluate",
            "folder",
            "ingest",
            "mechanisms",
            "plan",
            "privacy",
            "publication",
            "release",
            "spec",
            "statement",
            "testing",
        )
    },
    "testing": {"cube", "privacy"},
    "__init__": {"next_release", "publication", "release"},
}


def room(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_one_way(path: Path) -> None:
    ours = {name.split(".")[1] for name in imported(ast.parse(path.read_text())) if name.startswith("gridveil.")}
    assert ours - {room(path)} <= MAY_IMPORT[room(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_only_the_kernel_asks_a_source_and_only_noise_draws_noise(path: Path) -> None:
    tree = ast.parse(path.read_text())
    called = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    if path != SRC / "privacy" / "kernel.py":
        assert not called & {"bounded_cube", "count_totals"}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    named = imported(tree) | {name for name in attributes if name.startswith("os.")}
    random = {name for name in named if re.match(r"(random|secrets|uuid|opendp|os\.(urandom|getrandom))\b", name)}
    # A ledger's entry draws its nonce, which protects its hash and is no noise.
    allowed = {
        SRC / "privacy" / "noise.py": r"opendp\..*",
        SRC / "privacy" / "discrete_laplace.py": r"os\.urandom",
        SRC / "privacy" / "ledger" / "entry.py": "secrets",
    }
    assert all(re.fullmatch(allowed.get(path, ""), name) for name in random)
    # Noise is added by `ExactNoise`, and nothing else has a way to the sampler or its random bits.
    sampler = {name for name in named if "discrete_laplace" in name}
    if path != SRC / "privacy" / "noise.py":
        assert sampler <= {"gridveil.privacy.discrete_laplace.VECTORISED_FROM"}


def random_calls(tree: ast.AST) -> list[ast.Call]:
    """Calls of anything below numpy.random, scipy.stats or torch's generators."""
    pattern = (
        r"(np|numpy)\.random\.\w+|scipy\.stats.*|torch\.(rand\w*|normal|bernoulli|multinomial|manual_seed|poisson)"
    )
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if re.fullmatch(pattern, ast.unparse(call.func))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_other_randomness_has_a_public_seed_and_stays_out_of_the_trusted_rooms(path: Path) -> None:
    calls = random_calls(ast.parse(path.read_text()))
    if room(path) in {"privacy", "ingest", "release", "publication", "spec", "cube", "estimate"}:
        assert not calls
    for call in calls:
        # torch.randperm draws from the generator that torch.manual_seed set.
        allowed = {"np.random.default_rng", "torch.manual_seed", "torch.randperm"}
        assert ast.unparse(call.func) in allowed, "draw from one seeded generator"
        assert call.args, "a generator without a seed is neither private nor repeatable"


def test_a_publication_cannot_be_given_a_seed_for_its_noise() -> None:
    text = "".join(
        (SRC / name).read_text()
        for name in ("spec.py", "plan.py", "statement.py", "publication.py", "cli/options.py", "privacy/kernel.py")
    )
    assert "seed" not in text


@pytest.mark.parametrize(
    "module", ["gridveil", "gridveil.cli.main", "gridveil.release.open", "gridveil.mechanisms.stpt"]
)
def test_slow_libraries_are_imported_only_when_needed(module: str) -> None:
    slow = ["torch", "ibis", "duckdb", "xarray", "matplotlib", "scipy", "opendp"]
    code = f"import sys, {module}; print([name for name in {slow} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert loaded == "[]"
