"""Shared by all tests: where the workplace's data is, if it is there, and small builders."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third-party data; tests that read it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("shared/data is not beside this checkout")
    return SHARED
