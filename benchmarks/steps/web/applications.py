"""Applications from the package index, each on a throw-away project.

Django's administration site (https://www.djangoproject.com), Trac (https://trac.edgewall.org), a ticket system with a
wiki, Flask-AppBuilder (https://flask-appbuilder.readthedocs.io) with the contacts of its tutorial, Wagtail
(https://wagtail.org) with the site of a small society, Roundup (https://www.roundup-tracker.org), another tracker, the
dashboard of Oscar (https://oscarcommerce.com) with a small shop, Canaille (https://canaille.readthedocs.io), where the
people of a small institute have their accounts, and django-helpdesk (https://django-helpdesk.readthedocs.io), where the
staff of a small office answer tickets.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks.steps.web.server import WebServer, temporary_folder
from ufo_experience.errors import ServiceError, missing_extra


def start_django_admin() -> WebServer:
    """A fresh site with one administrator, served on the loopback; raises as `_start_site` does."""
    return _start_site("Django", "django", "benchmarks.steps.web.django_site")


def start_fab() -> WebServer:
    """Fresh tables of contacts, users and roles, served on the loopback; raises as `_start_site` does."""
    return _start_site("Flask-AppBuilder", "flask_appbuilder", "benchmarks.steps.web.fab_site")


def start_wagtail() -> WebServer:
    """The editors' pages of a small site, served on the loopback; raises as `_start_site` does."""
    return _start_site("Wagtail", "wagtail", "benchmarks.steps.web.wagtail_site")


def start_oscar() -> WebServer:
    """The dashboard of a small shop, served on the loopback; raises as `_start_site` does."""
    return _start_site("Oscar", "oscar", "benchmarks.steps.web.oscar_site")


def start_canaille() -> WebServer:
    """The accounts of a small institute, served on the loopback; raises as `_start_site` does."""
    return _start_site("Canaille", "canaille", "benchmarks.steps.web.canaille_site")


def start_helpdesk() -> WebServer:
    """The tickets of a small office, served on the loopback; raises as `_start_site` does."""
    return _start_site("Helpdesk", "helpdesk", "benchmarks.steps.web.helpdesk_site")


def _start_site(name: str, package: str, module: str) -> WebServer:
    """A program of ours that prepares a database of an application and serves it.

    Raises:
        ServiceError: the application is not installed.
        ServiceError: the database could not be made, or the server did not start.
    """
    if find_spec(package) is None:
        raise missing_extra(package, "bench-web")
    folder = temporary_folder()
    database = Path(folder.name) / "site.sqlite3"
    command = [sys.executable, "-m", module, str(database)]
    done = subprocess.run([*command, "prepare"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise ServiceError(f"{name}: {done.stderr.strip()[-300:]}", code="E_NO_APPLICATION")
    return WebServer(name, folder, database, [*command, "serve", "{port}"])


def start_roundup() -> WebServer:
    """A fresh tracker in which everybody may do everything, served on the loopback.

    Raises:
        ServiceError: Roundup is not installed.
        ServiceError: the tracker could not be made, or the server did not start.
    """
    if find_spec("roundup") is None:
        raise missing_extra("roundup", "bench-web")
    folder = temporary_folder()
    home = Path(folder.name) / _NAME
    command = [sys.executable, "-m", "benchmarks.steps.web.roundup_site", str(home)]
    done = subprocess.run([*command, "prepare"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise ServiceError(f"Roundup: {done.stderr.strip()[-300:]}", code="E_NO_APPLICATION")
    return WebServer("Roundup", folder, home / "db" / "db", [*command, "serve", "{port}"])


_NAME = "project"
# Another package than the one Trac means goes by the name `multipart`; where only that is installed Trac does without.
_SERVE = """
import sys
try:
    import multipart
    multipart.parse_form_data
except (ImportError, AttributeError):
    sys.modules["multipart"] = None
from trac.web.standalone import main
sys.exit(main())
"""
_ADMIN = "import sys; from trac.admin.console import run; sys.exit(run(sys.argv[1:]))"


def start_trac() -> WebServer:
    """A fresh project in which everybody may do everything, served on the loopback.

    Raises:
        ServiceError: Trac is not installed.
        ServiceError: the project could not be made, or the server did not start.
    """
    if find_spec("trac") is None:
        raise missing_extra("trac", "bench-web")
    folder = temporary_folder()
    project = Path(folder.name) / _NAME
    _admin(project, "initenv", "Bench", "sqlite:db/trac.db")
    _admin(project, "permission", "add", "anonymous", "TRAC_ADMIN")
    command = [sys.executable, "-c", _SERVE, "-s", "--hostname", "127.0.0.1", "--port", "{port}", str(project)]
    return WebServer("Trac", folder, project / "db" / "trac.db", command)


def _admin(project: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ADMIN, str(project), *words], capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        raise ServiceError(
            f"trac-admin {words[0]}: {(done.stderr or done.stdout).strip()[-300:]}", code="E_NO_APPLICATION"
        )
