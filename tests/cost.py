"""What work costs, measured so that a busy machine changes nothing: lines executed, and growth of processor time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

FACTOR = 8
LINEAR = 3 * FACTOR  # growth above this is no noise: quadratic work grows by 64


def lines_executed(work: Callable[[], object]) -> int:
    """How many lines of Python run in `work`; what NumPy or SQLite do inside one call counts as one."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], object], size: int) -> float:
    """Processor time at `8 * size` divided by that at `size`: about 8 for linear work, 64 for quadratic.

    Clocks are coarse and machines are busy: a size that takes less than one millisecond is grown first, and the
    smallest of four measurements counts where the first is not linear.
    """
    while (small := _seconds(work, size, times=2)) < 0.001:
        size *= 2
    smallest = _seconds(work, FACTOR * size) / small
    for _ in range(3):
        if smallest < LINEAR:
            break
        smallest = min(smallest, _seconds(work, FACTOR * size, times=3) / _seconds(work, size, times=3))
    return smallest


def _seconds(work: Callable[[int], object], size: int, times: int = 1) -> float:
    seconds = []
    for _ in range(times):
        began = time.process_time()
        work(size)
        seconds.append(time.process_time() - began)
    return min(seconds)
