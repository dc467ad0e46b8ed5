"""A web application as a process of ours: a throw-away folder, a port of the loopback, a database that can be reset."""

from __future__ import annotations

import http.client
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.steps import child_processes
from ufo_experience.errors import ServiceError

_START_S = 60.0
Rows = list[tuple[Any, ...]]


class WebServer:
    """One running application on an SQLite database; its pristine copy is put back by `reset`.

    Args:
        name: what it is called in errors.
        database: its file, as it is before any task.
        command: starts it on the port that stands for "{port}".

    Raises:
        ServiceError: it did not answer in a minute.
    """

    def __init__(self, name: str, folder: tempfile.TemporaryDirectory[str], database: Path, command: list[str]) -> None:
        self._folder, self._database = folder, database
        self._pristine = database.with_suffix(".pristine")
        _copy(database, self._pristine)
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        words = [word.replace("{port}", str(port)) for word in command]
        log = (Path(folder.name) / "server.log").open("w", encoding="utf-8")
        self._process = child_processes.start(words, stdout=log, stderr=subprocess.STDOUT, cwd=folder.name)
        log.close()
        try:
            self._wait(name, port)
        except ServiceError:
            self.close()
            raise

    def reset(self, statements: Sequence[str] = ()) -> None:
        """Put the database back to its start, then change it as a task wants it."""
        _copy(self._pristine, self._database)
        with closing(sqlite3.connect(self._database, timeout=10)) as connection, connection:
            for one in statements:
                connection.execute(one)

    def rows(self, query: str) -> Rows:
        """The rows of a query."""
        with closing(sqlite3.connect(self._database, timeout=10)) as connection:
            return [tuple(row) for row in connection.execute(query)]

    def close(self) -> None:
        """End the process and delete its folder."""
        child_processes.end(self._process)
        self._folder.cleanup()

    def _wait(self, name: str, port: int) -> None:
        end = time.monotonic() + _START_S
        while time.monotonic() < end and self._process.poll() is None:
            if _answers(port):
                return
            time.sleep(0.1)
        log = (Path(self._folder.name) / "server.log").read_text(encoding="utf-8", errors="replace")
        raise ServiceError(f"{name} did not start: {log.strip()[-400:]}", code="E_NO_APPLICATION")


def _answers(port: int) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", "/")
            connection.getresponse().read()
            return True
    except (OSError, http.client.HTTPException):
        return False


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with its server."""
    return tempfile.TemporaryDirectory(prefix="ufo-experience-", ignore_cleanup_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Copy a database into another that may be in use."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target, timeout=10)) as new:
        old.backup(new)


def _free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
