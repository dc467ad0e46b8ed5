"""The one way to a model: OpenAI, Azure and whatever speaks the same language, with retries, limits and cost caps.

    service = Service(Access.from_env())
    service.chat([{"role": "user", "content": "Is this the same task?"}], model="gpt-4.1-mini", timeout=5)

`openai` talks, tenacity tries again. `timeout` is what one request may take in all, however steadily bytes arrive. A
service that fails `IN_A_ROW` times is left alone for a while, so a service that hangs costs a minute and not the night.
Every error of `openai` and `httpx` leaves here as a `ServiceError`; no message, log or repr holds the key.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from ufo_experience.costs import Ledger
from ufo_experience.errors import RefusedError, ServiceError, UsageError
from ufo_experience.request import estimate_tokens

if TYPE_CHECKING:
    from openai import OpenAI
    from pydantic import BaseModel
    from tenacity import RetryCallState

    M = TypeVar("M", bound=BaseModel)

T = TypeVar("T")
Provider = Literal["openai", "azure"]
Message = Mapping[str, Any]

DEFAULT_CHAT = "gpt-4.1-mini"
QUERY, BATCH, SUMMARY = 5.0, 30.0, 60.0  # seconds for a question, for many texts, for a model that writes
ATTEMPTS = 4  # of one call
PAUSES = 120.0  # seconds a call of a job may wait between its attempts: services ask for up to a minute
IN_A_ROW, REST = 4, 30.0  # failed attempts after which a service is left alone, and for how many seconds
LONGEST_PAUSE = 8.0  # seconds between two attempts, unless the service asks for more
OUTPUT_TOKENS = 3_000  # most answers take ten; a model that reasons first needs room for that, too
MAX_REPLY = 40 * 1024 * 1024  # bytes: 2,048 vectors of 3,072 numbers in base64 are 34 MB

PUBLIC_URL = "https://api.openai.com/v1"
AZURE_API_VERSION = "2024-10-21"
PRIVATE_ENDINGS = (".local", ".internal", ".lan", ".home.arpa", ".localdomain")  # no public name ends so

_log = logging.getLogger(__name__)


# ---------------------------------------------------------------- where, and with which key


@dataclass(frozen=True)
class Access:
    """Where a service is and how to get in; the key is kept out of `repr`.

    `azure_endpoint` makes it Azure. `allow_http` is the owner's word that a service in a private network may be asked
    without TLS: texts and key then travel in clear.

    Raises:
        RefusedError: an address that is neither https nor on this machine, is link-local, or holds credentials.
        UsageError: a key that cannot be one.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str = PUBLIC_URL
    azure_endpoint: str | None = None
    allow_http: bool = False

    def __post_init__(self) -> None:
        key = (self.api_key or "").strip()  # a file or shell leaves a newline behind
        if not all("!" <= character <= "~" for character in key):
            raise UsageError("the API key holds a space or a character that no key has (its value is not shown)")
        object.__setattr__(self, "api_key", key or None)
        variable = "AZURE_OPENAI_ENDPOINT" if self.azure_endpoint else "OPENAI_BASE_URL"
        _check_url(self.endpoint, self.allow_http, variable)

    @classmethod
    def from_env(
        cls, provider: Provider | None = None, *, environ: Mapping[str, str] | None = None, **given: Any
    ) -> Access:
        """Read `OPENAI_API_KEY` and `OPENAI_BASE_URL`, or `AZURE_OPENAI_API_KEY` and `AZURE_OPENAI_ENDPOINT`.

        What is `given` wins. Without a `provider`, Azure is meant when only it is set.
        """
        env = os.environ if environ is None else environ
        only_azure = env.get("AZURE_OPENAI_ENDPOINT") and not env.get("OPENAI_API_KEY")
        azure = provider == "azure" or (provider is None and bool(only_azure))
        names = {"api_key": "OPENAI_API_KEY", "base_url": "OPENAI_BASE_URL"}
        if azure:
            names = {"api_key": "AZURE_OPENAI_API_KEY", "azure_endpoint": "AZURE_OPENAI_ENDPOINT"}
        found = {field: env.get(variable, "").strip() for field, variable in names.items()}
        known = {**{name: value for name, value in found.items() if value}, **given}
        if azure and "azure_endpoint" not in known:
            raise UsageError("Azure needs its endpoint: set AZURE_OPENAI_ENDPOINT")
        return cls(**known)

    @property
    def endpoint(self) -> str:
        """The address in use."""
        return (self.azure_endpoint or self.base_url).rstrip("/")

    @property
    def is_local(self) -> bool:
        """True when the service runs on this machine, where no key is needed."""
        return _place_of(urlsplit(self.endpoint).hostname or "") == "here"

    @property
    def is_usable(self) -> bool:
        """True when there is a key, or none is needed."""
        return self.api_key is not None or self.is_local


def _check_url(url: str, allow_http: bool, variable: str) -> None:
    """Let pass https, http to this machine, and if the owner says so http to a private network."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise RefusedError(f"the base URL is no URL ({variable})") from error
    place = _place_of(host)
    safe = parts.scheme == "https" or place == "here" or (allow_http and place == "inside")
    cure = ", or --allow-http-service (setting allow_http_service)" if place == "inside" else ""
    where = f"{parts.scheme}://{host}" if host or "@" in url else repr(url[:100])  # never its credentials
    for wrong, reason in (
        (not url.isprintable() or " " in url or "\\" in url, "it holds a space, a backslash or a control character"),
        (not host or port == 0, "it has no host, or no port"),
        (parts.username is not None or parts.password is not None, "it holds credentials"),
        (parts.query or parts.fragment, "it holds a query or fragment"),
        (place == "nowhere", "the address is link-local or not a host's"),
        (parts.scheme not in ("https", "http"), "only https is allowed"),
        (not safe, f"http is allowed to this machine only; use https{cure}"),
    ):
        if wrong:
            raise RefusedError(f"base URL {where} refused ({variable}): {reason}")


def _place_of(host: str) -> Literal["here", "inside", "outside", "nowhere"]:
    """Where a host is: on this machine, inside a private network (also by a name that only such a network resolves)."""
    try:
        given = ipaddress.ip_address(host)
    except ValueError:
        inside = "." not in host or host.lower().endswith(PRIVATE_ENDINGS)
        return "here" if host == "localhost" else "inside" if inside else "outside"
    address = getattr(given, "ipv4_mapped", None) or given
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return "nowhere"
    return "here" if address.is_loopback else "inside" if address.is_private else "outside"


class Breaker:
    """Refuses attempts for `REST` seconds after `IN_A_ROW` of them failed in a row; then one may try. Thread-safe."""

    def __init__(self) -> None:
        self._failures, self._open_until, self._why = 0, 0.0, ""
        self._lock = threading.Lock()

    def attempt(self, act: Callable[[], T]) -> T:
        """Do it and note how it ended; `ServiceError` (`E_CIRCUIT_OPEN`) at once while the service is left alone."""
        with self._lock:
            now = time.monotonic()
            if self._failures >= IN_A_ROW and now < self._open_until:
                alone = f"the service failed {self._failures} times in a row and is left alone for {REST:.0f} seconds"
                raise ServiceError(f"{alone}, the last time with: {self._why}", code="E_CIRCUIT_OPEN")
            self._open_until = now + REST  # whoever comes next finds it closed: this one tries for all
        failure = ""
        try:
            return act()
        except ServiceError as error:
            failure = str(error) if error.code in _OUTAGES - {"E_RATE_LIMIT"} else ""
            raise
        finally:
            with self._lock:
                self._failures, self._why = (self._failures + 1, failure) if failure else (0, "")
                self._open_until = time.monotonic() + REST


_breakers: dict[str, Breaker] = {}  # whoever asks the same address shares one


class Service:
    """Asks one service. Thread-safe; the client is made at the first request.

    Share a `ledger` to put several services under one cap. A call that is part of a job obeys what the service asks it
    to wait, and inside `waiting` outlasts an outage; a question answers soon or fails soon.
    """

    def __init__(
        self,
        access: Access | None = None,
        *,
        ledger: Ledger | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.access = access or Access.from_env()
        self.ledger = ledger or Ledger()
        self.breaker = _breakers.setdefault(self.access.endpoint, Breaker())
        self._sleep, self._patience = sleep, 0.0
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Let the calls of jobs outlast an outage of so many seconds."""
        before, self._patience = self._patience, seconds
        try:
            yield
        finally:
            self._patience = before

    def chat(
        self,
        messages: Sequence[Message],
        *,
        model: str = DEFAULT_CHAT,
        timeout: float = SUMMARY,
        max_tokens: int = OUTPUT_TOKENS,
        schema: type[BaseModel] | None = None,
        job: bool = False,
    ) -> str:
        """What the model answers, as text; with a `schema`, JSON that fits it.

        Raises:
            ServiceError: no answer within `timeout` seconds, or none that can be used (`E_REFUSAL`, `E_LENGTH`, …).
            BudgetError: a cap would be passed; nothing was sent.
        """
        options: dict[str, Any] = {"messages": list(messages), "max_completion_tokens": max_tokens}
        if schema is not None:
            options["response_format"] = schema
        estimate = estimate_tokens(json.dumps(messages, ensure_ascii=False, default=str))
        with self.ledger.reserve(model, estimate, max_tokens) as pay:

            def send(client: OpenAI) -> str:
                raw = client.chat.completions.with_raw_response.parse(model=model, **options)
                pay(json.loads(raw.http_response.content).get("usage"))
                try:
                    choices = raw.parse().choices
                except ValueError:  # its words may repeat what was sent
                    raise ServiceError(f"{model} answered in another form than asked", code="E_BAD_CONTENT") from None
                if choices and choices[0].message.refusal:
                    raise ServiceError(f"{model} gave no answer, it refused", code="E_REFUSAL")
                if not choices or not choices[0].message.content:
                    raise ServiceError(f"{model} gave no answer", code="E_BAD_CONTENT")
                return str(choices[0].message.content)

            return self._call(send, timeout, f"asking {model}", job)

    def ask(self, messages: Sequence[Message], schema: type[M], **options: Any) -> M:
        """What the model answers, as an object of `schema`; takes and raises what `chat` does."""
        text = self.chat(messages, schema=schema, **options)
        try:
            return schema.model_validate_json(text)
        except ValueError as error:
            raise ServiceError("the model's answer does not fit what was asked for", code="E_BAD_CONTENT") from error

    def embed(
        self,
        texts: Sequence[str],
        *,
        model: str,
        dimensions: int | None = None,
        timeout: float = BATCH,
        job: bool = False,
    ) -> list[Any]:
        """The rows of one reply as they came: `{"index": 0, "embedding": …}`, base64 or numbers, in any order.

        Raises what `chat` raises.
        """
        options: dict[str, Any] = {"dimensions": dimensions} if dimensions else {}
        with self.ledger.reserve(model, sum(map(estimate_tokens, texts))) as pay:

            def send(client: OpenAI) -> list[Any]:
                raw = client.embeddings.with_raw_response.create(
                    model=model, input=list(texts), encoding_format="base64", **options
                )
                reply = json.loads(raw.http_response.content)
                pay(reply.get("usage"))
                if not isinstance(reply.get("data"), list):
                    raise ServiceError("the embeddings reply holds no list of vectors", code="E_BAD_REPLY")
                return list(reply["data"])

            return self._call(send, timeout, f"embedding {len(texts)} text(s) with {model}", job)

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _call(self, send: Callable[[OpenAI], T], timeout: float, what: str, job: bool) -> T:
        """Send, again after faults that pass; a job inside `waiting` goes on until the service is back."""
        import tenacity

        waiting = job and self._patience > 0
        end = time.monotonic() + timeout
        passing = _OUTAGES if waiting else _PASSING
        enough = tenacity.stop_after_attempt(ATTEMPTS) | tenacity.stop_before_delay(timeout + (PAUSES if job else 0))
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda error: getattr(error, "code", "") in passing),
            stop=tenacity.stop_after_delay(self._patience) if waiting else enough,
            wait=_pause,
            before_sleep=lambda now: _log.info("%s: waiting after %s", what, now.outcome and now.outcome.exception()),
            sleep=self._sleep,
            reraise=True,
        )
        guarded: Callable[..., Any] = self.breaker.attempt
        reply: T = retrying(guarded, lambda: self._attempt(send, what, timeout, None if job else end))
        return reply

    def _attempt(self, send: Callable[[OpenAI], T], what: str, timeout: float, end: float | None) -> T:
        """One request, waited for `timeout` seconds and no longer than until `end`.

        The client's own timeouts are about silence, and asking for an address has none: so it runs in a thread.
        """
        seconds = timeout if end is None else max(0.05, min(timeout, end - time.monotonic()))
        ended: Future[T] = Future()

        def work() -> None:
            failure = ServiceError(f"{what}: the request ended without a reply")
            try:
                ended.set_result(self._translated(send, what, seconds))
            except ServiceError as error:
                failure = error
            finally:
                if not ended.done():
                    ended.set_exception(failure)

        threading.Thread(target=work, name="ufo-experience-request", daemon=True).start()
        try:
            return ended.result(seconds)
        except FutureTimeout as error:
            late = f"{what}: no complete reply within {seconds:.1f} seconds"
            raise ServiceError(late, code="E_TIMEOUT") from error

    def _translated(self, send: Callable[[OpenAI], T], what: str, seconds: float) -> T:
        import openai

        client = self._open()
        http = tuple(sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules)
        # The last three: the client takes it for granted that a reply has its parts (`choices: null`).
        foreign = (openai.OpenAIError, ValueError, *http, TypeError, AttributeError, RecursionError, LookupError)
        self.ledger.count_request()
        try:
            return send(client.with_options(timeout=seconds))
        except foreign as error:
            failure = _explained(error, what, self.access)
            raise failure from (None if (self.access.api_key or "\0") in str(error) else error)

    def _open(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = _make_client(self.access)
                weakref.finalize(self, self._client.close)  # its sockets end with the service, whoever forgets it
            return self._client


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the service asked for, else random within a doubling limit."""
    import tenacity

    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ServiceError) else None
    return float(tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_PAUSE)(state)) if asked is None else asked


def _make_client(access: Access) -> OpenAI:
    import ssl

    import openai

    if not access.is_usable:
        variable = "AZURE_OPENAI_API_KEY" if access.azure_endpoint else "OPENAI_API_KEY"
        raise ServiceError(
            f"no key: set {variable}, or work offline: --embedder hashing, --summarizer extractive", code="E_NO_KEY"
        )
    # A server of this machine that speaks no TLS needs no authorities: reading them takes longer than all the rest.
    is_plain = access.is_local and urlsplit(access.endpoint).scheme == "http"
    shared: dict[str, Any] = {
        "api_key": access.api_key or "none",
        "max_retries": 0,
        "http_client": openai.DefaultHttpxClient(
            follow_redirects=False,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True,
            trust_env=not access.is_local,  # a proxy cannot reach this machine's loopback
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [_read_bounded]},
        ),
    }
    if access.azure_endpoint:
        version = os.environ.get("OPENAI_API_VERSION") or AZURE_API_VERSION
        return openai.AzureOpenAI(azure_endpoint=access.azure_endpoint, api_version=version, **shared)
    return openai.OpenAI(base_url=access.base_url, **shared)


def _read_bounded(response: Any) -> None:
    """Read a reply up to its limits of bytes and time; refuse a page that was served as success, and unpack nothing."""
    until = time.monotonic() + (response.request.extensions.get("timeout", {}).get("read") or SUMMARY)
    data = bytearray()
    for chunk in response.iter_raw():
        data += chunk
        if len(data) > MAX_REPLY or time.monotonic() > until:
            raise ServiceError("the reply is too long, or does not end", code="E_BAD_REPLY")
    response._content = bytes(data)  # what `read` would keep
    if response.is_success and not data.lstrip().startswith(b"{"):
        kind = response.headers.get("content-type", "no content type")
        raise ServiceError(f"the reply is not a JSON object but {kind}: is the address right?", code="E_NOT_JSON")


_PASSING = frozenset({"E_CONNECTION", "E_RATE_LIMIT", "E_SERVER"})  # a time-out is not tried again: it was long enough
_OUTAGES = _PASSING | {"E_TIMEOUT", "E_CIRCUIT_OPEN", "E_NOT_JSON", "E_BAD_REPLY", "E_REDIRECT"}
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"max_tokens_per_request", "context_length_exceeded", "string_above_max_length"})
_BY_STATUS = {
    **{401: "E_AUTH", 403: "E_AUTH", 404: "E_NO_MODEL", 408: "E_SERVER", 409: "E_SERVER"},
    **{413: "E_TOO_LONG", 429: "E_RATE_LIMIT"},
}


def _explained(error: Exception, what: str, access: Access) -> ServiceError:
    """Translate an error of `openai` or `httpx`, or a reply that cannot be read, without the key in its words."""
    import openai

    if isinstance(error.__cause__, ServiceError):  # some clients wrap what our hook raised
        return error.__cause__
    code = _classify(error)
    words = str(error.__cause__ or error) if code == "E_CONNECTION" else str(error)
    reason = " ".join(words.replace(access.api_key or "\0", "***").split())[:300] or type(error).__name__
    where = f" ({access.endpoint})" if code == "E_CONNECTION" else ""
    retry_after = _seconds_to_wait(error.response.headers) if isinstance(error, openai.APIStatusError) else None
    return ServiceError(f"{what}: {reason}{where}", code=code, retry_after=retry_after)


def _classify(error: Exception) -> str:
    import openai

    if isinstance(error, openai.APIStatusError):
        return _classify_status(error.status_code, error.code or error.type or "", str(error).lower())
    for kind, code in (
        (openai.APITimeoutError, "E_TIMEOUT"),
        (openai.APIConnectionError, "E_CONNECTION"),
        (openai.LengthFinishReasonError, "E_LENGTH"),
        (openai.ContentFilterFinishReasonError, "E_CONTENT_FILTER"),
        (json.JSONDecodeError, "E_NOT_JSON"),
        (openai.OpenAIError, "E_BAD_REPLY"),
        ((ValueError, TypeError, AttributeError, RecursionError, LookupError), "E_BAD_CONTENT"),
    ):
        if isinstance(error, kind):
            return code
    return "E_CONNECTION"


def _classify_status(status: int, code: str, words: str) -> str:
    """Compatible services word the token limit in their own way, without a code."""
    too_long = "request too large" in words or ("maximum" in words and "token" in words)
    if code in _TOO_LONG or (status in (400, 429) and too_long):
        return "E_TOO_LONG"
    if status == 429 and code in _QUOTA:
        return "E_QUOTA"
    otherwise = "E_SERVER" if status >= 500 else "E_REDIRECT" if status < 400 else "E_BAD_REQUEST"
    return _BY_STATUS.get(status, otherwise)


def _seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What `retry-after-ms` or `Retry-After` asks for in seconds; None when neither says a number."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "")
        if value.replace(".", "", 1).isdecimal():
            return float(value) * unit
    return None
