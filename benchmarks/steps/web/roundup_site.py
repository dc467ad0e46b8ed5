"""Roundup's classic issue tracker on a throw-away folder, as a program of its own.

    python -m benchmarks.steps.web.roundup_site FOLDER prepare
    python -m benchmarks.steps.web.roundup_site FOLDER serve PORT

Whoever comes, without a login, may do everything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server

_ADMIN = "from roundup.scripts.roundup_admin import run; run()"


class Threaded(ThreadingMixIn, WSGIServer):
    """One thread a request."""

    daemon_threads = True


def prepare(home: Path) -> None:
    """A new tracker on SQLite."""
    _admin(home, "install", "classic", "sqlite")
    _configure(home, 80)
    _admin(home, "initialise", "unused-password")
    _admin(home, "set", "user2", "roles=Admin")


def serve(home: Path, port: int) -> None:
    """Serve it until the process ends."""
    from roundup.cgi.wsgi_handler import RequestDispatcher

    _configure(home, port)
    make_server("127.0.0.1", port, RequestDispatcher(str(home)), server_class=Threaded).serve_forever()


def _configure(home: Path, port: int) -> None:
    given = {"web": f"http://127.0.0.1:{port}/", "domain": "site.example", "host": "localhost"}
    text = (home / "config.ini").read_text("utf-8")
    for key, value in given.items():
        text = re.sub(rf"(?m)^#?{key} = (?:NO DEFAULT|http:.*)$", f"{key} = {value}", text, count=1)
    (home / "config.ini").write_text(text, "utf-8")


def _admin(home: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-c", _ADMIN, "-i", str(home), *words], check=True, capture_output=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare(folder)
    else:
        serve(folder, int(sys.argv[3]))
