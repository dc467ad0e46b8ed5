"""Stage 4, store: experiences in a folder or a database, chosen by a path or URL.

Another package adds a store with an entry point of the group `ufo_experience.stores`: its name is the scheme of the
URL, its object is called as `open(location, create=…)`.
"""

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ufo_experience.errors import UsageError, needs_extra
from ufo_experience.store.base import Added, Event, ExperienceStore, StoreReport
from ufo_experience.store.folder import FolderStore

__all__ = ["Added", "Event", "ExperienceStore", "FolderStore", "StoreReport", "open_store", "scheme_of"]

GROUP = "ufo_experience.stores"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,40})://")  # two letters or more: C:\… is a path
_POSTGRES = ("postgresql", "postgres")


def open_store(location: str | Path, **options: Any) -> ExperienceStore:
    """Open the store at a folder or URL, making it first if allowed. Only making it writes anything.

    `location` is the path of a folder, `postgresql://user@host:5432/database` (the password belongs into `PGPASSWORD`
    or `~/.pgpass`), or a URL of another package's store. `options` are `create` (default True), and `lock_timeout`,
    seconds a write waits for another writer.

    Raises:
        NotFoundError: no store there, and `create` is False.
        DataError, StorageError, ServiceError: another version made it; it cannot be made; no server lets us in.
        RefusedError: its folders are links to somewhere else.
        UsageError: no store has this kind of URL.
    """
    scheme = scheme_of(location)
    if not scheme:
        return FolderStore.open(location, **options)
    if scheme in _POSTGRES:
        with needs_extra("postgres"):
            from ufo_experience.store.postgres import PostgresStore

        return PostgresStore.open(str(location), **options)
    others = entry_points(group=GROUP)
    if scheme not in others.names:
        known = ", ".join(f"{name}://" for name in (*_POSTGRES, *others.names))
        raise UsageError(f"no store opens {scheme}:// URLs; known: the path of a folder, {known}")
    store: ExperienceStore = others[scheme].load()(str(location), **options)
    return store


def scheme_of(location: str | Path) -> str:
    """The scheme of a URL in lower case; empty for the path of a folder."""
    match = _URL.match(location) if isinstance(location, str) else None
    return match[1].lower() if match else ""
