"""Stage 6, index: rows by words and vectors (`sqlite.py` for a folder, `postgres.py` on a server)."""

from collections.abc import Callable
from typing import cast

from ufo_experience.embed.base import Embedder
from ufo_experience.errors import UsageError
from ufo_experience.index.base import ExperienceIndex
from ufo_experience.store import scheme_of
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.folder import FolderStore


def open_index(store: ExperienceStore, embedder: Callable[[], Embedder]) -> ExperienceIndex:
    """The index of a store; a store of another package brings its own as `open_index(embedder)`, else `UsageError`."""
    if isinstance(store, FolderStore):
        from ufo_experience.index.sqlite import SqliteIndex

        return SqliteIndex(store, embedder)
    if scheme_of(store.location) == "postgresql":
        from ufo_experience.index.postgres import PostgresIndex
        from ufo_experience.store.postgres import PostgresStore

        return PostgresIndex(cast(PostgresStore, store), embedder)
    own = getattr(store, "open_index", None)
    if own is None:
        raise UsageError(f"the store at {store.location} has no index")
    index: ExperienceIndex = own(embedder)
    return index
