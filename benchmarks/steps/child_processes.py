"""Processes of the bench: browsers, servers, agents. None outlives it, however it ends.

Each is started in a session of its own, so that Ctrl-C reaches the bench alone and it can end them in order. A guard
process is told of each; when its pipe closes, since the bench was killed, it ends what is still there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

POSIX = os.name == "posix"
# For whatever starts a process of ours.
OWN_SESSION: dict[str, Any] = (
    {"start_new_session": True} if POSIX else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)
_PATIENCE_S = 3.0
_PROC = Path("/proc")


class _Guard:
    """Tells the guard process what is there. Started with the first process that is watched."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pids: set[int] = set()
        self._process: subprocess.Popen[str] | None = None

    def get_ready(self) -> None:
        """Start the guard process, so that the next process is watched from its first moment."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
                self._tell(*(f"+{one}" for one in self._pids))

    def watch(self, pid: int) -> None:
        """End that process, and all of its session, when the bench is gone."""
        self.get_ready()
        with self._lock:
            self._pids.add(pid)
            self._tell(f"+{pid}")

    def forget(self, pid: int) -> None:
        """Stop watching a process that has ended; the guard ends with the last one."""
        with self._lock:
            if pid not in self._pids:
                return
            self._pids.discard(pid)
            self._tell(f"-{pid}")
            if not self._pids and self._process is not None:
                self._process.communicate()
                self._process = None

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that are watched."""
        with self._lock:
            return sorted(self._pids)

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", f"from {__name__} import stand_guard; stand_guard()"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **OWN_SESSION)

    def _tell(self, *words: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it is gone: then there is nobody to tell
                self._process.stdin.write("".join(f"{word}\n" for word in words))
                self._process.stdin.flush()


_guard = _Guard()
get_ready, watch, forget = _guard.get_ready, _guard.watch, _guard.forget


def start(command: list[str] | str, **options: Any) -> subprocess.Popen[str]:
    """Start a process that ends with the bench; end it with `end`.

    Raises:
        OSError: there is no such program.
    """
    get_ready()
    process: subprocess.Popen[str] = subprocess.Popen(command, text=True, encoding="utf-8", **OWN_SESSION, **options)
    watch(process.pid)
    return process


def end(process: subprocess.Popen[str]) -> None:
    """End a process and what it has started: politely, then by force."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
    kill_session(process.pid)
    process.wait()
    forget(process.pid)


def end_all() -> None:
    """End every process that is still watched, at once: the bench is being stopped."""
    for pid in _guard.pids:
        kill_session(pid)


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the main thread like Ctrl-C does, so that everything is closed on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def stand_guard() -> None:
    """The guard process: reads pids from its standard input and, when that closes, ends those not taken back."""
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    pids: set[int] = set()
    for line in sys.stdin:
        pid = int(line[1:])
        (pids.add if line[0] == "+" else pids.discard)(pid)
    for pid in pids:
        kill_session(pid)


def kill_session(pid: int) -> None:
    """Kill a process started in a session of its own, and everything in that session."""
    if not POSIX:
        subprocess.run(["taskkill", "/PID", str(pid), "/T", "/F"], capture_output=True, check=False)
        return
    members = _members(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for one in members:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)


def _members(session: int) -> list[int]:
    """Processes of a session, where the system lists them; a browser puts its own into groups of their own."""
    found = []
    for entry in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.parent.name))
    return found
