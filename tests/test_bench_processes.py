"""However `bench steps` ends, no browser, driver, server or agent process is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.steps import child_processes
from benchmarks.steps.browser import find_chromium
from ufo_experience.errors import ServiceError

linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by their environment")
_SLEEPER = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "


def alive(mark: str) -> list[str]:
    """Command lines of the processes whose environment holds a mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # another user's, or gone by now
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text(errors="replace").replace("\0", " "))
    return found


def eventually(holds: Callable[[], bool], seconds: float) -> bool:
    """Whether it comes to hold within that time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@linux
def test_a_process_is_ended_with_what_it_has_started(tmp_path):
    """Its children live in its session."""
    mark = f"BENCH_MARK={tmp_path}"
    environment = {**os.environ, "BENCH_MARK": str(tmp_path)}
    process = child_processes.start([sys.executable, "-c", _SLEEPER + "time.sleep(60)"], env=environment)
    assert eventually(lambda: len(alive(mark)) == 2, 20)
    child_processes.end(process)
    assert eventually(lambda: not alive(mark), 10)


@linux
def test_the_guard_ends_what_a_killed_bench_has_left(tmp_path):
    """A bench that is killed outright can end nothing itself."""
    mark = f"BENCH_MARK={tmp_path}"
    code = (
        "import os, sys, time; from benchmarks.steps import child_processes as c; "
        "c.start([sys.executable, '-c', 'import time; time.sleep(60)']); print('begun', flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "BENCH_MARK": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as bench:
        assert bench.stdout is not None
        bench.stdout.readline()
        assert eventually(lambda: len(alive(mark)) == 3, 20)  # the bench, its guard, its child
        bench.kill()
    assert eventually(lambda: not alive(mark), 10)


@linux
@pytest.mark.browser
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_bench_that_is_stopped_leaves_no_browser(tmp_path, how):
    """Ctrl-C, SIGTERM, a crash: driver and browser go with it."""
    pytest.importorskip("selenium")
    try:
        find_chromium()
    except ServiceError as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "benchmarks", "steps", "--env", "desktop", "--task", "signature"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    bench = subprocess.Popen([*command, "--jobs", "1"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    mark = f"TMPDIR={tmp_path}"
    try:
        assert eventually(lambda: any("--user-data-dir" in one for one in alive(mark)), 60), alive(mark)
    finally:
        bench.send_signal(signal.Signals[how])
        bench.communicate(timeout=60)
    assert bench.returncode != 0
    assert eventually(lambda: not alive(mark), 20), alive(mark)
