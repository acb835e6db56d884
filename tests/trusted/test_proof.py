"""Every function and every test that trusted/PROOF.md names exists, and the page is part of the package."""

import ast
import re
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRUSTED = ROOT / "src" / "gridveil" / "trusted"
ROOTS = {
    "gridveil": TRUSTED.parent.parent,
    **dict.fromkeys(("budget", "engines", "kernel", "ledger", "source"), TRUSTED),
}
"""Where a name begins, by its first part."""

NOT_OURS = {"os.urandom"}
PAGE = (TRUSTED / "PROOF.md").read_text()
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
NAMES = [name for name in QUOTED if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", name)]
TESTS = [name for name in QUOTED if "::" in name]
PATHS = [name for name in QUOTED if re.fullmatch(r"(src|tests|docs)/[\w./-]+", name)]
LEMMAS = re.findall(r"^## Lemma \d+.*?(?=^## )", PAGE, flags=re.DOTALL | re.MULTILINE)


def find(name: str) -> bool:
    """Return whether a name is that of a module, or of what a module or one of its classes defines. Imports nothing."""
    parts = name.split(".")
    place = ROOTS[parts[0]]
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if not parts or not (file := place / f"{parts.pop(0)}.py").is_file():
        return False
    body = ast.parse(file.read_text()).body
    for part in parts:
        found = [node for node in body if part in defined(node)]
        if not found:
            return False
        body = found[0].body if isinstance(found[0], ast.ClassDef) else []
    return True


def defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}


def is_test(name: str) -> bool:
    path, _, function = name.partition("::")
    body = ast.parse((ROOT / path).read_text()).body if (ROOT / path).is_file() else []
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in body)


def test_every_name_in_the_proof_exists() -> None:
    assert len(NAMES) > 80
    assert len(TESTS) > 60
    assert [
        name for name in NAMES if name not in NOT_OURS and (name.split(".")[0] not in ROOTS or not find(name))
    ] == []
    assert [name for name in TESTS if not is_test(name)] == []
    assert [name for name in PATHS if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "name",
    ["kernel.account.best_loss", "kernel.accounts.worst_loss", "kernel.kernel.Kernel._refuse", "gridveil.nowhere.run"],
)
def test_a_name_that_is_gone_is_noticed(name: str) -> None:
    assert not find(name)
    assert not is_test(f"tests/trusted/test_proof.py::{name}")


def test_every_step_names_its_code_and_its_tests() -> None:
    assert [int(found) for found in re.findall(r"^## Lemma (\d+)", PAGE, flags=re.MULTILINE)] == list(range(1, 12))
    for lemma in LEMMAS:
        code, tests = lemma.split("**Code.**")[1].split("**Tests.**")
        assert any(f"`{name}`" in code for name in NAMES)
        assert any(f"`{name}`" in tests for name in TESTS)
    assert len(LEMMAS) == 11


def test_links_lead_somewhere() -> None:
    lines = re.findall(r"^#+ (.*)$", PAGE, flags=re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, anchor = link.partition("#")
        assert not path or (TRUSTED / path).is_file()
        assert not anchor or path or anchor in headings


def test_the_proof_is_part_of_the_package() -> None:
    assert (files("gridveil.trusted") / "PROOF.md").read_text() == PAGE
