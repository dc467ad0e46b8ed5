"""The `openai` client of one endpoint, and a bound on how long one request may take in all.

The client's timeouts are about silence: a service that sends one byte each second passes them for ever. So a request
runs in a thread of its own that is waited for only so long; then its client is discarded with all its sockets.
"""

from __future__ import annotations

import re
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ufo_experience.errors import ServiceError
from ufo_experience.service.errors import OpenAICallError
from ufo_experience.service.settings import OpenAISettings

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar("T")

MAX_REPLY = 40 * 1024 * 1024  # bytes: 2,048 vectors of 3,072 numbers in base64 are 34 MB
MAX_NESTING, MAX_PARTS = 64, 200_000  # levels; brackets and strings
MAX_QUOTES, MAX_VALUES = 1_000_000, 4_000_000  # what a value takes in memory is many times what it takes in a reply


@dataclass
class ClientLease:
    """One client, how many requests use it now, and whether it is to be closed after the last of them."""

    client: OpenAI
    users: int = 0
    discarded: bool = False


class Connection:
    """Lends the client of an endpoint, made when it is first needed. Thread-safe."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings
        self._lease: ClientLease | None = None
        self._lock = threading.Lock()

    @contextmanager
    def acquire(self) -> Iterator[ClientLease]:
        """Lend the client for one request. Raises `ServiceError` (`E_NO_KEY`) when there is no key."""
        with self._lock:
            if self._lease is None:
                self._lease = ClientLease(_make_client(self._settings))
            lease = self._lease
            lease.users += 1
        try:
            yield lease
        finally:
            with self._lock:
                lease.users -= 1
                done = lease.discarded and not lease.users
            if done:
                lease.client.close()

    def discard(self, lease: ClientLease) -> None:
        """Lend this client no more; it is closed, which ends what hangs in it, when nobody else waits for it."""
        with self._lock:
            lease.discarded = True
            if self._lease is lease:
                self._lease = None

    def close(self) -> None:
        """Close the client; the next request makes another."""
        with self._lock:
            lease, self._lease = self._lease, None
        if lease is not None:
            lease.client.close()


class Bounded(AbstractContextManager["Bounded[T]"], Generic[T]):
    """Work begun in a thread, and its result or error once it has ended."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(work,), name="ufo-experience-request", daemon=True).start()

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end; False when it has not come."""
        return self._ended.wait(seconds)

    def result(self) -> T:
        """What the work returned; raises what it raised. Only after its end."""
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self, work: Callable[[], T]) -> None:
        with self:
            self._result.append(work())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._error = error
        self._ended.set()
        return True


def _make_client(settings: OpenAISettings) -> OpenAI:
    import openai

    if not (settings.has_key() or settings.is_local):
        variable = "AZURE_OPENAI_API_KEY" if settings.azure_endpoint else "OPENAI_API_KEY"
        raise ServiceError(
            f"no key: set {variable}, or work offline: --embedder hashing, --summarizer extractive", code="E_NO_KEY"
        )
    shared: dict[str, Any] = {
        "api_key": settings.api_key or "none",
        "organization": settings.organization,
        "max_retries": 0,
        "http_client": openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not settings.is_local,  # a proxy cannot reach this machine's loopback
            verify=_trusting_nobody() if settings.endpoint.startswith("http:") and settings.is_local else True,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_bound, _require_json]},
        ),
    }
    if settings.azure_endpoint:
        return openai.AzureOpenAI(azure_endpoint=settings.azure_endpoint, api_version=settings.api_version, **shared)
    return openai.OpenAI(base_url=settings.base_url, project=settings.project, **shared)


def _trusting_nobody() -> ssl.SSLContext:
    """For addresses without TLS: reading the certificates of the system takes longer than many a request."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _bound(response: Any) -> None:
    """Let a reply be read up to `MAX_REPLY` bytes, and refuse a compressed one: none was asked for."""
    encoding = response.headers.get("content-encoding", "identity").strip().casefold()
    if encoding not in ("", "identity"):
        response.close()
        raise OpenAICallError("the reply is compressed, which was not asked for", code="E_BAD_REPLY")
    library = sys.modules[type(response).__module__.partition(".")[0]]
    response.stream = _bounded_stream(library.SyncByteStream)(response.stream)


@cache
def _bounded_stream(base: type) -> type:
    """A stream of the HTTP library in use that gives up after `MAX_REPLY` bytes, and gives what it read in one piece:
    the memory of many small ones is not all given back.
    """

    class BoundedStream(base):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            taken = bytearray()
            for chunk in self._stream:
                taken += chunk
                if len(taken) > MAX_REPLY:
                    raise OpenAICallError(f"the reply is longer than {MAX_REPLY} bytes", code="E_BAD_REPLY")
            yield bytes(taken)

        def close(self) -> None:
            self._stream.close()

    return BoundedStream


_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


def _is_deep(data: bytes) -> bool:
    """True for JSON that is nested deeper, or made of more parts, than any reply is."""
    if data.count(b'"') > MAX_QUOTES or data.count(b",") > MAX_VALUES:
        return True
    if data.count(b"[") + data.count(b"{") <= MAX_NESTING:
        return False
    depth = 0
    for parts, found in enumerate(_BRACKETS.finditer(data)):
        if found[0][:1] != b'"':
            depth += 1 if found[0] in b"[{" else -1
        if depth > MAX_NESTING or parts > MAX_PARTS:
            return True
    return False


def _require_json(response: Any) -> None:
    """Refuse a page that a proxy or a wrong address served as success; an error status goes its usual way."""
    if not response.is_success:
        return
    data = response.read()
    if _is_deep(data):
        raise OpenAICallError("the reply is nested deeper than any reply is", code="E_BAD_REPLY")
    start = data.lstrip()[:1]
    if start != b"{":
        kind = response.headers.get("content-type", "no content type")
        raise OpenAICallError(f"the reply is not a JSON object but {kind}: is the address right?", code="E_NOT_JSON")
