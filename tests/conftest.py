"""How hard Hypothesis tries (HYPOTHESIS_PROFILE=long for `make test-long`), and what commands inherit."""

import os
import signal

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell that starts the tests in the background makes them ignore Ctrl-C, and with them every command they start; the
# tests of interrupted commands would then wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
