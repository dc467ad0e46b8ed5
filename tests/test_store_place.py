"""Where a store lies: local disks, network drives, synced folders; row 70 of the bad-input matrix."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from tests.builders import a_record
from tests.cli_runner import Cli
from tests.disks import UnsyncedDisk, tree
from ufo_experience import ExperienceMemory
from ufo_experience.errors import RefusedError
from ufo_experience.fileio.disk import Disk
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store.folder.location import LOCAL, NETWORK_STORE, StorageLocation, storage_location
from ufo_experience.store.folder.store import FileStore

LOCAL_MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /dev rw - devtmpfs udev rw
23 21 0:44 / /tmp rw - tmpfs tmpfs rw
no mount
24 21 0:45 /
"""


class MountedDisk(UnsyncedDisk):
    """A disk with a mount table of its own; `remote` drives as Windows knows them."""

    def __init__(self, *mounts: tuple[object, str], windows: bool = False, remote: bool = False) -> None:
        lines = [f"3{n} 21 0:4{n} / {point} rw shared:9 - {kind} x rw" for n, (point, kind) in enumerate(mounts)]
        self.table = LOCAL_MOUNTS + "\n".join(lines)
        self.windows, self.links, self.remote = windows, not windows, remote

    def mounts(self) -> str:
        return self.table

    def on_network_drive(self, path: Path) -> bool:
        return self.remote


def sync_provider(folder: Path, disk: Disk | None = None, **environment: object) -> str | None:
    """What `storage_location` says carries a folder."""
    return storage_location(
        folder, disk or MountedDisk(), environment={k: str(v) for k, v in environment.items()}
    ).sync_provider


# ---- what is recognised ----


@pytest.mark.parametrize(
    ("kind", "name"),
    [("nfs", "NFS"), ("nfs4", "NFS"), ("cifs", "SMB"), ("smb3", "SMB"), ("smbfs", "SMB"),
     *((kind, "a network file system") for kind in ("afs", "beegfs", "ceph", "davfs", "glusterfs", "gpfs", "lustre",
       "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.davfs2", "fuse.onedriver"))],
)  # fmt: skip
def test_a_network_file_system_is_known_by_its_mount(tmp_path, kind, name):
    """The folder need not exist yet."""
    assert sync_provider(tmp_path / "share" / "db", MountedDisk((tmp_path / "share", kind))) == name
    assert sync_provider(tmp_path / "share", MountedDisk((tmp_path / "share", kind))) == name


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "9p", "fuse.gvfsd-fuse", "fuseblk"])
def test_a_local_file_system_is_left_alone(tmp_path, kind):
    """9p is how WSL shows the disk of its own machine."""
    assert storage_location(tmp_path / "share" / "db", MountedDisk((tmp_path / "share", kind)), environment={}) == LOCAL


def test_the_deepest_and_latest_mount_counts(tmp_path):
    """A local disk mounted inside a share is local, a share over a local disk is a share; names must match whole."""
    share, inner = tmp_path / "share", tmp_path / "share" / "local"
    nested = MountedDisk((share, "nfs4"), (inner, "ext4"))
    assert sync_provider(share / "db", nested) == "NFS"
    assert sync_provider(inner / "db", nested) is None
    assert sync_provider(inner / "db", MountedDisk((inner, "ext4"), (share, "nfs4"))) is None
    assert sync_provider(share, MountedDisk((share, "ext4"), (share, "nfs4"))) == "NFS"
    assert sync_provider(share, MountedDisk((share, "nfs4"), (share, "ext4"))) is None
    assert sync_provider(tmp_path / "shared", nested) is None


def test_a_mount_point_with_spaces_and_a_link_into_it(tmp_path):
    """The table writes a space as an octal number; what a link leads to counts."""
    share = tmp_path / "our share"
    share.mkdir()
    disk = MountedDisk((str(share).replace(" ", "\\040"), "cifs"))
    assert sync_provider(share / "db", disk) == "SMB"
    (tmp_path / "link").symlink_to(share)
    assert sync_provider(tmp_path / "link" / "db", disk) == "SMB"


def test_everything_lies_on_the_root(tmp_path):
    """A machine whose whole disk is a network file system."""
    disk = MountedDisk()
    disk.table = f"21 1 8:1 / {tmp_path.anchor} rw - nfs4 server:/ rw"
    assert sync_provider(tmp_path, disk) == "NFS"
    disk.table = ""
    assert sync_provider(tmp_path, disk) is None


@pytest.mark.parametrize("name", ["OneDrive", "OneDriveConsumer", "OneDriveCommercial"])
def test_onedrive_says_where_it_is(tmp_path, name):
    """In variables of the environment."""
    assert sync_provider(tmp_path / "cloud" / "notes", **{name: tmp_path / "cloud"}) == "OneDrive"
    assert sync_provider(tmp_path / "cloudy", **{name: tmp_path / "cloud"}) is None
    assert sync_provider(tmp_path / "cloud", **{name: ""}) is None


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("HOME", ".dropbox"), ("USERPROFILE", ".dropbox"), ("APPDATA", "Dropbox"), ("LOCALAPPDATA", "Dropbox")],
)
def test_dropbox_says_where_it_is(tmp_path, variable, folder):
    """In a file of its own, for each account."""
    file = tmp_path / "home" / folder / "info.json"
    file.parent.mkdir(parents=True)
    said = {"personal": {"path": str(tmp_path / "mine"), "host": 7}, "business": {"path": str(tmp_path / "ours")}}
    file.write_text(json.dumps(said), encoding="utf-8")
    environment = {variable: tmp_path / "home"}
    assert sync_provider(tmp_path / "mine" / "db", **environment) == "Dropbox"
    assert sync_provider(tmp_path / "ours", **environment) == "Dropbox"
    assert sync_provider(tmp_path / "other", **environment) is None


@pytest.mark.parametrize(
    "said", ["", "[]", '"x"', '{"a": 1, "b": {}, "c": {"path": 5}, "d": {"path": ""}}', "\xff", "["]
)
def test_what_dropbox_says_may_be_nonsense(tmp_path, said):
    """Then nothing is known."""
    (tmp_path / ".dropbox").mkdir()
    (tmp_path / ".dropbox" / "info.json").write_bytes(said.encode("latin-1"))
    assert sync_provider(tmp_path / "db", HOME=tmp_path) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [("OneDrive", "OneDrive"), ("OneDrive - Contoso", "OneDrive"), ("OneDrive-Personal", "OneDrive"),
     ("onedrive", "OneDrive"), ("Dropbox", "Dropbox"), ("Dropbox (Work)", "Dropbox"), ("Google Drive", "Google Drive"),
     ("GoogleDrive-sam", "Google Drive"), ("iCloudDrive", "iCloud"), ("com~apple~CloudDocs", "iCloud")],
)  # fmt: skip
def test_the_name_of_a_folder_is_the_last_resort(tmp_path, name, said):
    """Whatever lies below it."""
    assert sync_provider(tmp_path / name / "a" / "db") == said


@pytest.mark.parametrize(
    "name", ["OneDriveBackup", "my OneDrive", "Dropbox2", "Dropboxes", "Drive", "Google", "iCloud"]
)
def test_a_name_that_only_looks_alike_is_local(tmp_path, name):
    """Names are compared whole."""
    assert sync_provider(tmp_path / name) is None


def test_windows_names_a_share_or_tells_a_drive():
    """UNC paths in all their forms, and drive letters of shares; a long local path is none."""
    windows = MountedDisk(windows=True)
    for share in (r"\\server\share\db", "//server/share/db", r"\\?\UNC\server\share"):
        assert sync_provider(Path(share), windows) == "a network drive"
    assert sync_provider(Path(r"\\?\C:\Users\sam"), windows) is None
    assert sync_provider(Path(r"\\.\pipe"), windows) is None
    assert sync_provider(Path("Z:/db"), windows) is None
    assert sync_provider(Path("Z:/db"), MountedDisk(windows=True, remote=True)) == "a network drive"
    assert sync_provider(Path("//server/share/db"), MountedDisk(remote=True)) is None


def test_this_machine_is_asked_without_a_fault(tmp_path):
    """The real mount table, or none; no drive letter is remote outside Windows."""
    assert storage_location(tmp_path, Disk(), environment={}) in (
        LOCAL,
        storage_location(tmp_path, Disk(), environment={}),
    )
    assert os.name == "nt" or not Disk().on_network_drive(tmp_path)
    assert sys.platform != "linux" or " / " in Disk().mounts()


# ---- what follows ----


def test_a_place_that_is_not_local_is_warned_of_once(tmp_path, caplog):
    """In a process, not at every opening."""
    share = MountedDisk((tmp_path, "nfs"))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            storage_location(tmp_path / "db", share, environment={})
    assert len(caplog.records) == 1
    assert "NFS" in caplog.text
    assert str(tmp_path / "db") in caplog.text


def test_a_share_is_read_but_not_written(tmp_path):
    """Whatever writes is refused before anything is touched; reading works."""
    FileStore.open(tmp_path, disk=UnsyncedDisk()).add([a_record(1)])
    before = tree(tmp_path)
    store = FileStore.open(tmp_path, disk=MountedDisk((tmp_path, "cifs")))
    assert [one.id for one in store.scan()] == [a_record(1).id]
    assert store.verify().records == 1
    writes = (
        lambda: store.add([a_record(2)]), lambda: store.remove([a_record(1).id]), store.set_aside_corrupt,
        lambda: store.set_status(a_record(1).id),
    )  # fmt: skip
    for write in writes:
        with pytest.raises(RefusedError, match="--allow-network-store") as caught:
            write()
        assert (caught.value.code, caught.value.exit_code) == (NETWORK_STORE, 77)
        assert "SMB" in str(caught.value)
    assert tree(tmp_path) == before


def test_no_store_is_made_on_a_share(tmp_path):
    """Not one folder."""
    with pytest.raises(RefusedError, match="NFS"):
        FileStore.open(tmp_path / "db", disk=MountedDisk((tmp_path, "nfs")))
    assert not (tmp_path / "db").exists()


def test_the_owners_word_allows_it(tmp_path):
    """The setting, its variable and the argument of `open`."""
    store = FileStore.open(tmp_path / "db", disk=MountedDisk((tmp_path, "nfs")), network=True)
    assert store.add([a_record(1)]).added == (a_record(1).id,)
    assert store.storage == StorageLocation(str(tmp_path / "db"), "NFS", allowed=True)
    assert not Settings().allow_network_store
    assert load_settings(environment={"UFO_EXPERIENCE_ALLOW_NETWORK_STORE": "true"}).allow_network_store


def test_no_index_is_published_on_a_share(tmp_path):
    """Refused before a text is embedded."""
    FileStore.open(tmp_path, disk=UnsyncedDisk()).add([a_record(1)])
    before = tree(tmp_path)
    store = FileStore.open(tmp_path, disk=MountedDisk((tmp_path, "nfs")))
    memory = ExperienceMemory(store, Settings(db=str(tmp_path), embedder="hashing"))
    with pytest.raises(RefusedError, match="NFS"):
        memory.index()
    assert tree(tmp_path) == before


def test_the_command_line_refuses_with_77_and_takes_the_flag(tmp_path, caplog):
    """`ingest` in a synced folder: one line that names the flag, nothing made; with the flag it works."""
    from ufo_experience.cli.serve import SAMPLES

    command, synced = ("ingest", SAMPLES / "settings_bluetooth"), {"OneDrive": str(tmp_path)}
    cli = Cli(tmp_path)
    refused = cli(*command, code=77, **synced)
    assert "OneDrive" in refused.stderr
    assert "--allow-network-store" in refused.stderr
    assert not (tmp_path / "experience_db").exists()
    cli(*command, "--allow-network-store", **synced)
    assert caplog.text.count("OneDrive") == 1
