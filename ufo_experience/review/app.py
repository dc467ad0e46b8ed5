"""Routes, templates and the server of the review page."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ufo_experience.errors import ConflictError, DataError, ExperienceError, NotFoundError, UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.review.actions import Actions, Change, StepEdit, difference, edited, seen_now
from ufo_experience.review.guard import Guard, TooLargeError
from ufo_experience.review.jobs import Jobs
from ufo_experience.review.pages import Pages
from ufo_experience.review.rows import RISKY, TRUST_WORDS, RowTable, plain_name
from ufo_experience.schema import Experience

HERE = Path(__file__).parent
MAX_FIELDS = 2_000
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
Form = list[tuple[str, str]]
Handler = Callable[[Request, Form], Response]


def visible(value: Any) -> Any:
    """Text with control, invisible and bidi characters as escapes that a person sees; other values as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", value)
    return value


def environment() -> Environment:
    """Templates that escape everything and know no undefined name."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, finalize=visible
    )
    made.globals |= {"trust_words": TRUST_WORDS, "risky": RISKY}
    made.filters["plain"] = plain_name
    made.filters["day"] = lambda moment: moment.strftime("%Y-%m-%d")
    made.filters["query"] = lambda pairs: urlencode([(key, value) for key, value in pairs.items() if value])
    return made


class Review:
    """The page of one memory. `read_only` offers and takes no change."""

    def __init__(self, memory: ExperienceMemory, *, read_only: bool = False) -> None:
        self.memory, self.read_only = memory, read_only
        self.pages, self.actions = Pages(memory, RowTable(memory.store, memory.parts.policy)), Actions(memory)
        self.jobs = Jobs(memory)
        self._templates = environment()

    def routes(self) -> list[Route | Mount]:
        """Every address of the page."""
        pages = {
            "/experiences": ("experiences.html", self.pages.experiences),
            "/procedures": ("procedures.html", self.pages.procedures),
            "/queue": ("queue.html", self.pages.queue),
            "/try": ("try.html", self.pages.attempt),
        }
        reads: dict[str, Handler] = {path: self._shows(*page) for path, page in pages.items()} | {
            "/": self._overview,
            "/health": self._health,
            "/experience/{id}": self._one,
            "/experience/{id}/edit": self._edit_form,
        }
        writes: dict[str, Handler] = {
            "/change": self._change,
            "/lesson": self._lesson,
            "/undo": self._undo,
            "/job": self._job,
            "/experience/{id}/edit": self._edit,
        }
        routes: list[Route | Mount] = [
            Route(path, self._endpoint(handler), methods=["GET"]) for path, handler in reads.items()
        ]
        if not self.read_only:
            routes += [Route(path, self._endpoint(handler), methods=["POST"]) for path, handler in writes.items()]
        return [*routes, Mount("/static", StaticFiles(directory=HERE / "static"), name="static")]

    def _endpoint(self, handler: Handler) -> Callable[[Request], Any]:
        """Read the form, work in a thread, and turn errors into pages."""

        async def endpoint(request: Request) -> Response:
            form: Form = []
            try:
                form = _parse(await request.body()) if request.method == "POST" else []
                return await run_in_threadpool(handler, request, form)
            except TooLargeError:
                return PlainTextResponse("too large", 413)
            except ConflictError:
                text = "It was changed since you looked: look at it again. Nothing was overwritten."
                return self._problem(409, "Changed meanwhile", text, back=dict(form).get("back", request.url.path))
            except NotFoundError as error:
                return self._problem(404, "Not here", f"{error}: never stored, or removed")
            except UsageError as error:
                return self._problem(400, "That cannot be done", str(error), back=dict(form).get("back", ""))
            except ExperienceError as error:
                return self._problem(500, "Something is wrong", str(error))

        return endpoint

    def _shows(self, name: str, data_of: Callable[[Mapping[str, str]], Mapping[str, Any]]) -> Handler:
        """The handler of a page that is made of its address alone."""
        return lambda request, form: self._page(name, data_of(request.query_params), request)

    def _overview(self, request: Request, form: Form) -> Response:
        data = {**self.pages.overview(request.query_params), "changes": self.actions.recent()}
        return self._page("overview.html", data, request)

    def _health(self, request: Request, form: Form) -> Response:
        return self._page("health.html", {**self.pages.health(), "job": self.jobs.state()})

    def _one(self, request: Request, form: Form) -> Response:
        return self._page("experience.html", self.pages.experience(self._record(request)), request)

    def _edit_form(self, request: Request, form: Form) -> Response:
        one = self._record(request)
        return self._edit_page(one, [("seen", seen_now(one))])

    def _edit_page(
        self, one: Experience, form: Form, *, lines: Sequence[tuple[str, str]] = (), problem: str = ""
    ) -> Response:
        """The form as it was filled in, with what is the matter with it; or the difference it makes."""
        data = {"one": one, "form": form, "fields": _fields(one, form), "difference": lines, "problem": problem}
        return self._page("edit.html", data, status=400 if problem else 200)

    def _edit(self, request: Request, form: Form) -> Response:
        """First the difference, then the change where `sure` is yes, or the form again."""
        old, given = self._record(request), dict(form)
        slots = {key.removeprefix("slot:"): value for key, value in form if key.startswith("slot:")}
        tips, sure = given.get("tips", "").splitlines(), given.get("sure")
        if sure == "no":
            return self._edit_page(old, form)
        try:
            new = edited(old, task=given.get("task", ""), tips=tips, slots=slots, steps=_steps_of(form))
        except (UsageError, DataError) as error:
            return self._edit_page(old, form, problem=str(error))
        if sure != "yes":
            return self._edit_page(old, form, lines=difference(old, new))
        return self._done(self.actions.edit(old, given.get("seen", ""), new), f"/experience/{new.id}")

    def _change(self, request: Request, form: Form) -> Response:
        """Change the chosen records, see `Actions.change`; several are asked back with their count."""
        given = dict(form)
        picked = (value.partition(":") for key, value in form if key == "record")
        chosen = {record: seen for record, _, seen in picked}
        verb, back = given.get("do", ""), _local(given.get("back", "/experiences"))
        if not chosen:
            raise UsageError("no record was chosen")
        needs_word = len(chosen) > 1 or verb == "remove"
        if needs_word and given.get("sure") != "yes":
            rows = [row for row in self.pages.table.rows() if row.id in chosen]
            data = {"verb": verb, "rows": rows, "chosen": chosen, "back": back, "keep": given.get("keep", "")}
            return self._page("sure.html", data)
        change = self.actions.change(verb, chosen, given.get("keep", "") if verb == "merge" else "")
        gone = verb == "remove" and back.startswith("/experience/")
        return self._done(change, "/experiences" if gone else back)

    def _lesson(self, request: Request, form: Form) -> Response:
        """Approve a lesson, or put it aside."""
        given = dict(form)
        change = self.memory.approve if given.get("do") == "approve" else self.memory.quarantine
        change(given.get("lesson", ""))
        return RedirectResponse("/procedures#lessons", 303)

    def _undo(self, request: Request, form: Form) -> Response:
        given = dict(form)
        change = self.actions.undo(given.get("change", ""))
        back = f"/experience/{change.before[0].id}" if change.after else _local(given.get("back", "/experiences"))
        return self._done(change, back)

    def _job(self, request: Request, form: Form) -> Response:
        name = dict(form).get("do", "")
        try:
            self.jobs.start(name)
        except KeyError as error:
            raise UsageError(f"no such job: {name!r}") from error
        return RedirectResponse("/health", 303)

    def _done(self, change: Change, back: str) -> Response:
        """Back to where the person was; the page says what was done, and takes it back on request."""
        joined = "&" if "?" in back else "?"
        return RedirectResponse(f"{back}{joined}did={change.id}", 303)

    def _record(self, request: Request) -> Any:
        return self.memory.get(str(request.path_params["id"]))

    def _page(
        self, name: str, data: Mapping[str, Any], request: Request | None = None, status: int = 200
    ) -> HTMLResponse:
        """A page; where a change has just led to it, with what was done and the button that takes it back."""
        did = self.actions.done(request.query_params.get("did", "")) if request else None
        back = _without_did(request) if request else ""
        shown = {**data, "read_only": self.read_only, "here": name, "did": did, "did_back": back}
        return HTMLResponse(self._templates.get_template(name).render(shown), status)

    def _problem(self, status: int, title: str, text: str, *, back: str = "") -> HTMLResponse:
        return self._page("problem.html", {"title": title, "text": text, "back": _local(back or "/")}, status=status)

    def not_found(self, request: Request, error: Exception) -> Response:
        """The page for an address that is none."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        return self._problem(status, "No such page", "Nothing has this address.")


def build_app(
    memory: ExperienceMemory, *, token: str, session: str, hosts: Sequence[str], read_only: bool = False
) -> Starlette:
    """The page as an ASGI application, behind its guard."""
    review = Review(memory, read_only=read_only)
    return Starlette(
        routes=review.routes(),
        middleware=[Middleware(Guard, token=token, session=session, hosts=hosts)],
        exception_handlers={404: review.not_found, 405: review.not_found},
    )


def serve(memory: ExperienceMemory, *, host: str, port: int, read_only: bool, tell: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; `tell` gets the address to open, which holds the token."""
    import socket

    import uvicorn

    token, session = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        port = listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        hosts = [f"{name}:{port}"] + ([f"localhost:{port}"] if host == "127.0.0.1" else [])
        app = build_app(memory, token=token, session=session, hosts=hosts, read_only=read_only)
        tell(f"http://{name}:{port}/?token={token}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _parse(body: bytes) -> Form:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise UsageError("not a form") from error


def _fields(one: Experience, form: Form) -> dict[str, Any]:
    """What stands in the form of a record: what was filled in, else what the record says."""
    given = dict(form)
    kept = {value for key, value in form if key == "step"} if "task" in given else None
    return {
        "seen": given.get("seen", ""),
        "task": given.get("task", one.state.request or one.state.task),
        "tips": given.get("tips", "\n".join(one.action.tips)),
        "slots": {name: given.get(f"slot:{name}", kind) for name, kind in one.slots.items()},
        "steps": [
            {
                "number": step.step_number,
                "kept": kept is None or str(step.step_number) in kept,
                "action": given.get(f"action:{step.step_number}", step.action_type),
                "control": given.get(f"control:{step.step_number}", step.target_control.name),
                "type": given.get(f"type:{step.step_number}", step.target_control.type or ""),
            }
            for step in one.action.steps
        ],
    }


def _steps_of(form: Form) -> dict[int, StepEdit]:
    """The steps to keep, by number, each as it was typed into the form."""
    given = dict(form)
    numbers = [int(value) for key, value in form if key == "step" and value.isdecimal() and len(value) < 6]
    return {
        number: StepEdit(given.get(f"action:{number}"), given.get(f"control:{number}"), given.get(f"type:{number}"))
        for number in numbers
    }


def _without_did(request: Request) -> str:
    """The address of a page without what was done before it."""
    rest = [(key, value) for key, value in request.query_params.multi_items() if key != "did"]
    return request.url.path + (f"?{urlencode(rest)}" if rest else "")


def _local(path: str) -> str:
    """The path if it is one of this page's, else the list."""
    return path if re.fullmatch(r"/(?!/)[\w\-./?=&%+]*", path, re.ASCII) else "/experiences"
