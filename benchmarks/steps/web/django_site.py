"""The administration site of Django on its own users, groups, pages and redirects, as a program of its own.

    python -m benchmarks.steps.web.django_site DATABASE prepare
    python -m benchmarks.steps.web.django_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

ADMINISTRATOR = "ada"
_CONTRIB = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "redirects", "flatpages")


class SignedIn:
    """Middleware: every request is one of the administrator."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer

    def __call__(self, request: Any) -> Any:
        """Pass the request on."""
        from django.contrib.auth.models import User

        request.user = User.objects.get(username=ADMINISTRATOR)
        return self._answer(request)


def configure(database: str) -> None:
    """Set Django up on a database file."""
    import django
    from django.conf import settings

    processors = ("auth.context_processors.auth", "messages.context_processors.messages")
    settings.configure(
        DEBUG=True,
        SECRET_KEY="a throw-away site",
        ALLOWED_HOSTS=["127.0.0.1"],
        INSTALLED_APPS=[f"django.contrib.{one}" for one in _CONTRIB],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            f"{SignedIn.__module__}.SignedIn" if SignedIn.__module__ != "__main__" else f"{__spec__.name}.SignedIn",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        *(f"django.contrib.{one}" for one in processors),
                    ]
                },
            }
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        AUTH_PASSWORD_VALIDATORS=[],
        SITE_ID=1,
        STATIC_URL="static/",
        USE_TZ=True,
    )
    django.setup()
    from django.contrib import admin
    from django.urls import path

    settings.ROOT_URLCONF = (path("", admin.site.urls),)


def prepare() -> None:
    """Make the tables and the administrator."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    User.objects.create_superuser(ADMINISTRATOR, "ada@site.example", "unused")


def serve(port: int) -> None:
    """Serve the site until the process ends."""
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.servers.basehttp import run
    from django.core.wsgi import get_wsgi_application

    run("127.0.0.1", port, StaticFilesHandler(get_wsgi_application()), threading=True)


if __name__ == "__main__":
    configure(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare()
    else:
        serve(int(sys.argv[3]))
