"""Where a folder lies: writing to a network drive or a synced folder needs the owner's word.

On a network drive the lock of the kernel may hold nobody off; OneDrive or Dropbox carry the files of one commit one by
one, and what two machines wrote becomes a "conflicted copy". Both can be read.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
from functools import lru_cache
from pathlib import Path

from ufo_experience.errors import RefusedError

NETWORK_STORE = "E_NETWORK_STORE"
_NETWORK = ("nfs", "cifs", "smb", "afs", "beegfs", "ceph", "dav", "gluster", "gpfs", "lustre")  # mounts begin so
_NETWORK_FUSE = ("sshfs", "rclone", "s3fs", "gcsfuse", "glusterfs", "davfs", "onedriver")
_SYNCED = ("onedrive", "dropbox", "google drive", "googledrive", "icloud", "iclouddrive", "com~apple~clouddocs")
_ONE_DRIVE = ("OneDrive", "OneDriveConsumer", "OneDriveCommercial")
_PLAIN = re.compile(r"[\w:/\\.~+-]+")  # needs no quotes in a shell of Windows
_MOUNTS = Path("/proc/self/mountinfo")
_log = logging.getLogger(__name__)


def quoted(location: str) -> str:
    """A location as a shell of this system takes it, in a command to copy."""
    if os.name != "nt":
        return shlex.quote(location)
    end = "\\" * (len(location) - len(location.rstrip("\\")))  # else the last one would belong to the quote
    return location if _PLAIN.fullmatch(location) else f'"{location}{end}"'


def check_writable(folder: Path, allowed: bool) -> None:
    """Raise `RefusedError` (`E_NETWORK_STORE`) for a folder that is carried to others; warn where it is allowed."""
    carrier = carried_by(folder)
    if carrier is None:
        return
    if not allowed:
        raise RefusedError(
            f"{folder} lies on {carrier}, where records can be lost or written twice; move the store to a local disk, "
            "or pass --allow-network-store (setting allow_network_store)",
            code=NETWORK_STORE,
        )
    _warn_once(str(folder), carrier)


@lru_cache(maxsize=256)
def _warn_once(folder: str, carrier: str) -> None:
    _log.warning("%s lies on %s: have one machine write to it, and keep a copy elsewhere", folder, carrier)


@lru_cache(maxsize=256)
def carried_by(folder: Path) -> str | None:
    """What carries the files of a folder to other machines; None for a local disk. It need not exist yet."""
    path = os.path.realpath(folder)
    if os.name == "nt" and (
        (path.startswith("\\\\") and not path.startswith("\\\\?\\")) or path.startswith("\\\\?\\UNC")
    ):
        return "a network drive"
    if _is_network(_file_system(path)):
        return "a network file system"
    if any(root and _is_below(path, os.path.realpath(root)) for root in map(os.environ.get, _ONE_DRIVE)):
        return "OneDrive"
    return next((part for part in Path(path).parts if _is_synced(part.casefold())), None)


def _is_synced(part: str) -> bool:
    """True for "onedrive", "onedrive - contoso", "dropbox (personal)"; not for "onedrive-notes.old"."""
    return part in _SYNCED or part.startswith(
        tuple(f"{name}{end}" for name in _SYNCED for end in (" -", " (", "-pers"))
    )


def _is_network(kind: str) -> bool:
    return kind.startswith(_NETWORK) or kind.removeprefix("fuse.").startswith(_NETWORK_FUSE)


def _file_system(path: str) -> str:
    """The type of the file system `path` lies on, as Linux tells it: of the deepest mount; "" where nobody tells."""
    try:
        mounts = _MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return ""
    deepest, kind = -1, ""
    for before, _, after in (line.partition(" - ") for line in mounts.splitlines()):
        fields = before.split(" ")
        point = fields[4].replace("\\040", " ") if len(fields) > 4 else ""
        if point and len(point) >= deepest and _is_below(path, point):
            deepest, kind = len(point), after.partition(" ")[0]
    return kind


def _is_below(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
