"""Who may talk to the page, checked in this order before anything is read:

1. Host: a name of this machine, so that another site cannot reach the page by rebinding its own name (400).
2. Token: the start URL carries one, once; after that an HttpOnly, SameSite=Strict cookie does (403). Other programs
   and users of this machine do not know it.
3. For every request that is no GET or HEAD: Sec-Fetch-Site must be `same-origin`, and Origin must not be another's;
   where a browser sends no Sec-Fetch-Site, Origin must be there and the page's own (403).
4. Content type of forms (415) and their size (413), counted while it arrives.

Every answer, refusals included, carries headers that let a page run our own script and style and nothing else.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "ufo_experience_review"
MAX_BODY = 256 * 1024  # bytes
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

    `token` opens the page once, by the start URL; `session` is what the cookie holds from then on.
    """

    def __init__(self, app: ASGIApp, *, token: str, session: str, hosts: Iterable[str]) -> None:
        self._app, self._session = app, session
        self._token: str | None = token
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSockets here
            return
        answer = self._with_headers(send)
        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        await self._app(scope, Bounded(receive, answer).receive, answer)

    def _refuse(self, scope: Scope) -> Response | None:
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        host = _only(headers, "host")
        if host is None or host.lower() not in self._hosts:
            return PlainTextResponse("this page answers by the address it was opened with", 400)
        if not self._has_session(headers):
            return self._exchange(scope) or PlainTextResponse(CLOSED, 403)
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return PlainTextResponse("only GET and POST", 405)
        if not _same_origin(headers, host):
            return PlainTextResponse("not sent by this page", 403)
        if (_only(headers, "content-type") or "").partition(";")[0].strip().lower() != FORM:
            return PlainTextResponse("only forms", 415)
        if not (_only(headers, "content-length") or "0").isdigit():
            return PlainTextResponse("bad length", 400)
        if int(_only(headers, "content-length") or "0") > MAX_BODY:
            return PlainTextResponse("too large", 413)
        return None

    def _has_session(self, headers: list[tuple[str, str]]) -> bool:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(_only(headers, "cookie") or "")
        except CookieError:
            return False
        found = jar.get(COOKIE)
        return found is not None and _same(found.value, self._session)

    def _exchange(self, scope: Scope) -> Response | None:
        """The token of the start URL for a cookie, and a clean address; None when it is not that one."""
        if scope["method"] != "GET" or scope["path"] != "/":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if self._token is None or len(given) != 1 or not _same(given[0], self._token):
            return None
        self._token = None
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _with_headers(self, send: Send) -> Send:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                kept = [pair for pair in message.get("headers", []) if pair[0].decode("latin-1").lower() not in HEADERS]
                message = {**message, "headers": [*kept, *own]}
            await send(message)

        return answer


class TooLargeError(Exception):
    """A body that grew beyond `MAX_BODY` while it arrived."""


class Bounded:
    """A `receive` that counts bytes: a length in a header is only what somebody says."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send, self._bytes = receive, send, 0

    async def receive(self) -> Message:
        """The next part of the request. Raises `TooLargeError`."""
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > MAX_BODY:
            raise TooLargeError
        return message


def _only(headers: list[tuple[str, str]], name: str) -> str | None:
    """The value of a header that is there exactly once; "" (which fits nothing) when it is there twice."""
    found = [value for key, value in headers if key == name]
    return None if not found else found[0] if len(found) == 1 else ""


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8"))


def _same_origin(headers: list[tuple[str, str]], host: str) -> bool:
    """The browser's own word where it gives one; it hides Origin (`null`) from pages that send no referrer."""
    site, origin = _only(headers, "sec-fetch-site"), _only(headers, "origin")
    own = origin is not None and origin.lower() == f"http://{host}".lower()
    return own if site is None else site == "same-origin" and (own or origin in (None, "null"))
