"""One writer at a time: a kernel lock, freed by the system when its holder dies, and a note of who holds it."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ufo_experience.errors import DataError, LockedError, StorageError
from ufo_experience.fileio.atomic import Disk, is_there
from ufo_experience.fileio.reading import read_file

LOCK, HOLDER = ".lock", ".lock.holder"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.05
_HOLDER_BYTES = 4096


class WriterLock:
    """The lock of a store folder. The note is a file of its own: Windows lets nobody read a locked one.

    The note is also how an unclean end shows: it is still there when the next writer gets the lock.
    """

    def __init__(self, root: Path, timeout: float, disk: Disk) -> None:
        self._root, self._timeout, self._disk = root, timeout, disk
        self._holder = root / HOLDER
        self._lock = FileLock(root / LOCK)

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Hold the lock; the value says whether the writer before came to an unclean end.

        Raises:
            LockedError: another process holds it; the message names it.
            StorageError: the lock file cannot be written.
        """
        self._acquire()
        try:
            left_behind = self._write_note()
            try:
                yield left_behind
            except DataError:  # the request was wrong, not the disk
                self._remove_note()
                raise
            self._remove_note()
        finally:
            self._lock.release()

    def _acquire(self) -> None:
        """Ask, and ask again after growing pauses: many who ask often would leave the holder no time to finish."""
        deadline, pause = time.monotonic() + self._timeout, FIRST_PAUSE_S
        while True:
            try:
                self._lock.acquire(timeout=0)
                return
            except Timeout as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    holder = self._read_note()
                    raise LockedError(f"{self._root} is being written by {holder}; try again later") from error
            except OSError as error:
                raise StorageError(f"{self._root / LOCK}: {error.strerror or error}") from error
            time.sleep(min(left, pause * random.uniform(0.5, 1.5)))
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _write_note(self) -> bool:
        """Best effort: the lock holds without it. True when there was one already."""
        note = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode("ascii")
        with suppress(OSError):
            left_behind = is_there(self._holder, self._disk)
            if left_behind:
                self._disk.unlink(self._holder)
            handle = self._disk.create(self._holder)
            try:
                self._disk.write(handle, note)
            finally:
                self._disk.close(handle)
            return left_behind
        return True

    def _remove_note(self) -> None:
        with suppress(OSError):
            self._disk.unlink(self._holder)

    def _read_note(self) -> str:
        try:
            data = read_file(self._holder, self._disk, owner=os.stat(self._root).st_uid, limit=_HOLDER_BYTES)
            note = json.loads(data or b"{}")
            return f"process {int(note['pid'])} on {str(note['host'])[:64]}"
        except (DataError, StorageError, OSError, ValueError, KeyError, TypeError):
            return "another process"
