"""Stage 4, store: experiences in a folder or a database, chosen by a path or URL."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ufo_experience.errors import UsageError
from ufo_experience.store.base import Added, ExperienceStore, StoreReport

__all__ = ["Added", "ExperienceStore", "StoreReport", "open_store", "scheme_of"]

# scheme → module and class; the class has `open(location, **options)`
_STORES = {
    "": ("ufo_experience.store.folder.store", "FileStore"),
    "file": ("ufo_experience.store.folder.store", "FileStore"),
    "postgresql": ("ufo_experience.store.postgres.store", "PostgresStore"),
    "postgres": ("ufo_experience.store.postgres.store", "PostgresStore"),
}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,40})://")  # two letters or more: C:\… is a path


def open_store(location: str | Path, **options: Any) -> ExperienceStore:
    """Open the store at a folder or URL. `options` go to the store's own `open` (`FileStore.open`: create, …).

    Raises:
        UsageError: no store has this kind of URL.
    """
    scheme = scheme_of(location)
    if scheme not in _STORES:
        known = ", ".join(f"{name}://" for name in _STORES if name)
        raise UsageError(f"no store opens {scheme}:// URLs; known: the path of a folder, {known}")
    module, name = _STORES[scheme]
    target = _file_path(str(location)) if scheme == "file" else location
    store: ExperienceStore = getattr(import_module(module), name).open(target, **options)
    return store


def scheme_of(location: str | Path) -> str:
    """The scheme of a URL in lower case; empty for the path of a folder."""
    match = _URL.match(location) if isinstance(location, str) and "://" in location else None
    return match[1].lower() if match else ""


def _file_path(url: str) -> str:
    """The path of `file:///folder`, or of `file://folder` for one relative to here."""
    from urllib.request import url2pathname

    parts = urlsplit(url)
    return url2pathname(parts.netloc + parts.path)
