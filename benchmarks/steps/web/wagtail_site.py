"""Wagtail's editors' pages on the site of a small society, as a program of its own.

    python -m benchmarks.steps.web.wagtail_site DATABASE prepare
    python -m benchmarks.steps.web.wagtail_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada". Nothing is fetched from elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.steps.web.django_site import ADMINISTRATOR, SignedIn, serve

_PAGES = "benchmarks.steps.web.wagtail_pages"
_CONTRIB = ("contrib.settings", "contrib.redirects", "contrib.search_promotions")
_PARTS = ("embeds", "sites", "users", "snippets", "documents", "images", "search", "admin")
_DJANGO = ("auth", "contenttypes", "sessions", "messages", "staticfiles")
_TABLES = (
    *("auth", "contenttypes", "sessions", "taggit", "wagtailcore", "wagtailadmin", "wagtaildocs", "wagtailembeds"),
    *("wagtailimages", "wagtailredirects", "wagtailsearch", "wagtailsearchpromotions", "wagtailusers"),
)
_PROCESSORS = ("template.context_processors.request", "contrib.auth.context_processors.auth")
SECTIONS = {
    "News": ("Spring fair", "Roof repairs", "New lecture hall"),
    "Events": ("Book club", "Film night", "Garden day"),
    "Courses": ("Basket weaving", "First aid", "Sign language"),
    "Projects": ("Bicycle shed", "Oral history", "Rain garden"),
    "Archive": ("Founding letters", "Old harbour map", "Flood of 1953"),
}
PEOPLE = {"mlopez": "Maria Lopez", "tkent": "Tom Kent", "akim": "An Kim", "rvoss": "Rita Voss", "jsmith": "John Smith"}
GROUPS = ("Translators", "Reviewers", "Printers", "Guests", "Trainees")
COLLECTIONS = ("Brochures", "Logos", "Minutes", "Photos", "Plans")
DOCUMENTS = ("Price list", "Floor plan", "House rules", "Annual report", "Membership form")
REDIRECTS = {"/shop": "store", "/team": "people", "/jobs": "careers", "/prices": "rates", "/map": "visit"}
NOTICES = ("Lift out of order", "Car park full", "Water turned off", "Office moved", "New ticket prices")
JOBS = ("Treasurer", "Porter", "Librarian", "Gardener", "Secretary")
WORKFLOWS = ("Legal check", "Press desk", "Proof reading", "Board approval", "Translation check")


def configure(database: str) -> None:
    """Set Wagtail up on a database file."""
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="a throw-away site",
        ALLOWED_HOSTS=["127.0.0.1"],
        INSTALLED_APPS=[
            _PAGES,
            *(f"wagtail.{one}" for one in (*_CONTRIB, *_PARTS)),
            "wagtail",
            "modelcluster",
            "taggit",
            "django_filters",
            *(f"django.contrib.{one}" for one in _DJANGO),
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            f"{SignedIn.__module__}.SignedIn",
            "django.contrib.messages.middleware.MessageMiddleware",
            "wagtail.contrib.redirects.middleware.RedirectMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        *(f"django.{one}" for one in _PROCESSORS),
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        # Nothing of the database is worth waiting for the disk.
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": database,
                "OPTIONS": {"init_command": "PRAGMA synchronous=OFF"},
            }
        },
        # The database is put back behind the application, so nothing of it may be kept elsewhere.
        CACHES={"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        AUTH_PASSWORD_VALIDATORS=[],
        STATIC_URL="/static/",
        # The tables as they are now, not two hundred steps to them.
        MIGRATION_MODULES={label: None for label in _TABLES},
        MEDIA_ROOT=str(Path(database).with_name("media")),
        MEDIA_URL="/media/",
        TIME_ZONE="UTC",
        USE_TZ=True,
        WAGTAIL_SITE_NAME="Harbour Society",
        WAGTAILSEARCH_BACKENDS={"default": {"BACKEND": "wagtail.search.backends.database.fallback"}},
        WAGTAILADMIN_BASE_URL="http://127.0.0.1",
        WAGTAIL_ENABLE_UPDATE_CHECK=False,
        WAGTAIL_ENABLE_WHATS_NEW_BANNER=False,
        WAGTAIL_GRAVATAR_PROVIDER_URL=None,
        WAGTAIL_AUTOSAVE_INTERVAL=0,
    )
    django.setup()
    from django.urls import include, path

    settings.ROOT_URLCONF = (
        path("", _start),
        path("admin/", include("wagtail.admin.urls")),
        path("documents/", include("wagtail.documents.urls")),
        path("site/", include("wagtail.urls")),
    )


def _start(_: Any) -> Any:
    """To the editors' pages, as one who has never been there: which panels were open is kept in the browser."""
    from django.http import HttpResponseRedirect

    return HttpResponseRedirect("/admin/", headers={"Clear-Site-Data": '"storage"'})


def prepare() -> None:
    """Make the tables, the administrator and what the society has on its site."""
    from django.contrib.auth.models import Group, User
    from django.core.files.base import ContentFile
    from django.core.management import call_command
    from wagtail.contrib.redirects.models import Redirect
    from wagtail.documents.models import Document
    from wagtail.models import Collection, GroupApprovalTask, Workflow, WorkflowTask

    call_command("migrate", run_syncdb=True, verbosity=0)
    home = _begin()
    ada = User.objects.create_superuser(ADMINISTRATOR, "ada@site.example", "unused")
    for login, name in PEOPLE.items():
        first, last = name.split()
        User.objects.create_user(login, f"{login}@site.example", "unused", first_name=first, last_name=last)
    for group in GROUPS:
        Group.objects.create(name=group)
    root = Collection.add_root(name="Root")
    for collection in COLLECTIONS:
        root.add_child(name=collection)
    for title in DOCUMENTS:
        document = Document(title=title, file=ContentFile(title.encode(), f"{title}.txt"), uploaded_by_user=ada)
        document._set_document_file_metadata()  # else the first look at its page does, which is no change of anybody's
        document.save()
    for old, new in REDIRECTS.items():
        Redirect.objects.create(old_path=old, redirect_link=f"https://old.example/{new}", is_permanent=False)
    for name in WORKFLOWS:
        task = GroupApprovalTask.objects.create(name=f"{name} by the reviewers")
        task.groups.add(Group.objects.get(name="Reviewers"))
        WorkflowTask.objects.create(workflow=Workflow.objects.create(name=name), task=task, sort_order=0)
    _write(home, ada)


def _begin() -> Any:
    """What every site of Wagtail starts with, down to its first page."""
    from django.contrib.auth.models import Group, Permission
    from wagtail.models import (
        GroupApprovalTask,
        GroupPagePermission,
        Locale,
        Page,
        Site,
        Workflow,
        WorkflowPage,
        WorkflowTask,
    )

    from benchmarks.steps.web.wagtail_pages.models import SectionPage

    Locale.objects.create(language_code="en")
    root = Page.add_root(instance=Page(title="Root", slug="root"))
    home = root.add_child(instance=SectionPage(title="Home", slug="home"))
    Site.objects.create(hostname="localhost", root_page=home, is_default_site=True)
    rights = {"Moderators": ("add", "change", "publish"), "Editors": ("add", "change")}
    for name, actions in rights.items():
        group = Group.objects.create(name=name)
        group.permissions.add(Permission.objects.get(codename="access_admin"))
        for action in actions:
            allowed = Permission.objects.get(content_type__app_label="wagtailcore", codename=f"{action}_page")
            GroupPagePermission.objects.create(group=group, page=root, permission=allowed)
    task = GroupApprovalTask.objects.create(name="Moderators approval")
    task.groups.add(Group.objects.get(name="Moderators"))
    workflow = Workflow.objects.create(name="Moderators approval")
    WorkflowTask.objects.create(workflow=workflow, task=task, sort_order=0)
    WorkflowPage.objects.create(workflow=workflow, page=root)
    return home


def _write(home: Any, author: Any) -> None:
    """The pages and snippets."""
    from wagtail.models import Site

    from benchmarks.steps.web.wagtail_pages.models import ArticlePage, Notice, OfficeDetails, Person, SectionPage

    for section, articles in SECTIONS.items():
        above = home.add_child(instance=SectionPage(title=section, owner=author))
        above.save_revision(user=author).publish()
        for title in articles:
            page = above.add_child(instance=ArticlePage(title=title, intro=f"About: {title.lower()}.", owner=author))
            page.save_revision(user=author).publish()
    for at, name in enumerate(PEOPLE.values()):
        Person.objects.create(name=name, job=JOBS[at], phone=f"+44 20 100{at}", room=f"A{at + 1}")
    for text in NOTICES:
        notice = Notice.objects.create(text=text)
        notice.save_revision(user=author).publish()
    OfficeDetails.objects.create(site=Site.objects.get(), street="1 Quay Street", opening_hours="Monday 9-12")


if __name__ == "__main__":
    configure(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare()
    else:
        serve(int(sys.argv[3]))
