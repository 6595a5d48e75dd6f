"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every machine and every run, so that a change passes or fails for good.
settings.register_profile("stable", derandomize=True, database=None, deadline=None)
settings.load_profile("stable")
