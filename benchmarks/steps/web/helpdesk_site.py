"""django-helpdesk, where the staff of a small office answer tickets, as a program of its own.

    python -m benchmarks.steps.web.helpdesk_site DATABASE prepare
    python -m benchmarks.steps.web.helpdesk_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada". No mail is sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarks.steps.web.django_site import serve

ADMINISTRATOR = "ada"
STAFF = {
    "bruno": ("Bruno", "Haas"),
    "carla": ("Carla", "Ivanov"),
    "dmitri": ("Dmitri", "Jensen"),
    "elif": ("Elif", "Klein"),
    "farid": ("Farid", "Lund"),
}
QUEUES = {"Hardware": "hw", "Software": "sw", "Network": "net", "Building": "bld", "Accounts": "acc"}
# Summary, queue, who reported it, priority, who has it.
TICKETS = (
    ("Printer on the second floor jams", "Hardware", "mlopez", 3, "bruno"),
    ("Laptop battery lasts ten minutes", "Hardware", "tkent", 2, ""),
    ("Screen flickers in the meeting room", "Hardware", "akim", 4, "carla"),
    ("Keyboard has lost its E", "Hardware", "rvoss", 5, ""),
    ("Spreadsheet crashes when it is saved", "Software", "jsmith", 2, "dmitri"),
    ("Need a licence for the drawing program", "Software", "ohara", 4, ""),
    ("Calendar shows the wrong week", "Software", "pnovak", 3, "elif"),
    ("Update asks for a password", "Software", "lweber", 3, ""),
    ("No wireless in the canteen", "Network", "mlopez", 2, "farid"),
    ("Shared drive is very slow", "Network", "akim", 3, ""),
    ("Video calls break off", "Network", "tkent", 3, "bruno"),
    ("Heating is off in room 12", "Building", "rvoss", 1, "carla"),
    ("Light in the corridor is broken", "Building", "ohara", 5, ""),
    ("Door of the archive does not lock", "Building", "jsmith", 2, ""),
    ("Cannot sign in after the holidays", "Accounts", "pnovak", 2, "elif"),
    ("Account for the new trainee", "Accounts", "lweber", 3, ""),
)
COMMENTS = ("I shall have a look.", "Please send us the number on the label.", "A spare part is on its way.")
ARTICLES = {
    "Getting started": ("How to sign in", "How to choose a password"),
    "At your desk": ("How to clear a paper jam", "How to connect a second screen"),
    "On the move": ("How to reach the files from home", "How to forward the phone"),
}
REPLIES = {
    "Ask for details": "Please tell us what you did before it happened.",
    "Restart first": "Please switch it off, wait a minute and switch it on again.",
    "On order": "We have ordered what is needed and will be in touch.",
    "Visit agreed": "A colleague will come to your desk.",
    "Thanks and goodbye": "Glad that it works again.",
}
CHECKLISTS = {
    "New laptop": ["Install updates", "Encrypt the disk", "Stick on the label"],
    "Leaver": ["Lock the account", "Collect the badge"],
    "Room check": ["Lights", "Heating", "Projector"],
    "Moving desks": ["Unplug everything", "Label the cables"],
    "Yearly backup": ["Buy discs", "Copy", "Lock away"],
}
IGNORED = {
    "Shop newsletter": "news@shop.example",
    "Old scanner": "scanner@site.example",
    "Lottery": "win@lucky.example",
    "Robot": "robot@post.example",
    "Travel offers": "sun@travel.example",
}
QUERIES = ("Urgent ones", "Nobody has them", "Last month", "Waiting for parts", "My reading list")
_CONTRIB = ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "humanize")
# Nothing is kept, so nobody waits for the disc.
_SQLITE = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"init_command": "PRAGMA synchronous=OFF;"}}
_OPENED = datetime(2026, 1, 5, 9, tzinfo=timezone.utc)


class SignedIn:
    """Middleware: every request is one of the administrator, and the first page forgets what the browser kept."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self._answer = answer

    def __call__(self, request: Any) -> Any:
        """Pass the request on."""
        from django.contrib.auth.models import User

        request.user = User.objects.get(username=ADMINISTRATOR)
        answer = self._answer(request)
        if request.path == "/":
            answer["Clear-Site-Data"] = '"storage"'  # where the list of tickets keeps its last search
        return answer


def configure(database: str) -> None:
    """Set Django up on a database file."""
    import django
    from django.conf import settings

    settings.configure(
        DEBUG=True,
        SECRET_KEY="a throw-away site",
        ALLOWED_HOSTS=["127.0.0.1"],
        INSTALLED_APPS=[*(f"django.contrib.{one}" for one in _CONTRIB), "rest_framework", "helpdesk"],
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
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        DATABASES={"default": {**_SQLITE, "NAME": database}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        AUTH_PASSWORD_VALIDATORS=[],
        MEDIA_ROOT=str(Path(database).with_name("media")),
        MEDIA_URL="media/",
        SITE_ID=1,
        STATIC_URL="static/",
        USE_TZ=True,
        HELPDESK_TEAMS_MODE_ENABLED=False,
    )
    django.setup()
    from django.contrib import admin
    from django.urls import include, path

    settings.ROOT_URLCONF = (path("admin/", admin.site.urls), path("", include("helpdesk.urls")))


def prepare() -> None:
    """The staff, the queues with their tickets, and what makes answering them easier."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    ada = User.objects.create_superuser(ADMINISTRATOR, "ada@site.example", "unused")
    staff = {
        login: User.objects.create_user(
            login, f"{login}@site.example", None, first_name=first, last_name=last, is_staff=True
        )
        for login, (first, last) in STAFF.items()
    }
    _open_tickets(staff)
    _write_down(ada)


def _open_tickets(staff: dict[str, Any]) -> None:
    from helpdesk.models import FollowUp, Queue, Ticket

    queues = {
        title: Queue.objects.create(
            title=title,
            slug=slug,
            email_address=f"{slug}@site.example",
            allow_public_submission=True,
            enable_notifications_on_email_events=True,
        )
        for title, slug in QUEUES.items()
    }
    for at, (title, queue, reporter, priority, owner) in enumerate(TICKETS):
        opened = _OPENED + timedelta(hours=at)
        ticket = Ticket.objects.create(
            title=title,
            queue=queues[queue],
            submitter_email=f"{reporter}@mail.example",
            description=f"It has been like this since Monday. {title}.",
            priority=priority,
            assigned_to=staff.get(owner),
        )
        if owner:
            FollowUp.objects.create(
                ticket=ticket,
                date=opened + timedelta(minutes=30),
                title="Comment",
                comment=COMMENTS[at % len(COMMENTS)],
                public=True,
                user=staff[owner],
            )
        Ticket.objects.filter(id=ticket.id).update(created=opened, modified=opened)


def _write_down(ada: Any) -> None:
    """Articles, replies, checklists, addresses to ignore and saved queries."""
    from helpdesk.models import ChecklistTemplate, IgnoreEmail, KBCategory, KBItem, PreSetReply, SavedSearch
    from helpdesk.query import query_to_base64

    for name, titles in ARTICLES.items():
        category = KBCategory.objects.create(
            name=name, title=name, slug=name.lower().replace(" ", "-"), description=f"{name}, in short.", public=True
        )
        for title in titles:
            KBItem.objects.create(category=category, title=title, question=f"{title}?", answer="Ask at the desk.")
    for name, body in REPLIES.items():
        PreSetReply.objects.create(name=name, body=body)
    for name, tasks in CHECKLISTS.items():
        ChecklistTemplate.objects.create(name=name, task_list=tasks)
    for name, address in IGNORED.items():
        IgnoreEmail.objects.create(name=name, email_address=address, date=_OPENED.date())
    for title in QUERIES:
        query = query_to_base64({"filtering": {"status__in": [1, 2]}, "sorting": "created", "search_string": ""})
        SavedSearch.objects.create(title=title, user=ada, query=query)


if __name__ == "__main__":
    configure(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare()
    else:
        serve(int(sys.argv[3]))
