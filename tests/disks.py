"""Disks that fail, die or behave like Windows, and what lies in a folder, for the tests of the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ufo_experience.store.files import Disk

CALLS = tuple(name for name in vars(Disk) if not name.startswith("_") and callable(getattr(Disk, name)))


class UnsyncedDisk(Disk):
    """A disk that skips fsync: right as long as the machine itself does not fail, and fast."""

    def fsync(self, handle: int) -> None:
        """Do nothing."""

    def fsync_dir(self, path: Path) -> None:
        """Do nothing."""


class Killed(BaseException):
    """The process is dead. Not an `Exception`: nothing may catch it."""


class CountingDisk(UnsyncedDisk):
    """Counts calls; `before` and `after` are told the number of each, from 1."""

    def __init__(self) -> None:
        self.calls = 0
        self.names: list[str] = []

    def before(self, number: int) -> None:
        """Called before a call is made."""

    def after(self, number: int) -> None:
        """Called after it was made."""


def _counted(name: str) -> Any:
    def call(self: CountingDisk, *arguments: Any) -> Any:
        self.calls += 1
        number = self.calls
        self.names.append(name)
        self.before(number)
        result = getattr(UnsyncedDisk, name)(self, *arguments)
        self.after(number)
        return result

    return call


for _name in CALLS:
    setattr(CountingDisk, _name, _counted(_name))


class DyingDisk(CountingDisk):
    """The process dies right after call number `last`: no call after it does anything."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    def before(self, number: int) -> None:
        if number > self.last:
            raise Killed

    def after(self, number: int) -> None:
        if number >= self.last:
            raise Killed


class FailingDisk(CountingDisk):
    """Call number `bad` fails with `code`; the others work."""

    def __init__(self, bad: int, code: int) -> None:
        super().__init__()
        self.bad, self.code = bad, code

    def before(self, number: int) -> None:
        if number == self.bad:
            raise OSError(self.code, os.strerror(self.code))


class WindowsDisk(UnsyncedDisk):
    """Renaming refuses a taken name, there are no hard links, and replacing is refused `busy` times."""

    windows = True
    links = False

    def __init__(self, busy: int = 0) -> None:
        self.busy = busy
        self.slept = 0.0

    def link(self, source: Path, target: Path) -> None:
        raise AssertionError("no hard links here")

    def rename(self, source: Path, target: Path) -> None:
        if os.path.lexists(target):
            raise FileExistsError(str(target))
        super().rename(source, target)

    def replace(self, source: Path, target: Path) -> None:
        if self.busy:
            self.busy -= 1
            raise PermissionError(13, "the file is in use", str(target))
        super().replace(source, target)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leftovers(folder: Path) -> Iterator[Path]:
    """Temp files below a folder."""
    return folder.rglob("*.tmp")
