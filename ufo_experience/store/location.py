"""Where a folder lies: writing to a network drive or a synced folder needs the owner's word.

On a network drive the lock of the kernel may hold nobody off; OneDrive or Dropbox carry the files of one commit one by
one, and what two machines wrote becomes a "conflicted copy". Both can be read.
"""

import os
import re
import shlex
from functools import lru_cache
from pathlib import Path

from ufo_experience.errors import RefusedError

_NETWORK = re.compile(  # types of file systems, as mounts name them
    r"nfs|cifs|smb|afs|beegfs|ceph|dav|gluster|gpfs|lustre|fuse\.(sshfs|rclone|s3fs|gcsfuse|gluster|dav|onedrive)"
)
_SYNCED = re.compile(
    r"(onedrive|dropbox|google ?drive|icloud|iclouddrive|com~apple~clouddocs)( - .*| \(.*|-pers.*)?", re.IGNORECASE
)
_PLAIN = re.compile(r"[\w:/\\.~+-]+")  # needs no quotes in a shell of Windows
_MOUNTS = Path("/proc/self/mountinfo")


def quoted(location: str) -> str:
    """A location as a shell of this system takes it, in a command to copy."""
    if os.name != "nt":
        return shlex.quote(location)
    end = "\\" * (len(location) - len(location.rstrip("\\")))  # else the last one would belong to the quote
    return location if _PLAIN.fullmatch(location) else f'"{location}{end}"'


def check_writable(folder: Path, allowed: bool) -> None:
    """Raise `RefusedError` (`E_NETWORK_STORE`) for a folder that is carried to others, unless that is allowed."""
    carrier = None if allowed else carried_by(folder)
    if carrier:
        raise RefusedError(
            f"{folder} lies on {carrier}, where records can be lost or written twice; move the store to a local disk, "
            "or pass --allow-network-store (setting allow_network_store)",
            code="E_NETWORK_STORE",
        )


@lru_cache(maxsize=256)
def carried_by(folder: Path) -> str | None:
    """What carries the files of a folder to other machines; None for a local disk. It need not exist yet."""
    path = os.path.realpath(folder)
    if os.name == "nt" and re.match(r"\\\\\?\\UNC|\\\\[^?]", path):
        return "a network drive"
    if _NETWORK.match(_file_system(path)):
        return "a network file system"
    return next((part for part in Path(path).parts if _SYNCED.fullmatch(part)), None)


def _file_system(path: str) -> str:
    """The type of the file system `path` lies on, as Linux tells it: of the deepest mount; "" where nobody tells."""
    try:
        mounts = _MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return ""
    deepest, kind = "", ""
    for before, _, after in (line.partition(" - ") for line in mounts.splitlines()):
        point = before.split(" ")[4].replace("\\040", " ").rstrip("/")
        if len(point) >= len(deepest) and f"{path}/".startswith(f"{point}/"):
            deepest, kind = point, after.partition(" ")[0]
    return kind
