"""White box: end or fail at every single call an operation makes to the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.disks import CountingDisk, DyingDisk, FailingDisk, Killed
from tools.crash.operations import Bench
from ufo_experience.errors import ExperienceError

CODES = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EROFS, errno.EDQUOT, errno.EINTR)
SYNCS = {"fsync", "fsync_dir"}
_OPENS = ("create", "open", "append")


class Burying:
    """Closes what a dead process left open, so that a campaign does not run out of handles."""

    def __init__(self) -> None:
        self.handles: set[int] = set()

    def watch(self, disk: CountingDisk) -> CountingDisk:
        """Remember the handles a disk opens."""
        for name in _OPENS:
            setattr(disk, name, self._opening(getattr(disk, name)))
        close = disk.close
        disk.close = lambda handle: (close(handle), self.handles.discard(handle))[0]  # type: ignore[method-assign]
        return disk

    def _opening(self, call: Any) -> Any:
        def opened(path: Path) -> int:
            handle: int = call(path)
            self.handles.add(handle)
            return handle

        return opened

    def bury(self) -> None:
        """Close what is open."""
        for handle in self.handles:
            with suppress(OSError):
                os.close(handle)
        self.handles.clear()


class ShortDisk(FailingDisk):
    """Call number `bad`, if it is a write, takes half of the bytes."""

    def before(self, number: int) -> None:
        """Never fails."""

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Half of the bytes, once."""
        half = data[: max(1, len(data) // 2)] if self.calls + 1 == self.bad else data
        return super().write(handle, half)


def count(bench: Bench) -> CountingDisk:
    """The calls one undisturbed run makes."""
    disk = CountingDisk()
    bench.perform(bench.copy(), disk)
    return disk


def die_everywhere(bench: Bench) -> tuple[int, list[str]]:
    """End the process before the first call and after each one. Returns how often, and the faults."""
    total = count(bench).calls
    return total + 1, die(bench, range(total + 1))


def die(bench: Bench, numbers: Iterable[int]) -> list[str]:
    """End the process after each of these calls, one at a time; the faults."""
    faults = []
    for last in numbers:
        folder, burial = bench.copy(), Burying()
        with suppress(Killed):
            bench.perform(folder, burial.watch(DyingDisk(last)))
        burial.bury()
        fault = bench.fault(folder, acknowledged=False)
        faults += [f"{bench.name}, dead after call {last}: {fault}"] if fault else []
    return faults


def fail_everywhere(bench: Bench) -> tuple[int, list[str]]:
    """Let each call fail once with each error, and each write be short. Returns how often, and the faults."""
    return fail(bench, range(1, count(bench).calls + 1), CODES)


def fail(bench: Bench, numbers: Iterable[int], codes: Sequence[int]) -> tuple[int, list[str]]:
    """Let each of these calls fail once, with each of the errors; only typed ones may leave."""
    names = count(bench).names
    disks = [
        disk
        for number in numbers
        for disk in (
            *(FailingDisk(number, code) for code in codes),
            *([ShortDisk(number, 0)] if names[number - 1] == "write" else []),
        )
    ]
    faults = [_fail_once(bench, disk) for disk in disks]
    return len(disks), [fault for fault in faults if fault]


def _fail_once(bench: Bench, disk: FailingDisk) -> str:
    folder, burial = bench.copy(), Burying()
    acknowledged = False
    with suppress(ExperienceError):
        bench.perform(folder, burial.watch(disk))
        acknowledged = True
    burial.bury()
    fault = bench.fault(folder, acknowledged=acknowledged)
    name = disk.names[disk.bad - 1] if disk.bad <= disk.calls else ""
    short = isinstance(disk, ShortDisk)
    if acknowledged and name in SYNCS and not short:
        fault = fault or "success was reported after a failed fsync"
    what = "short" if short else errno.errorcode.get(disk.code, "")
    return f"{bench.name}, call {disk.bad} ({name}) {what}: {fault}" if fault else ""
