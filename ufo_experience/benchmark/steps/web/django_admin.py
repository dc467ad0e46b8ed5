"""The administration site that comes with Django: https://www.djangoproject.com, from the package index."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from ufo_experience.benchmark.steps.web.server import WebServer, temporary_folder
from ufo_experience.errors import MissingExtraError, ServiceError

_SITE = "ufo_experience.benchmark.steps.web.django_site"


def start_django_admin() -> WebServer:
    """A fresh site with one administrator, served on the loopback.

    Raises:
        MissingExtraError: Django is not installed.
        ServiceError: the database could not be made, or the server did not start.
    """
    if find_spec("django") is None:
        raise MissingExtraError("django", "bench-web")
    folder = temporary_folder()
    database = Path(folder.name) / "site.sqlite3"
    command = [sys.executable, "-m", _SITE, str(database)]
    done = subprocess.run([*command, "prepare"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise ServiceError(f"Django: {done.stderr.strip()[-300:]}", code="E_NO_APPLICATION")
    return WebServer("Django", folder, database, [*command, "serve", "{port}"])
