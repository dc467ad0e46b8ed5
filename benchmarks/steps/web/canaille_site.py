"""Canaille, where the people of a small institute have their accounts, groups and programs, as a program of its own.

    python -m benchmarks.steps.web.canaille_site DATABASE prepare
    python -m benchmarks.steps.web.canaille_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada". No mail is sent.
"""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import Any

from flask import Flask

ADMINISTRATOR = "ada"
PEOPLE = {
    "mlopez": ("Maria", "Lopez"),
    "tkent": ("Tom", "Kent"),
    "akim": ("An", "Kim"),
    "rvoss": ("Rita", "Voss"),
    "jsmith": ("John", "Smith"),
    "ohara": ("Olga", "Hara"),
    "pnovak": ("Petr", "Novak"),
    "lweber": ("Lena", "Weber"),
}
GROUPS = {
    "Laboratory": ("Benches and fume hoods", ("ada", "mlopez", "ohara")),
    "Workshop": ("Lathes and welding", ("ada", "tkent", "pnovak")),
    "Library": ("Books and journals", ("ada", "akim", "lweber")),
    "Canteen": ("Lunch at noon", ("ada", "rvoss", "mlopez")),
    "Reception": ("Keys and visitors", ("ada", "jsmith", "tkent")),
}
PROGRAMS = ("Booking", "Chat", "Payroll", "Archive", "Helpdesk")
_ISSUED = datetime(2026, 1, 5, 9, tzinfo=timezone.utc)


def make(database: str) -> Flask:
    """The application on a database file."""
    from canaille import create_app

    app: Flask = create_app(
        {
            "SECRET_KEY": "a throw-away site",
            "WTF_CSRF_ENABLED": False,
            "CANAILLE": {
                "NAME": "Institute",
                "DATABASE": "sql",
                "LANGUAGE": "en",
                "TIMEZONE": "UTC",
                "SMTP": None,
                "ACL": {"DEFAULT": {}, "ADMIN": {"FILTER": {"user_name": ADMINISTRATOR}, **_rights()}},
            },
            # Hashing is done once a password; nobody is to be kept out.
            "CANAILLE_SQL": {
                "DATABASE_URI": f"sqlite:///{database}",
                "PASSWORD_HASH_PARAMS": {"pbkdf2_sha512__rounds": 1},
            },
            "CANAILLE_OIDC": {},
        }
    )
    app.before_request_funcs[None].insert(0, _sign_in)
    return app


def _rights() -> dict[str, list[str]]:
    """All that there is, for the administrator."""
    from canaille.core.configuration import ACLSettings, Permission

    return {
        "PERMISSIONS": [one.value for one in Permission],
        "READ": [],
        "WRITE": [*ACLSettings().WRITE, "user_name", "groups", "lock_date"],
    }


def _sign_in() -> None:
    from canaille.app import models
    from canaille.app.session import login_user
    from canaille.backends import Backend
    from flask import session

    if not session.get("sessions"):
        login_user(Backend.instance.get(models.User, user_name=ADMINISTRATOR), remember=False)


def prepare(app: Flask) -> None:
    """The people, groups and programs, the tokens that were given out, and what the administrator has agreed to."""
    with app.app_context():
        people = {ADMINISTRATOR: _saved("User", **_person(ADMINISTRATOR, "Ada", "Admin"))}
        for login, (first, last) in PEOPLE.items():
            people[login] = _saved("User", **_person(login, first, last))
        for name, (text, members) in GROUPS.items():
            ones = [people[login] for login in members]
            _saved("Group", display_name=name, description=text, members=ones, owner=ones[0])
        for name, login in zip(PROGRAMS, PEOPLE, strict=False):
            program = _saved("Client", **_program(name))
            _saved("Token", **_given(name, "token"), client=program, subject=people[login], type="access_token")
            _saved("Consent", **_given(name, "consent"), client=program, subject=people[ADMINISTRATOR])


def _saved(kind: str, **values: Any) -> Any:
    from canaille.app import models
    from canaille.backends import Backend

    one = getattr(models, kind)(**values)
    Backend.instance.save(one)
    return one


def _person(login: str, first: str, last: str) -> dict[str, Any]:
    names = {"given_name": first, "family_name": last, "formatted_name": f"{first} {last}"}
    return {"user_name": login, **names, "emails": [f"{login}@mail.example"], "password": "unused-password"}


def _program(name: str) -> dict[str, Any]:
    word = name.lower()
    return {
        "client_id": word,
        "client_name": name,
        "client_uri": f"https://{word}.example",
        "redirect_uris": [f"https://{word}.example/back"],
        "contacts": [f"{word}@mail.example"],
        "client_secret": f"secret of {word}",
        "client_id_issued_at": _ISSUED,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": ["openid", "profile", "email"],
        "token_endpoint_auth_method": "client_secret_basic",
        "application_type": "web",
        "id_token_signed_response_alg": "RS256",
    }


def _given(name: str, kind: str) -> dict[str, Any]:
    own = {f"{kind}_id": f"{kind}-{name.lower()}", "scope": ["openid", "profile"], "issue_date": _ISSUED}
    return {**own, "access_token": f"access to {name}", "lifetime": 10**9} if kind == "token" else own


if __name__ == "__main__":
    application = make(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare(application)
    else:
        application.run("127.0.0.1", int(sys.argv[3]), threaded=True)
