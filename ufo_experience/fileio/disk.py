"""The one place that calls the operating system for the store.

Tests wrap `Disk` to make calls fail, to stop after any of them, or to behave like Windows on another system.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

_CREATE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_APPEND = (
    os.O_WRONLY | os.O_CREAT | os.O_APPEND
    | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_CHANGE = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NONBLOCK", 0)
_REMOTE_DRIVE = 4  # DRIVE_REMOTE


class Disk:
    """File-system calls as the operating system has them; each raises `OSError`."""

    windows: bool = os.name == "nt"
    links: bool = os.name != "nt"

    def create(self, path: Path) -> int:
        """Open a new file (0600) for writing; refuses one that exists, and links."""
        return os.open(path, _CREATE, 0o600)

    def open(self, path: Path) -> int:
        """Open for reading; refuses links where the platform can, never waits on a pipe."""
        return os.open(path, _READ)

    def append(self, path: Path) -> int:
        """Open for writing at the end, creating the file (0600).

        Refuses what is no regular file (a pipe nobody reads would hang), and a file that has another name elsewhere
        (a hard link would write into somebody else's).
        """
        return _own(os.open(path, _APPEND, 0o600), path)

    def change(self, path: Path) -> int:
        """Open a file that is there for reading and writing; refuses what `append` refuses."""
        return _own(os.open(path, _CHANGE), path)

    def seek(self, handle: int, offset: int) -> None:
        """Go to an offset, in bytes from the beginning."""
        os.lseek(handle, offset, os.SEEK_SET)

    def read(self, handle: int, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        return os.read(handle, size)

    def write(self, handle: int, data: bytes | memoryview) -> int:
        """Write some of `data`; returns how many bytes."""
        return os.write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(handle, size)

    def fsync(self, handle: int) -> None:
        """Return when the bytes are on the medium."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Close a handle."""
        os.close(handle)

    def fstat(self, handle: int) -> os.stat_result:
        """What the file behind a handle is."""
        return os.fstat(handle)

    def lstat(self, path: Path) -> os.stat_result:
        """What stands at `path`; a link is not followed."""
        return os.lstat(path)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name; refuses a name that is taken."""
        os.link(source, target)

    def rename(self, source: Path, target: Path) -> None:
        """Move; Windows refuses a name that is taken, others overwrite files."""
        os.rename(source, target)

    def replace(self, source: Path, target: Path) -> None:
        """Move over whatever stands at `target`."""
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a file or a link."""
        os.unlink(path)

    def rmdir(self, path: Path) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def mkdir(self, path: Path) -> bool:
        """Make a folder (0700); False when it is there already. A file or link in its place raises."""
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise
            return False
        return True

    def listdir(self, path: Path) -> list[str]:
        """Names in a folder, in no order."""
        return os.listdir(path)

    def stats_in(self, path: Path) -> dict[str, os.stat_result]:
        """Names in a folder, in no order, each with what `lstat` says of it; what goes meanwhile is left out."""
        found: dict[str, os.stat_result] = {}
        with os.scandir(path) as entries:
            for one in entries:
                with suppress(FileNotFoundError):
                    found[one.name] = os.lstat(one.path)
        return found

    def folder_mtimes(self, path: Path) -> dict[str, int]:
        """The folders in a folder, links left out, each with its time of last change (ns)."""
        with os.scandir(path) as entries:
            return {
                one.name: one.stat(follow_symlinks=False).st_mtime_ns
                for one in entries
                if one.is_dir(follow_symlinks=False)
            }

    def fsync_dir(self, path: Path) -> None:
        """Return when the names in a folder are on the medium. Windows has no such call: NTFS journals names.

        What is no folder is refused: a pipe in its place would hang.
        """
        if self.windows:
            return
        handle = os.open(path, _FOLDER)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def utime(self, path: Path, ns: int) -> None:
        """Set the time of last change, in nanoseconds."""
        os.utime(path, ns=(ns, ns))

    def mounts(self) -> str:
        """What is mounted where; other systems than Linux have no such file."""
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")

    def on_network_drive(self, path: Path) -> bool:
        """True when the drive letter of `path` stands for a folder of another machine. Windows only."""
        if sys.platform != "win32":
            return False
        import ctypes  # pragma: no cover: Windows

        drive = f"{path.absolute().drive}\\"  # pragma: no cover: Windows
        return int(ctypes.windll.kernel32.GetDriveTypeW(drive)) == _REMOTE_DRIVE  # pragma: no cover: Windows

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def _own(handle: int, path: Path) -> int:
    """The handle of a regular file without another name; of anything else it is closed and refused."""
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
        os.close(handle)
        raise OSError(errno.EPERM, "not a regular file of its own", str(path))
    return handle
