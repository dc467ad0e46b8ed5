"""Finding or making a store folder. Only making one writes anything."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from ufo_experience.errors import CorruptError, DataError, FormatVersionError, RefusedError
from ufo_experience.ids import is_id, new_id
from ufo_experience.store.atomic import Disk, make_folder, publish_new, storage_errors, sync_folder, write_temp
from ufo_experience.store.codec import decode, encode
from ufo_experience.store.layout import NOT_FOUND, RECORDS, STATUS, STORE_FILE, TOMBSTONES, Layout
from ufo_experience.store.place import LOCAL, Place
from ufo_experience.store.seal import Seal

STORE_FORMAT = 1


def open_layout(
    root: Path, disk: Disk, *, create: bool, seal: Seal | None = None, place: Place = LOCAL
) -> tuple[Layout, str]:
    """The layout and id of the store in `root`. Raises as `FileStore.open`."""
    with storage_errors(root):
        if root.exists() and not root.is_dir():
            raise DataError("not a folder", file=str(root))
    layout = Layout(root, disk, _owner(root), seal)
    store_id = _read_id(layout)
    if store_id is None:
        if not create:
            raise DataError("no experience store here", file=str(root), code=NOT_FOUND)
        place.check()
        _create(root, disk)
        layout = Layout(root, disk, _owner(root), seal)
        store_id = _read_id(layout)
    if store_id is None:
        raise CorruptError("disappeared as soon as it was written", file=str(root / STORE_FILE))
    for name in (RECORDS, STATUS, TOMBSTONES):
        if layout.is_link(root / name):
            raise RefusedError(f"{root / name} is a link; the folders of a store must be its own")
    return layout, store_id


def _create(root: Path, disk: Disk) -> None:
    """Make the folders, then the store file: without it there is no store. Of two makers the first one counts."""
    for folder in reversed([root, *root.parents]):
        with storage_errors(folder):
            missing = not folder.exists()
        if missing:
            make_folder(folder, disk)
    for name in (RECORDS, STATUS, TOMBSTONES):
        make_folder(root / name, disk)
    now = datetime.now(timezone.utc).isoformat()
    data = encode({"format": STORE_FORMAT, "store_id": new_id(), "created_at": now})
    publish_new(write_temp(root / STORE_FILE, [data], disk), root / STORE_FILE, disk)
    sync_folder(root, disk)


def _read_id(layout: Layout) -> str | None:
    """The id in the store file, None when there is no such file."""
    path = layout.root / STORE_FILE
    data = layout.read(path)
    if data is None:
        return None
    payload = decode(data, file=str(path))
    version = payload.get("format")
    if isinstance(version, int) and version > STORE_FORMAT:
        raise FormatVersionError(f"store format {version} is newer than {STORE_FORMAT}", file=str(path))
    if version != STORE_FORMAT or not is_id(payload.get("store_id")):
        raise CorruptError("not a store file", file=str(path))
    return str(payload["store_id"])


def _owner(root: Path) -> int:
    """The user the folder belongs to; 0 while it does not exist."""
    return os.stat(root).st_uid if root.exists() else 0
