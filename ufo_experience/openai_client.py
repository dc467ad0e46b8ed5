"""The one place that makes and calls the `openai` client: settings, one retry layer, one breaker, one ledger.

    service = OpenAIService(OpenAISettings.from_env())
    with service.ledger.reserve(model, input_tokens=900) as bill:
        reply = service.call(lambda client: client.embeddings.create(…), QUERY, what="embedding the query")
        bill.settle(reply.usage.prompt_tokens)

The client's own retries and redirects are off: 4 requests per call are the most there ever are. Every error of
`openai` and `httpx` leaves here as a `ServiceError`, and no message, log or repr holds the key.
"""

from __future__ import annotations

import ipaddress
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from ufo_experience.breaker import CircuitBreaker, Clock, shared_breaker
from ufo_experience.errors import RefusedError, ServiceError, UsageError
from ufo_experience.openai_errors import OpenAICallError, explain, http_errors
from ufo_experience.prices import PRICES, Ledger, Price

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_ATTEMPTS = 4
PUBLIC_URL = "https://api.openai.com/v1"
AZURE_API_VERSION = "2024-10-21"


@dataclass(frozen=True)
class Patience:
    """Seconds that one attempt may take, and that all attempts and pauses may take together."""

    timeout: float
    budget: float


QUERY = Patience(timeout=3, budget=30)
BATCH = Patience(timeout=30, budget=120)
SUMMARY = Patience(timeout=60, budget=120)


@dataclass(frozen=True)
class OpenAISettings:
    """How to reach the service. Immutable; the key is stripped and kept out of `repr`.

    `azure_endpoint` makes it an Azure client; `prices` (US dollars per million tokens) and `max_cost` (per run)
    feed the ledger.

    Raises:
        RefusedError: an address that is neither https nor on this machine, is link-local, or holds credentials.
        UsageError: a key that cannot be one.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str = PUBLIC_URL
    organization: str | None = None
    project: str | None = None
    azure_endpoint: str | None = None
    api_version: str = AZURE_API_VERSION
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=lambda: PRICES, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_key", _clean_key(self.api_key))
        _check_url(self.endpoint)

    @classmethod
    def from_env(
        cls,
        provider: Literal["openai", "azure"] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **given: Any,
    ) -> OpenAISettings:
        """Read the environment; what is `given` wins.

        `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`; for Azure `AZURE_OPENAI_API_KEY`,
        `AZURE_OPENAI_ENDPOINT` and `OPENAI_API_VERSION`. Without a `provider`, Azure is meant when only it is set.
        """
        env = os.environ if environ is None else environ
        if provider is None:
            only_azure = env.get("AZURE_OPENAI_ENDPOINT") and not env.get("OPENAI_API_KEY")
            provider = "azure" if only_azure else "openai"
        found = {name: env.get(variable, "").strip() for name, variable in _VARIABLES[provider].items()}
        found = {name: value for name, value in found.items() if value}
        if provider == "azure" and "azure_endpoint" not in {**found, **given}:
            raise UsageError("Azure needs its endpoint: set AZURE_OPENAI_ENDPOINT")
        return cls(**{**found, **given})

    @property
    def endpoint(self) -> str:
        """The address in use; callers of one address share a breaker."""
        return (self.azure_endpoint or self.base_url).rstrip("/")

    @property
    def is_local(self) -> bool:
        """True when the service runs on this machine, where no key is needed."""
        return _is_loopback(urlsplit(self.endpoint).hostname or "")

    def has_key(self) -> bool:
        """True when a key is configured."""
        return self.api_key is not None


_VARIABLES: dict[str, dict[str, str]] = {
    "openai": {
        "api_key": "OPENAI_API_KEY",
        "base_url": "OPENAI_BASE_URL",
        "organization": "OPENAI_ORG_ID",
        "project": "OPENAI_PROJECT_ID",
    },
    "azure": {
        "api_key": "AZURE_OPENAI_API_KEY",
        "azure_endpoint": "AZURE_OPENAI_ENDPOINT",
        "api_version": "OPENAI_API_VERSION",
    },
}


def has_key(environ: Mapping[str, str] | None = None) -> bool:
    """True when the environment holds a key for OpenAI itself."""
    return OpenAISettings.from_env("openai", environ=environ).has_key()


class OpenAIService:
    """Calls one endpoint. Thread-safe; the client is made at the first call.

    `ledger` counts requests, tokens and cost; share one to put several users under the same cap. `clock` and
    `sleep` are for tests.
    """

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        ledger: Ledger | None = None,
        breaker: CircuitBreaker | None = None,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self.ledger = ledger or Ledger(settings.max_cost, settings.prices)
        self.breaker = breaker or shared_breaker(settings.endpoint)
        self._clock, self._sleep = clock, sleep
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def call(self, send: Callable[[OpenAI], T], patience: Patience, *, what: str) -> T:
        """Run `send` with a client whose timeout is set, again after faults that pass, at most 4 times in all.

        Pauses are random (full jitter) or what the service asked for, and never pass the budget. `send` makes one
        request and may check the reply, raising `OpenAICallError` (`E_BAD_REPLY`) for one that is wrong.

        Raises:
            OpenAICallError: the last fault; `what` (such as "embedding 12 texts") opens its message.
            ServiceError: no key (`E_NO_KEY`), or the breaker is open (`E_CIRCUIT_OPEN`).
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        deadline = self._clock() + patience.budget
        retrying = Retrying(
            stop=lambda state: stop_after_attempt(MAX_ATTEMPTS)(state) or self._too_late(state, deadline),
            wait=_pause,
            retry=retry_if_exception(lambda error: isinstance(error, OpenAICallError) and error.retryable),
            sleep=self._sleep,
            reraise=True,
        )
        reply: T = retrying(self._attempt, send, patience.timeout, deadline, what)
        return reply

    def _attempt(self, send: Callable[[OpenAI], T], timeout: float, deadline: float, what: str) -> T:
        """Make one request through the breaker."""
        import openai

        client = self._connect().with_options(timeout=max(0.001, min(timeout, deadline - self._clock())))
        foreign: tuple[type[Exception], ...] = (openai.OpenAIError, ValueError, *http_errors())
        probe = self.breaker.enter()
        healthy = False
        try:
            self.ledger.count_request()
            reply = send(client)
            healthy = True
            return reply
        except ServiceError as error:
            healthy = not (isinstance(error, OpenAICallError) and error.outage)
            raise
        except foreign as error:
            failure = explain(error, what, secret=self.settings.api_key)
            healthy = not failure.outage
            raise failure from (None if failure.leaky else error)
        finally:
            self.breaker.leave(probe, healthy=healthy)

    def _too_late(self, state: RetryCallState, deadline: float) -> bool:
        return self._clock() + (state.upcoming_sleep or 0.0) >= deadline

    def _connect(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = _make_client(self.settings)
                weakref.finalize(self, self._client.close)  # its sockets end with the service, whoever forgets it
            return self._client


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the service asked for, else random within a doubling limit."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, OpenAICallError) and error.retry_after is not None:
        return error.retry_after
    return float(wait_random_exponential(multiplier=0.5, max=8)(state))


def _make_client(settings: OpenAISettings) -> OpenAI:
    import openai

    if not (settings.has_key() or settings.is_local):
        variable = "AZURE_OPENAI_API_KEY" if settings.azure_endpoint else "OPENAI_API_KEY"
        raise ServiceError(f"no key: set {variable}, or work offline with the hashing embedder", code="E_NO_KEY")
    shared: dict[str, Any] = {
        "api_key": settings.api_key or "none",
        "organization": settings.organization,
        "max_retries": 0,
        "http_client": openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=not settings.is_local,  # a proxy cannot reach this machine's loopback
            event_hooks={"response": [_require_json]},
        ),
    }
    if settings.azure_endpoint:
        return openai.AzureOpenAI(azure_endpoint=settings.azure_endpoint, api_version=settings.api_version, **shared)
    return openai.OpenAI(base_url=settings.base_url, project=settings.project, **shared)


def _require_json(response: Any) -> None:
    """Refuse a page that a proxy or a wrong address served as success; an error status goes its usual way."""
    if not response.is_success or response.request.url.path.endswith("/content"):
        return
    start = response.read().lstrip()[:1]
    if start != b"{":
        kind = response.headers.get("content-type", "no content type")
        raise OpenAICallError(f"the reply is not a JSON object but {kind}: is the address right?", code="E_NOT_JSON")


def _clean_key(key: str | None) -> str | None:
    """Strip the newline a file or shell left behind; an empty key is no key."""
    clean = (key or "").strip()
    if not all("!" <= character <= "~" for character in clean):
        raise UsageError("the API key holds a space or a character that no key has (its value is not shown)")
    return clean or None


def _check_url(url: str) -> None:
    """Let pass https, and http to this machine."""
    try:
        parts = urlsplit(url)
        port_is_number = parts.port is None or parts.port > 0
    except ValueError as error:
        raise RefusedError("the base URL is not a URL") from error
    where = f"{parts.scheme}://{parts.hostname or ''}"
    for wrong, reason in _url_faults(url, parts):
        if wrong or not port_is_number:
            raise RefusedError(f"base URL {where} refused: {reason}")


def _url_faults(url: str, parts: SplitResult) -> list[tuple[bool, str]]:
    host = parts.hostname or ""
    return [
        (not url.isprintable() or " " in url or "\\" in url, "it holds a space, a backslash or a control character"),
        (not host, "it has no host"),
        (parts.username is not None or parts.password is not None, "it holds credentials"),
        (bool(parts.query or parts.fragment), "it holds a query or fragment"),
        (_is_internal(host), "the address is link-local or not a host's"),
        (parts.scheme not in ("https", "http"), "only https is allowed"),
        (parts.scheme == "http" and not _is_loopback(host), "http is allowed to this machine only, use https"),
    ]


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _is_internal(host: str) -> bool:
    address = _address(host)
    return address is not None and (address.is_link_local or address.is_multicast or address.is_unspecified)
