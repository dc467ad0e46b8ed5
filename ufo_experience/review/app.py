"""Routes, templates and the server of the review page."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ufo_experience.errors import (
    ConflictError,
    DataError,
    ExperienceError,
    NotFoundError,
    RefusedError,
    UsageError,
    quoted,
)
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import printable
from ufo_experience.review.actions import LOST, Actions, Change, Jobs, difference, edited
from ufo_experience.review.guard import Guard
from ufo_experience.review.pages import Pages
from ufo_experience.review.rows import plain_name

HERE = Path(__file__).parent
PARAMETERS = {"experiences.html": "q, page", "procedures.html": "page", "try.html": "task, application"}
STATUS: dict[Any, int] = {HTTPException: 404, ConflictError: 409, NotFoundError: 404, UsageError: 400}
STATUS |= {RefusedError: 403, ExperienceError: 500}  # the base class last: the first that fits is taken


def environment() -> Environment:
    """Templates in which no text moves what stands around it."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,  # markup is made of such texts
    )
    made.filters["plain"] = plain_name
    made.filters["counted"] = lambda count, word: f"{count} {word}{'' if count == 1 else 's'}"
    made.filters["quoted"] = quoted
    made.filters["day"] = lambda moment: moment.strftime("%Y-%m-%d")
    made.filters["query"] = lambda pairs: urlencode([(key, value) for key, value in pairs.items() if value])
    return made


class Review:
    """The page of one memory. `read_only` offers and takes no change."""

    def __init__(self, memory: ExperienceMemory, *, read_only: bool = False) -> None:
        self.memory, self.read_only = memory, read_only
        self.pages, self.actions, self.jobs = Pages(memory), Actions(memory), Jobs(memory)
        self._templates = environment()

    def routes(self) -> list[Route | Mount]:
        pages = self.pages
        reads: dict[str, tuple[str, Callable[[Request], Mapping[str, Any]]]] = {
            "/": ("overview.html", lambda request: {**pages.overview(request), "changes": self.actions.recent()}),
            "/experiences": ("experiences.html", pages.experiences),
            "/procedures": ("procedures.html", pages.procedures),
            "/queue": ("queue.html", pages.queue),
            "/try": ("try.html", pages.attempt),
            "/health": ("health.html", lambda request: {**pages.health(request), "job": self.jobs}),
            "/experience/{id}": ("experience.html", pages.experience),
            "/experience/{id}/edit": ("edit.html", pages.edit),
        }
        writes: dict[str, Callable[[Request], Response]] = {
            "/change": self._change,
            "/lesson": self._lesson,
            "/undo": self._undo,
            "/job": self._job,
            "/experience/{id}/edit": self._edit,
        }
        routes: list[Route | Mount] = [Route("/experience/{id}/edit", self._refuse)] if self.read_only else []
        routes += [Route(path, partial(self._show, *page)) for path, page in reads.items()]
        change = dict.fromkeys(writes, self._refuse) if self.read_only else writes
        routes += [Route(path, write, methods=["POST"]) for path, write in change.items()]
        routes.append(Route("/review", lambda request: RedirectResponse("/queue")))
        return [*routes, Mount("/static", StaticFiles(directory=HERE / "static"), name="static")]

    def _refuse(self, request: Request) -> Response:
        raise RefusedError("the page was opened with --read-only: it shows, and takes no change")

    def _show(self, name: str, data_of: Callable[[Request], Mapping[str, Any]], request: Request) -> Response:
        return self._page(request, name, data_of(request))

    def _page(self, request: Request, name: str, data: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """A page; where a change has just led to it, with what was done and the button that takes it back."""
        rest = [(key, value) for key, value in request.query_params.multi_items() if key != "did"]
        did = self.actions.done(request.query_params.get("did", ""))
        shared = {
            "read_only": self.read_only,
            "here": name,
            "location": self.memory.store.location,
            "did": did,
            "waiting": self.pages.waiting() if did and name == "experience.html" else [],
            "stray": ", ".join(key for key in dict(rest) if key not in PARAMETERS.get(name, "")),
            "taken": PARAMETERS.get(name, "none"),
            "did_back": request.url.path + (f"?{urlencode(rest)}" if rest else ""),
        }
        return HTMLResponse(self._templates.get_template(name).render({**data, **shared}), status)

    def problem(self, request: Request, error: Exception) -> Response:
        kind = next(kind for kind in STATUS if isinstance(error, kind))
        back = _local(dict(request.scope["form"]).get("back", "/"))
        told = str(error)
        id, removed = request.path_params.get("id"), list[str]()
        if kind is NotFoundError and id:
            told, back = f"no record {id}: never stored, or removed", "/experiences"
            removed = [one[:8] for one in self.memory.store.ids(removed=True) if one.startswith(id)]
        data = {"kind": kind.__name__, "error": told, "back": back, "removed": removed}
        return self._page(request, "problem.html", data, STATUS[kind])

    def _change(self, request: Request) -> Response:
        """Change the chosen records, see `Actions.change`; several are asked back with their count."""
        form = dict(request.scope["form"])
        picked = (value.partition(":") for key, value in request.scope["form"] if key == "record")
        chosen = {record: seen for record, _, seen in picked}
        verb, back = form.get("do", ""), _local(form.get("back", "/experiences"))
        if not chosen:
            raise UsageError("no record was chosen")
        if (len(chosen) > 1 or verb == "remove") and form.get("sure") != "yes":
            rows = [row for row in self.pages.rows.all() if row.one.id in chosen]
            asked = {"verb": verb, "rows": rows, "chosen": chosen, "back": back}
            return self._page(request, "sure.html", asked)
        change = self.actions.change(verb, chosen)
        gone = verb == "remove" and back.startswith("/experience/")
        return _done(change, "/experiences" if gone else back)

    def _edit(self, request: Request) -> Response:
        """First the difference, then the change where `sure` is yes, or the form again."""
        old, form = self.memory.get(request.path_params["id"]), request.scope["form"]
        given = dict(form)
        if given.get("sure") == "no":
            return self._page(request, "edit.html", self.pages.edit(request, form))
        try:
            new = edited(old, form)
        except (UsageError, DataError) as error:
            return self._page(request, "edit.html", self.pages.edit(request, form, problem=str(error)), 400)
        if given.get("sure") == "yes":
            return _done(self.actions.edit(old, given.get("seen", ""), new), f"/experience/{new.id}")
        lost = [note for note in new.provenance.notes if note.startswith(LOST)]
        made = self.pages.edit(request, form, difference=difference(old, new), lost=lost)
        return self._page(request, "edit.html", made)

    def _lesson(self, request: Request) -> Response:
        form = dict(request.scope["form"])
        change = self.memory.approve if form.get("do") == "approve" else self.memory.quarantine
        change(form.get("lesson", ""))
        return RedirectResponse("/procedures#lessons", 303)

    def _undo(self, request: Request) -> Response:
        form = dict(request.scope["form"])
        change = self.actions.undo(form.get("change", ""))
        back = _local(form.get("back", "/experiences"))
        return _done(change, f"/experience/{change.before[0].id}" if change.after else back)

    def _job(self, request: Request) -> Response:
        self.jobs.start(dict(request.scope["form"]).get("do", ""))
        return RedirectResponse("/health", 303)


def _done(change: Change, back: str) -> Response:
    """Back to where the person was; the page says what was done, and takes it back on request."""
    return RedirectResponse(f"{back}{'&' if '?' in back else '?'}did={change.id}", 303)


def _local(path: str) -> str:
    """The path if it is one of this page's, else the list."""
    return path if re.fullmatch(r"/(?!/)[\w\-./?=&%+]*", path, re.ASCII) else "/experiences"


def build_app(
    memory: ExperienceMemory, *, token: str, session: str, hosts: Sequence[str], read_only: bool = False
) -> Starlette:
    review = Review(memory, read_only=read_only)
    return Starlette(
        routes=review.routes(),
        middleware=[Middleware(Guard, token=token, session=session, hosts=hosts)],
        exception_handlers=dict.fromkeys(STATUS, review.problem),
    )


def serve(
    memory: ExperienceMemory, listener: socket, name: str, *, read_only: bool, tell: Callable[[str], None]
) -> None:
    """Serve the page until Ctrl-C; `name` is the address of `listener`, `tell` gets what to open, with the token."""
    import uvicorn

    token, session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    hosts = list(dict.fromkeys([name, name.replace("127.0.0.1", "localhost")]))
    app = build_app(memory, token=token, session=session, hosts=hosts, read_only=read_only)
    tell(f"http://{name}/?token={token}")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none")
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
