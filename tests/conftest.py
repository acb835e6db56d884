"""How hard Hypothesis tries: HYPOTHESIS_PROFILE=long for `make test-long`."""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
