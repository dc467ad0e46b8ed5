"""Where the generations of a store's index are kept, and which engine keeps its vectors."""

from __future__ import annotations

from importlib import import_module

from ufo_experience.errors import UsageError
from ufo_experience.index.generation import Generations
from ufo_experience.store import scheme_of
from ufo_experience.store.base import ExperienceStore

AUTO = "auto"

# scheme of the store's location → module and class; the class has `open(store)`
_HOMES = {
    "": ("ufo_experience.index.generation", "Generations"),
    "postgresql": ("ufo_experience.index.shared_generations", "SharedGenerations"),
}


def open_generations(store: ExperienceStore, engine: str = AUTO, *, lock_timeout: float = 10.0) -> Generations:
    """The generations of a store's index: in its folder, or in its database.

    `engine` "auto" is the one of the last generation; for a new index the one that goes with the store.

    Raises:
        UsageError: no index can be kept beside this kind of store.
    """
    scheme = scheme_of(store.location)
    if scheme not in _HOMES:
        raise UsageError(f"no index can be kept beside a {scheme}:// store")
    module, name = _HOMES[scheme]
    generations: Generations = getattr(import_module(module), name).open(store, lock_timeout=lock_timeout)
    last = generations.last_manifest() if engine == AUTO else None
    generations.engine = last.engine if last else generations.engine if engine == AUTO else engine
    return generations
