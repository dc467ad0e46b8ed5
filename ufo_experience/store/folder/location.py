"""Where a store lies: on a disk of this machine, or where its files are carried to others.

On a network drive the lock of the kernel may hold nobody off. A folder that OneDrive or Dropbox keeps in step is worse:
the files of one commit travel one by one, and what two machines wrote becomes a "conflicted copy". Both can be read;
writing needs the owner's word. What is known: mounts (Linux), drives and UNC paths (Windows), folders of sync programs
by what they say of themselves, and as a last resort by name. Network mounts of macOS are not recognised.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ufo_experience.errors import RefusedError
from ufo_experience.fileio.disk import Disk

NETWORK_STORE = "E_NETWORK_STORE"

_NETWORK = {
    **dict.fromkeys(("nfs", "nfs4"), "NFS"),
    **dict.fromkeys(("cifs", "smb3", "smbfs"), "SMB"),
    **dict.fromkeys(("afs", "beegfs", "ceph", "davfs", "glusterfs", "gpfs", "lustre"), "a network file system"),
    **dict.fromkeys(("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse"), "a network file system"),
    **dict.fromkeys(("fuse.glusterfs", "fuse.davfs2", "fuse.onedriver"), "a network file system"),
}
_ONE_DRIVE = ("OneDrive", "OneDriveConsumer", "OneDriveCommercial")
_NAMES = (  # a word of each folder in lower case, its name, whose it is
    ("onedrive", re.compile(r"OneDrive(?: - .+|-.+)?", re.IGNORECASE), "OneDrive"),
    ("dropbox", re.compile(r"Dropbox(?: \(.+\))?", re.IGNORECASE), "Dropbox"),
    ("drive", re.compile(r"Google ?Drive(?:-.+)?", re.IGNORECASE), "Google Drive"),
    ("cloud", re.compile(r"iCloudDrive|com~apple~CloudDocs", re.IGNORECASE), "iCloud"),
)
_UNC = re.compile(r"[\\/]{2}(?:\?[\\/]UNC[\\/]|(?![?.][\\/]))", re.IGNORECASE)
_OCTAL = re.compile(r"\\([0-7]{3})")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StorageLocation:
    """What carries the files of a folder to other machines, None for a local disk; and whether it may be written."""

    folder: str = ""
    sync_provider: str | None = None
    allowed: bool = False

    def check(self) -> None:
        """Raise `RefusedError` (`E_NETWORK_STORE`) when nobody has allowed writing here."""
        if self.sync_provider and not self.allowed:
            raise RefusedError(
                f"{self.folder} lies on {self.sync_provider}, where records can be lost or written twice; move the "
                "store to a local disk, or pass --allow-network-store (setting allow_network_store)",
                code=NETWORK_STORE,
            )


LOCAL = StorageLocation()


def storage_location(
    folder: Path, disk: Disk, *, allowed: bool = False, environment: Mapping[str, str] | None = None
) -> StorageLocation:
    """Where `folder` lies, it need not exist yet. Warns, once in a process, of a folder that is not local."""
    sync_provider = _sync_provider(folder, disk, os.environ if environment is None else environment)
    if sync_provider is None:
        return LOCAL
    _warn_once(str(folder), sync_provider)
    return StorageLocation(str(folder), sync_provider, allowed)


@lru_cache(maxsize=256)
def _warn_once(folder: str, sync_provider: str) -> None:
    _log.warning("%s lies on %s: have one machine write to it, and keep a copy elsewhere", folder, sync_provider)


def _sync_provider(folder: Path, disk: Disk, environment: Mapping[str, str]) -> str | None:
    path = os.path.realpath(folder)
    if disk.windows and (_UNC.match(str(folder)) or disk.on_network_drive(folder)):
        return "a network drive"
    network = _NETWORK.get(_file_system(path, _mounts(disk)))
    if network:
        return network
    for root, name in _synced_folders(environment):
        if _is_below(path, os.path.realpath(root)):
            return name
    parts, lowered = Path(path).parts, path.lower()
    near = ((pattern, name) for word, pattern, name in _NAMES if word in lowered)
    return next((name for pattern, name in near if any(pattern.fullmatch(part) for part in parts)), None)


def _mounts(disk: Disk) -> str:
    """The mount table; empty where there is none, or it cannot be read: a folder is then taken for local."""
    try:
        return disk.mounts()
    except OSError:
        return ""


def _file_system(path: str, mounts: str) -> str:
    """The type of the file system `path` lies on, as `/proc/self/mountinfo` has it: the deepest, then the latest."""
    deepest, kind = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if len(fields) < 5:
            continue
        point = fields[4]
        if "\\" in point:
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), point)
        if len(point) >= deepest and _is_below(path, point):
            deepest, kind = len(point), rest[0]
    return kind


def _synced_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Folders that sync programs say they look after."""
    yield from ((environment[name], "OneDrive") for name in _ONE_DRIVE if environment.get(name))
    homes = [(environment.get(name), "Dropbox") for name in ("APPDATA", "LOCALAPPDATA")]
    homes += [(environment.get(name), ".dropbox") for name in ("HOME", "USERPROFILE")]
    for home, name in homes:
        if home:
            yield from ((path, "Dropbox") for path in _dropbox_folders(Path(home) / name / "info.json"))


def _dropbox_folders(file: Path) -> list[str]:
    """The folders Dropbox names in its own file; none when that cannot be read."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    accounts = said.values() if isinstance(said, dict) else ()
    paths = [account.get("path") for account in accounts if isinstance(account, dict)]
    return [path for path in paths if isinstance(path, str) and path]


def _is_below(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
