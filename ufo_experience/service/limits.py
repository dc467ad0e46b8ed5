"""How often a service is asked: a circuit breaker, a rate limiter, and several requests at once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field

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
        self._why = ""
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
                last = f", the last time with: {self._why}" if self._why else ""
                message = f"the service failed repeatedly and is left alone for {self._rest:.0f} seconds{last}"
                raise ServiceError(message, code="E_CIRCUIT_OPEN")
            self._probing = self._opened_at is not None
            return self._probing

    def leave(self, probe: bool, *, healthy: bool, why: str = "") -> None:
        """Report how the attempt ended: `healthy` when the service answered, if only to refuse it; else say `why`."""
        with self._lock:
            self._why = "" if healthy else why
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


MINUTE = 60.0
_POLL = 0.2  # seconds between two looks at the signal to stop


@dataclass
class Permit:
    """One call of a job: the tokens it may use (later: has used), and the signal of the job to stop."""

    tokens: int = 0
    stop: threading.Event = field(default_factory=threading.Event)


class RateLimiter:
    """Lets the calls of a job through as fast as the limits per minute allow. None is no limit. Thread-safe."""

    def __init__(
        self,
        requests: int | None = None,
        tokens: int | None = None,
        *,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._requests, self._tokens, self._clock, self._sleep = requests, tokens, clock, sleep
        self._taken: deque[tuple[float, Permit]] = deque()
        self._paused_until = float("-inf")
        self._lock = threading.Lock()

    def pause_all(self, seconds: float) -> None:
        """Let nobody through for a while: the service asked one caller to wait, and means all."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def wait(self, permit: Permit) -> float:
        """Wait until one more request fits; returns for how many seconds. One larger than the limit goes alone.

        Raises:
            ServiceError: `E_STOPPED`, the job was stopped meanwhile.
        """
        begun = self._clock()
        while pause := self._claim(permit):
            self.sleep(pause, permit)
        return self._clock() - begun

    def sleep(self, seconds: float, permit: Permit) -> None:
        """Sleep, unless the job is stopped: then raise as `wait`."""
        until = self._clock() + seconds
        while not permit.stop.is_set() and (left := until - self._clock()) > 0:
            self._sleep(min(left, _POLL))
        if permit.stop.is_set():
            raise ServiceError("stopped, because another request of the same job failed", code="E_STOPPED")

    def _claim(self, permit: Permit) -> float:
        """Take a place in this minute, or say how many seconds from now there may be one."""
        with self._lock:
            now = self._clock()
            while self._taken and self._taken[0][0] <= now - MINUTE:
                self._taken.popleft()
            if now < self._paused_until:
                return self._paused_until - now
            if self._taken and self._is_full(permit.tokens):
                return self._taken[0][0] + MINUTE - now
            if self._requests or self._tokens:
                self._taken.append((now, permit))
            return 0.0

    def _is_full(self, tokens: int) -> bool:
        if self._requests is not None and len(self._taken) >= self._requests:
            return True
        return self._tokens is not None and sum(permit.tokens for _, permit in self._taken) + tokens > self._tokens


def run_all(jobs: Sequence[Callable[[], object]], workers: int, stop: threading.Event) -> None:
    """Run `jobs` with up to `workers` at once; the first error stops the rest and is raised.

    What is on the wire by then is finished, so that nothing paid for is lost; what has not begun never does.
    """
    if len(jobs) <= 1 or workers == 1:
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(min(workers, len(jobs)), thread_name_prefix="ufo-experience-embed") as pool:
        try:
            for future in as_completed([pool.submit(_run_unless, stop, job) for job in jobs]):
                future.result()
        finally:
            stop.set()


def _run_unless(stop: threading.Event, job: Callable[[], object]) -> None:
    """Run a job that has not been stopped before it began; when it fails, stop the others."""
    if stop.is_set():
        return
    with ExitStack() as failed:
        failed.callback(stop.set)
        job()
        failed.pop_all()
