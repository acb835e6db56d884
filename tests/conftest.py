"""How hard Hypothesis tries (HYPOTHESIS_PROFILE=long for `make test-long`), and what commands inherit."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine

settings.register_profile("default", deadline=None)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A property whose examples are costly would look for a smaller failure for five minutes; no setting shortens that.
engine.MAX_SHRINKING_SECONDS = 30

# A shell that starts the tests in the background makes them ignore Ctrl-C, and with them every command they start; the
# tests of interrupted commands would then wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TESTS = Path(__file__).parent
SLOW = (
    "browser",
    "cli",
    "convert/test_isolation.py",
    "faults",
    "fuzz",
    "leak",
    "mechanisms",
    "properties",
    "publishing/test_debit.py",
    "publishing/test_edges.py",
    "publishing/test_in_memory.py",
    "publishing/test_next.py",
    "release/test_large.py",
    "research",
    "resilience",
    "serve",
    "statistics",
    "test_extras.py",
    "trusted/engines",
    "trusted/kernel/test_rounding.py",
    "trusted/ledger/test_ledger_crowd.py",
    "trusted/source/test_interruptions.py",
    "trusted/source/test_parts.py",
    "trusted/source/test_slices.py",
)
"""Folders and files that are not in the fast lane. Of mechanisms it has the contract that all of them share."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the fast lane leaves out."""
    paths = [TESTS / name for name in SLOW]
    for path in paths:
        if not path.exists():
            msg = f"{path}: listed as slow in tests/conftest.py, but not there"
            raise pytest.UsageError(msg)
    for item in items:
        if any(item.path.is_relative_to(path) for path in paths):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests want to be told, and so that nobody overlooks it if there was no browser to test the page with."""
    for report in terminalreporter.stats.get("passed", []):
        for name, told in report.user_properties:
            if name == "told":
                terminalreporter.write_line(str(told))
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/browser/" in report.nodeid]
    if skipped:
        reason = str(skipped[0].longrepr[2]).removeprefix("Skipped: ")
        terminalreporter.write_line(f"BROWSER TESTS DID NOT RUN ({len(skipped)}): {reason}", red=True, bold=True)
