"""What can go wrong when the OpenAI service is called, told apart: what passes, what stays, what is an outage."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from ufo_experience.errors import ServiceError

_PASSING = frozenset({"E_TIMEOUT", "E_CONNECTION", "E_RATE_LIMIT", "E_SERVER"})
_OUTAGES = _PASSING | {"E_NOT_JSON", "E_BAD_REPLY", "E_REDIRECT"}
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"max_tokens_per_request", "context_length_exceeded", "string_above_max_length"})
_BY_STATUS = {401: "E_AUTH", 403: "E_AUTH", 404: "E_NO_MODEL", 408: "E_TIMEOUT", 409: "E_SERVER", 413: "E_TOO_LONG"}
_REASON_LENGTH = 300
_WORDS = {
    "E_NO_KEY": "no key is set",
    "E_AUTH": "the service refused the key (401 or 403)",
    "E_CONNECTION": "the service could not be reached (connection refused or lost)",
    "E_CIRCUIT_OPEN": "the service failed again and again (out of reach, or with a fault of its own)",
    "E_TIMEOUT": "the service did not answer in time",
    "E_RATE_LIMIT": "the service was asked too often (429)",
    "E_QUOTA": "the quota of the account is used up (429)",
    "E_NO_MODEL": "the service does not know the model (404)",
    "E_SERVER": "the service has a fault of its own",
    "E_BUDGET": "the cap on costs leaves no room for another request",
    "E_NO_PRICE": "a cap on costs is set, and the price of the model is unknown",
    "E_NO_BOOKS": "a cap on the costs of a day is set, and the file that counts them cannot be used",
    "E_LENGTH": "the model was cut off before its answer ended, as one that reasons at length: name another",
    "E_MISSING_EXTRA": "a package is not installed",
}


class OpenAICallError(ServiceError):
    """A call failed. `code` says how:

    `E_TIMEOUT` `E_CONNECTION` `E_RATE_LIMIT` `E_SERVER` pass by themselves and are tried again;
    `E_QUOTA` `E_AUTH` `E_NO_MODEL` `E_BAD_REQUEST` `E_TOO_LONG` do not;
    `E_NOT_JSON` `E_REDIRECT` `E_BAD_REPLY` are a service that does not keep to the protocol;
    `E_LENGTH` `E_CONTENT_FILTER` `E_BAD_CONTENT` are replies of a model that cannot be used.
    `tokens` is (input, output) where the reply was billed and says so; `retry_after` is in seconds.
    `refused` is set when nobody listens at the address, which is known at once and seldom passes.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        retry_after: float | None = None,
        tokens: tuple[int, int] | None = None,
        leaky: bool = False,
        refused: bool = False,
    ) -> None:
        super().__init__(message, code=code)
        self.status, self.retry_after, self.tokens, self.leaky = status, retry_after, tokens, leaky
        self.refused = refused

    @property
    def retryable(self) -> bool:
        """True when the same request may succeed later."""
        return self.code in _PASSING

    @property
    def outage(self) -> bool:
        """True when the service itself is unwell, which the breaker counts."""
        return self.code in _OUTAGES


def in_words(code: str) -> str:
    """What a call failed with, by its code alone: no word of the service or of a request is in it."""
    return _WORDS.get(code, f"the service could not answer ({code if code.isidentifier() else 'unknown'})")


def explain(error: Exception, what: str, secret: str | None = None, endpoint: str = "") -> OpenAICallError:
    """Translate an error of `openai` or `httpx`, or a reply that cannot be read, without the secret in its words.

    A connection that was refused names its `endpoint`. `leaky` is set when the original's words hold the secret: it
    must not be chained then.
    """
    import openai

    if isinstance(error.__cause__, OpenAICallError):  # older clients wrap what our response hook raised
        return error.__cause__
    text = str(error)
    reason = text.replace(secret, "***") if secret else text
    reason = " ".join(reason.split())[:_REASON_LENGTH] or type(error).__name__
    refusal = _refusal(error)
    if refusal:
        reason = f"{refusal}: {endpoint}" if endpoint else refusal
    code, status, retry_after, tokens = _classify(error), None, None, None
    if isinstance(error, openai.APIStatusError):
        status, retry_after = error.status_code, seconds_to_wait(error.response.headers)
    elif isinstance(error, openai.LengthFinishReasonError) and error.completion.usage:
        tokens = (error.completion.usage.prompt_tokens, error.completion.usage.completion_tokens)
    leaky = secret is not None and secret in text
    return OpenAICallError(
        f"{what}: {reason}",
        code=code,
        status=status,
        retry_after=retry_after,
        tokens=tokens,
        leaky=leaky,
        refused=bool(refusal),
    )


def _refusal(error: BaseException) -> str:
    """Why nobody could be reached at an address, "" where that is not what went wrong."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    if any(isinstance(one, ConnectionRefusedError) for one in causes):
        return "connection refused"
    return "no such host" if any(isinstance(one, socket.gaierror) for one in causes) else ""


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
        (ValueError, "E_BAD_CONTENT"),
        (openai.OpenAIError, "E_BAD_REPLY"),
        (TypeError, "E_BAD_CONTENT"),
        (AttributeError, "E_BAD_CONTENT"),
        (RecursionError, "E_BAD_CONTENT"),
        (LookupError, "E_BAD_CONTENT"),
    ):
        if isinstance(error, kind):
            return code
    return "E_CONNECTION"


def _classify_status(status: int, code: str, words: str) -> str:
    if code in _TOO_LONG or (status in (400, 429) and _says_too_long(words)):
        return "E_TOO_LONG"
    if status == 429:
        return "E_QUOTA" if code in _QUOTA else "E_RATE_LIMIT"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "E_SERVER"
    return "E_REDIRECT" if status < 400 else "E_BAD_REQUEST"


def _says_too_long(words: str) -> bool:
    """Compatible services word the token limit in their own way, without a code."""
    return "request too large" in words or ("maximum" in words and "token" in words)


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What `retry-after-ms` or `Retry-After` (seconds, or a date) asks for; None when neither says anything usable."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0.0 <= seconds < float("inf"):
            return seconds
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())


def http_errors() -> tuple[type[Exception], ...]:
    """The error roots of the HTTP libraries the client has loaded (`httpx2`, or `httpx` in older versions)."""
    return tuple(sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules)
