"""The contacts of Flask-AppBuilder's first tutorial, with its own users and roles, as a program of its own.

    python -m benchmarks.steps.web.fab_site DATABASE prepare
    python -m benchmarks.steps.web.fab_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada".
"""

from __future__ import annotations

import sys
from typing import Any

from flask import Flask
from flask_appbuilder import AppBuilder, Model, ModelView
from flask_appbuilder.models.sqla.base import SQLA
from flask_appbuilder.models.sqla.interface import SQLAInterface
from flask_login import login_user
from sqlalchemy import Column, Date, ForeignKey, Integer, String
from sqlalchemy.orm import relationship

ADMINISTRATOR = "ada"
db: Any = SQLA()


class ContactGroup(Model):  # type: ignore[misc]
    """A group of contacts."""

    __tablename__ = "contact_group"
    id = Column(Integer, primary_key=True)
    name = Column(String(50), unique=True, nullable=False)

    def __repr__(self) -> str:
        return str(self.name)


class Contact(Model):  # type: ignore[misc]
    """Somebody."""

    __tablename__ = "contact"
    id = Column(Integer, primary_key=True)
    name = Column(String(150), unique=True, nullable=False)
    address = Column(String(564))
    birthday = Column(Date)
    personal_phone = Column(String(20))
    personal_cellphone = Column(String(20))
    contact_group_id = Column(Integer, ForeignKey("contact_group.id"))
    contact_group = relationship("ContactGroup")

    def __repr__(self) -> str:
        return str(self.name)


class ContactModelView(ModelView):  # type: ignore[misc]
    """The pages of contacts."""

    datamodel = SQLAInterface(Contact)
    list_columns = ("name", "personal_cellphone", "birthday", "contact_group.name")


class GroupModelView(ModelView):  # type: ignore[misc]
    """The pages of groups."""

    datamodel = SQLAInterface(ContactGroup)
    related_views = (ContactModelView,)


def make(database: str) -> Flask:
    """The application on a database file."""
    app = Flask(__name__)
    app.config |= {
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{database}",
        "SECRET_KEY": "a throw-away site",
        "WTF_CSRF_ENABLED": False,
        "APP_NAME": "My Company",
    }
    with app.app_context():
        db.init_app(app)
        builder = AppBuilder(app, db.session)
        builder.add_view(GroupModelView, "List Groups", icon="fa-folder-open-o", category="Contacts")
        builder.add_view(ContactModelView, "List Contacts", icon="fa-envelope", category="Contacts")
        db.create_all()
        users = builder.sm
        if not users.find_user(ADMINISTRATOR):
            users.add_user(ADMINISTRATOR, "Ada", "Admin", "ada@site.example", users.find_role("Admin"), "unused")
    app.before_request(lambda: login_user(users.find_user(ADMINISTRATOR)) and None)
    return app


if __name__ == "__main__":
    application = make(sys.argv[1])
    if sys.argv[2] == "serve":
        application.run("127.0.0.1", int(sys.argv[3]), threaded=True)
