"""The one place that makes and calls the `openai` client: one retry layer, one breaker, one ledger.

    service = OpenAIService(OpenAISettings.from_env())
    with service.ledger.reserve(model, input_tokens=900) as bill:
        reply = service.call(lambda client: client.embeddings.create(…), QUERY, what="embedding the query")
        bill.settle(reply.usage.prompt_tokens)

The client's own retries and redirects are off: 4 requests per call are the most there ever are. Every error of
`openai` and `httpx` leaves here as a `ServiceError`, and no message, log or repr holds the key.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ufo_experience.errors import ServiceError
from ufo_experience.openai_service.breaker import CircuitBreaker, Clock, shared_breaker
from ufo_experience.openai_service.errors import OpenAICallError, explain, http_errors
from ufo_experience.openai_service.prices import Ledger
from ufo_experience.openai_service.settings import OpenAISettings as OpenAISettings
from ufo_experience.openai_service.settings import has_key as has_key

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_ATTEMPTS = 4


@dataclass(frozen=True)
class Patience:
    """Seconds that one attempt may take, and that all attempts and pauses may take together."""

    timeout: float
    budget: float


QUERY = Patience(timeout=3, budget=30)
BATCH = Patience(timeout=30, budget=120)
SUMMARY = Patience(timeout=60, budget=120)


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
