"""Stage 6, index: vectors to nearest ids. `open_index` opens the engine that keeps the vectors.

faiss                        in memory, saved with each generation: no server
pgvector                     in the database of a PostgreSQL store
postgresql://host/db         in a database of their own
milvus://host:port/name      in a Milvus cluster; milvus:///folder/file.db is Milvus Lite, in process
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

from ufo_experience.errors import UsageError

if TYPE_CHECKING:
    from ufo_experience.index.base import Space, VectorIndex
    from ufo_experience.index.generations import Generation
    from ufo_experience.store.base import ExperienceStore

# name, or scheme of a URL → module and class; the class has `open`
ENGINES = {
    "faiss": ("ufo_experience.index.engines.faiss", "FaissIndex"),
    "pgvector": ("ufo_experience.index.engines.pgvector", "PgvectorIndex"),
    "postgresql": ("ufo_experience.index.engines.pgvector", "PgvectorIndex"),
    "postgres": ("ufo_experience.index.engines.pgvector", "PgvectorIndex"),
    "milvus": ("ufo_experience.index.engines.milvus", "MilvusIndex"),
}


def open_index(
    engine: str, space: Space, *, store: ExperienceStore, generation: Generation | None = None
) -> VectorIndex:
    """The index of a space in an engine (a name or URL, see the text of this module).

    FAISS reads its vectors from `generation`, and begins empty without one. A server is not asked before the first
    call, and has what was put there before.

    Raises:
        UsageError: no engine has this name, or it does not go with this store.
        MissingExtraError: the package of the engine is not installed.
        CorruptError: the files of the generation cannot be used.
    """
    name = engine.partition("://")[0].lower()
    if name not in ENGINES:
        raise UsageError(f"no index engine {name!r}; known: {', '.join(ENGINES)}")
    module, title = ENGINES[name]
    index: VectorIndex = getattr(import_module(module), title).open(engine, space, store=store, generation=generation)
    return index


def without_password(engine: str) -> str:
    """The engine's URL as it may be written down; the password comes from the environment next time."""
    if "://" not in engine:
        return engine
    bare = re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", engine)
    return re.sub(r"([?&])password=[^&]*&?", r"\1", bare).rstrip("?&")
