"""The large campaigns run when they are asked for: `pytest -m slow tests/crash`."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked slow unless `-m` speaks of it."""
    if "slow" in (config.option.markexpr or ""):
        return
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="large campaign; run: pytest -m slow tests/crash"))
