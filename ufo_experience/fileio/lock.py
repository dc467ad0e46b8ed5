"""One writer at a time: a kernel lock, freed by the system when its holder dies, and a note of who holds it."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ufo_experience.errors import DataError, LockedError, StorageError
from ufo_experience.fileio.atomic import Disk, is_there
from ufo_experience.fileio.reading import read_file
from ufo_experience.fileio.strict_json import parse

if TYPE_CHECKING:  # it takes longer to load than a question to answer, and who only asks locks nothing
    from filelock import BaseFileLock

LOCK = ".lock"
HOLDER = f"{LOCK}.holder"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.05
_HOLDER_BYTES = 4096


class WriterLock:
    """The lock of a store folder. The note is a file of its own: Windows lets nobody read a locked one.

    The note is also how an unclean end shows: it is still there when the next writer gets the lock.
    """

    def __init__(self, root: Path, timeout: float, disk: Disk, name: str = LOCK) -> None:
        self._root, self._timeout, self._disk = root, timeout, disk
        self._path, self._holder = root / name, root / f"{name}.holder"
        self._lock: BaseFileLock | None = None
        self._making = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Hold the lock; the value says whether the writer before came to an unclean end.

        Raises:
            LockedError: another process holds it; the message names it.
            StorageError: the lock file cannot be written.
        """
        lock = self._acquire()
        try:
            left_behind = self._write_note()
            try:
                yield left_behind
            except DataError:  # the request was wrong, not the disk
                self._remove_note()
                raise
            self._remove_note()
        finally:
            lock.release()

    def _file_lock(self) -> BaseFileLock:
        from filelock import FileLock

        with self._making:
            self._lock = self._lock or FileLock(self._path, mode=0o600)
            return self._lock

    def _acquire(self) -> BaseFileLock:
        """Ask, and ask again after growing pauses: many who ask often would leave the holder no time to finish."""
        from filelock import Timeout

        deadline, pause = time.monotonic() + self._timeout, FIRST_PAUSE_S
        while True:
            try:
                self._check_file()
                lock = self._file_lock()
                lock.acquire(timeout=0)
                return lock
            except Timeout as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    holder = self._read_note()
                    raise LockedError(f"{self._root} is being written by {holder}; try again later") from error
            except OSError as error:
                raise StorageError(f"{self._path}: {error.strerror or error}") from error
            time.sleep(min(left, pause * random.uniform(0.5, 1.5)))
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def _check_file(self) -> None:
        """Refuse a lock file that is somebody else's: some versions of `filelock` empty what they lock."""
        with suppress(FileNotFoundError):
            info = self._disk.lstat(self._path)
            if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
                raise StorageError(f"{self._path}: not a regular file of its own")

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
            note = parse(data or b"{}")
        except (DataError, StorageError, OSError):
            return "another process"
        pid, host = (note.get(name) if isinstance(note, dict) else None for name in ("pid", "host"))
        return f"process {pid} on {host[:64]}" if isinstance(pid, int) and isinstance(host, str) else "another process"
