"""Who may talk to the page, checked in this order before anything is done:

1. Host: a name of this machine, so that another site cannot reach the page by rebinding its own name (400).
2. Token: the start URL carries one, once; after that an HttpOnly, SameSite=Strict cookie does (403). Other programs
   and users of this machine do not know it.
3. For every request that is no GET or HEAD: Sec-Fetch-Site must be `same-origin`, and Origin must not be another's;
   where a browser sends no Sec-Fetch-Site, Origin must be there and the page's own (403).
4. Content type of forms (415) and their size (413), counted while it arrives.

Every answer, refusals included, carries headers that let a page run our own script and style and nothing else.
"""

import hmac
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "ufo_experience_review"
MAX_BODY = 256 * 1024  # bytes
MAX_FIELDS = 2_000
CLOSED = "open the address that the command printed; it works once: for another browser, start the command again"
FORM = "application/x-www-form-urlencoded"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """ASGI middleware; `hosts` are the values of the Host header that are answered, with their port.

    `token` opens the page once, `session` is what the cookie holds from then on. A form is put into `scope["form"]`.
    """

    def __init__(self, app: ASGIApp, *, token: str, session: str, hosts: Iterable[str]) -> None:
        self._app, self._session = app, session
        self._token: str | None = token
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":  # no WebSockets here
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        request = Request(scope, receive)
        refusal = self._refuse(request) or await _read_form(request)
        await (refusal or self._app)(scope, receive, answer)

    def _refuse(self, request: Request) -> Response | None:
        host = _only(request, "host")
        if host.lower() not in self._hosts:
            return PlainTextResponse("this page answers by the address it was opened with", 400)
        if not _same(request.cookies.get(COOKIE, ""), self._session):
            return self._exchange(request) or PlainTextResponse(CLOSED, 403)
        if request.method in ("GET", "HEAD"):
            return None
        if request.method != "POST":
            return PlainTextResponse("only GET and POST", 405)
        if not _same_origin(request, host):
            return PlainTextResponse("not sent by this page: programs use the command ufo-experience", 403)
        if _only(request, "content-type").partition(";")[0].strip().lower() != FORM:
            return PlainTextResponse("only forms", 415)
        if not (length := _only(request, "content-length") or "0").isdigit():
            return PlainTextResponse("bad length", 400)
        return PlainTextResponse("too large", 413) if int(length) > MAX_BODY else None

    def _exchange(self, request: Request) -> Response | None:
        """The token of the start URL for a cookie, and a clean address; None when it is not that one."""
        given = request.query_params.getlist("token")
        is_start = (request.method, request.url.path, len(given)) == ("GET", "/", 1)
        if self._token is None or not is_start or not _same(given[0], self._token):
            return None
        self._token = None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict", path="/")
        return answer


async def _read_form(request: Request) -> Response | None:
    """Put the fields of a form into the scope: a length in a header is only what somebody says."""
    body = b""
    if request.method == "POST":
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return PlainTextResponse("too large", 413)
    try:
        form = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        return PlainTextResponse("not a form", 400)
    request.scope["form"] = form
    return None


def _only(request: Request, name: str) -> str:
    """The value of a header that is there exactly once; "" (which fits nothing) when it is not, or there twice."""
    found = request.headers.getlist(name)
    return found[0] if len(found) == 1 else ""


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8"))


def _same_origin(request: Request, host: str) -> bool:
    """The browser's own word where it gives one; it hides Origin (`null`) from pages that send no referrer."""
    origins = request.headers.getlist("origin")
    own = [one.lower() for one in origins] == [f"http://{host}".lower()]
    if "sec-fetch-site" not in request.headers:
        return own
    return _only(request, "sec-fetch-site") == "same-origin" and (own or origins in ([], ["null"]))
