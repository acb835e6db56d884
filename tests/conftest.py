"""How hard Hypothesis tries (HYPOTHESIS_PROFILE=long for `make test-long`), and what commands inherit."""

import os
import signal

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
