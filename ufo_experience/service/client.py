"""The one place that makes and calls the `openai` client: one retry layer, one breaker, one ledger.

    service = OpenAIService(OpenAISettings.from_env())
    with service.ledger.reserve(model, input_tokens=900) as reservation:
        reply = service.call(lambda client: client.embeddings.create(…), QUERY, what="embedding the query")
        reservation.commit(reply.usage.prompt_tokens)

The client's own retries and redirects are off: 4 requests per call are the most there ever are. Every error of
`openai` and `httpx` leaves here as a `ServiceError`, and no message, log or repr holds the key.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ufo_experience.errors import ServiceError
from ufo_experience.service.connection import Bounded, Connection
from ufo_experience.service.errors import OpenAICallError, explain, http_errors
from ufo_experience.service.ledger import Ledger
from ufo_experience.service.limits import CircuitBreaker, Clock, Permit, RateLimiter, shared_breaker
from ufo_experience.service.settings import OpenAISettings as OpenAISettings

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_ATTEMPTS = 4
MAX_REFUSALS = 2  # a service that is just being started listens a moment later, another one does not
GRACE = 0.1  # seconds left to the client's own timeout, whose error says more


@dataclass(frozen=True)
class Timeouts:
    """Seconds of silence one attempt may take, and that all attempts and their pauses may take together.

    One attempt may take twice the timeout in all, however steadily bytes arrive.
    """

    timeout: float
    budget: float


QUERY = Timeouts(timeout=3, budget=30)
BATCH = Timeouts(timeout=30, budget=120)
SUMMARY = Timeouts(timeout=60, budget=120)


@dataclass
class _Call:
    """One logical call: what it is, until when it may go on, and its permit if it is part of a job."""

    what: str
    timeout: float
    deadline: float
    permit: Permit | None


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
        self.ledger = ledger or settings.ledger or Ledger(settings.max_cost, settings.prices)
        self.breaker = breaker or shared_breaker(settings.endpoint)
        self.rate_limiter = RateLimiter(
            settings.requests_per_minute, settings.tokens_per_minute, clock=clock, sleep=sleep
        )
        self._clock, self._sleep = clock, sleep
        self._connection = Connection(settings)
        weakref.finalize(self, self._connection.close)  # its sockets end with the service, whoever forgets it

    def call(self, send: Callable[[OpenAI], T], timeouts: Timeouts, *, what: str, permit: Permit | None = None) -> T:
        """Run `send` with a client whose timeout is set, again after faults that pass, at most 4 times in all.

        Where nobody listens at the address it is tried twice. Pauses are random (full jitter) or what the service asked
        for, and never pass the budget. `send` makes one request and may check the reply, raising `OpenAICallError`
        (`E_BAD_REPLY`) for one that is wrong.
        A call with a `permit` is part of a job: the rate limiter may delay it, which does not count against its budget,
        and it ends when the job is stopped.

        Raises:
            OpenAICallError: the last fault; `what` (such as "embedding 12 texts") opens its message.
            ServiceError: no key (`E_NO_KEY`), the breaker is open (`E_CIRCUIT_OPEN`), or the job was stopped.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        call = _Call(what, timeouts.timeout, self._clock() + timeouts.budget, permit)
        enough = stop_after_attempt(MAX_ATTEMPTS)
        retrying = Retrying(
            stop=lambda state: enough(state) or self._too_late(state, call) or _nobody_listens(state),
            wait=_pause,
            retry=retry_if_exception(lambda error: isinstance(error, OpenAICallError) and error.retryable),
            sleep=self._sleep if permit is None else lambda seconds: self.rate_limiter.sleep(seconds, permit),
            reraise=True,
        )
        reply: T = retrying(self._attempt, send, call)
        return reply

    def _attempt(self, send: Callable[[OpenAI], T], call: _Call) -> T:
        """Make one request through the breaker."""
        import openai

        # TypeError and AttributeError: the client takes it for granted that a reply has its parts (`choices: null`).
        malformed: tuple[type[Exception], ...] = (TypeError, AttributeError, RecursionError, LookupError)
        foreign: tuple[type[Exception], ...] = (openai.OpenAIError, ValueError, *malformed, *http_errors())
        if call.permit is not None:
            call.deadline += self.rate_limiter.wait(call.permit)
        probe = self.breaker.enter()
        healthy, why = False, ""
        try:
            reply = self._send(send, call)
            healthy = True
            return reply
        except ServiceError as error:
            healthy, why = not (isinstance(error, OpenAICallError) and error.outage), str(error)
            raise
        except foreign as error:
            failure = explain(error, call.what, secret=self.settings.api_key, endpoint=self.settings.endpoint)
            healthy, why = not failure.outage or self._slowed_down(failure, call), str(failure)
            raise failure from (None if failure.leaky else error)
        finally:
            self.breaker.leave(probe, healthy=healthy, why=why)

    def _send(self, send: Callable[[OpenAI], T], call: _Call) -> T:
        """Wait for one request, but not for ever."""
        left = max(0.001, call.deadline - self._clock())
        with self._connection.acquire() as lease:
            client = lease.client.with_options(timeout=min(call.timeout, left))
            self.ledger.count_request()
            request = Bounded(lambda: send(client))
            total = min(2 * call.timeout, left + GRACE)
            if not request.ends_within(total):
                self._connection.discard(lease)
                raise OpenAICallError(f"{call.what}: no complete reply within {total:.1f} seconds", code="E_TIMEOUT")
            return request.result()

    def _slowed_down(self, failure: OpenAICallError, call: _Call) -> bool:
        """Let a whole job wait when the service says that it is asked too fast: it is well, we are many."""
        if call.permit is None or failure.code != "E_RATE_LIMIT":
            return False
        self.rate_limiter.pause_all(failure.retry_after or 0.0)
        return True

    def _too_late(self, state: RetryCallState, call: _Call) -> bool:
        return self._clock() + (state.upcoming_sleep or 0.0) >= call.deadline


def _nobody_listens(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome else None
    return isinstance(error, OpenAICallError) and error.refused and state.attempt_number >= MAX_REFUSALS


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the service asked for, else random within a doubling limit."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, OpenAICallError) and error.retry_after is not None:
        return error.retry_after
    return float(wait_random_exponential(multiplier=0.5, max=8)(state))
