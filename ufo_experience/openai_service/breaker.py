"""A circuit breaker: after several failures the service is left alone for a while, then tried once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from ufo_experience.errors import ServiceError

Clock = Callable[[], float]


class CircuitBreaker:
    """Closed → (`failures` within `window` seconds) → open for `rest` seconds → one probe → closed or open again.

    Thread-safe. `clock` counts seconds and never goes back.
    """

    def __init__(
        self, *, failures: int = 5, window: float = 60.0, rest: float = 30.0, clock: Clock = time.monotonic
    ) -> None:
        self._limit, self._window, self._rest, self._clock = failures, window, rest, clock
        self._failed_at: deque[float] = deque()
        self._opened_at: float | None = None
        self._probing = False
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """True while calls are refused."""
        with self._lock:
            return self._refuses()

    def enter(self) -> bool:
        """Ask leave for one attempt; pass the answer (is it the probe?) to `leave`.

        Raises:
            ServiceError: `E_CIRCUIT_OPEN`; at once, without a request.
        """
        with self._lock:
            if self._refuses():
                raise ServiceError("the service failed repeatedly and is being left alone", code="E_CIRCUIT_OPEN")
            self._probing = self._opened_at is not None
            return self._probing

    def leave(self, probe: bool, *, healthy: bool) -> None:
        """Report how the attempt ended: `healthy` when the service answered, if only to refuse the request."""
        with self._lock:
            if probe:
                self._probing = False
                self._opened_at = None if healthy else self._clock()
            elif not healthy and self._opened_at is None:
                self._count_failure()

    def _refuses(self) -> bool:
        if self._opened_at is None:
            return False
        return self._probing or self._clock() - self._opened_at < self._rest

    def _count_failure(self) -> None:
        now = self._clock()
        self._failed_at.append(now)
        while now - self._failed_at[0] > self._window:
            self._failed_at.popleft()
        if len(self._failed_at) >= self._limit:
            self._opened_at = now
            self._failed_at.clear()


_shared: dict[str, CircuitBreaker] = {}
_shared_lock = threading.Lock()


def shared_breaker(endpoint: str) -> CircuitBreaker:
    """The breaker of this process for an endpoint: whoever calls the same service shares it."""
    with _shared_lock:
        return _shared.setdefault(endpoint, CircuitBreaker())
