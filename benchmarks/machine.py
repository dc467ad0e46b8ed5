"""Whether the machine is quiet enough for a figure of it to be published."""

from __future__ import annotations

import os
import platform
import time

import numpy as np

MAX_LOAD = 0.5  # processes that wait or run beside this one, per core
MAX_JITTER = 1.25  # 95th percentile of the same work, as a multiple of its median
_SPINS = 40


def describe() -> str:
    """Processor, cores, system and versions, for the head of a page."""
    cores = os.cpu_count() or 1
    return f"{platform.machine()}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def why_busy(running: int = 0) -> list[str]:
    """Why times measured now say more about other programs than about this one; empty on a quiet machine.

    `running` is how many processes of this measurement count into the load average.
    """
    reasons = []
    load = (os.getloadavg()[0] - running) / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    if load > MAX_LOAD:
        reasons.append(f"load average {load:.1f} per core beside this run, {MAX_LOAD} at most")
    times = [_spin() for _ in range(_SPINS)]
    jitter = float(np.percentile(times, 95) / np.median(times))
    if jitter > MAX_JITTER:
        reasons.append(f"the same work took {jitter:.2f} times its median in the 95th percentile, {MAX_JITTER} at most")
    return reasons


def _spin(rounds: int = 100_000) -> float:
    """Seconds for a fixed piece of work of some milliseconds."""
    started = time.perf_counter()
    total = 0
    for number in range(rounds):
        total += number & 7
    return time.perf_counter() - started
