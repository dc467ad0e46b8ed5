"""Shared by all tests: how many examples hypothesis tries, and the third-party data where it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

# The same examples in every run; `HYPOTHESIS_PROFILE=thorough` (CI) tries many more.
settings.register_profile("default", max_examples=20, derandomize=True, deadline=None, database=None)
settings.register_profile("thorough", max_examples=200, derandomize=True, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third-party data; tests that read it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("shared/data is not beside this checkout")
    return SHARED
