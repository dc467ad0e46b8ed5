"""Shared by all tests: how many examples hypothesis tries, the folder of data, and whether a skip is a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

DATA = Path(__file__).parent / "data"

# The same examples in every run; `HYPOTHESIS_PROFILE=thorough` (CI) tries many more.
settings.register_profile("default", max_examples=20, derandomize=True, deadline=None, database=None)
settings.register_profile("thorough", max_examples=200, derandomize=True, deadline=None, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Logs and files of other projects; `tests/data/README.md` says whose."""
    return DATA


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--no-skips`: a skipped test fails the run. CI has everything that tests ask for."""
    parser.addoption("--no-skips", action="store_true", help="fail when a test was skipped")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turn skips into a failure where they were not expected, and name them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if session.config.getoption("--no-skips") and skipped:
        reporter.write_line("")
        for report in skipped:
            reporter.write_line(f"skipped: {report.nodeid}: {report.longrepr[2]}", red=True)
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
