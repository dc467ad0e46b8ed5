"""Experience memory for UI agents. Start with `ExperienceMemory.open`; `ufo_experience.public` lists all names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ufo_experience.public import *  # noqa: F403


_FIRST = {"ExperienceMemory": "ufo_experience.memory"}  # what a first question needs, and nothing beside it


def __getattr__(name: str) -> Any:
    """Load the public names when the first of them is asked for: importing the package costs nothing."""
    if name in _FIRST:
        return getattr(import_module(_FIRST[name]), name)
    if not name.startswith("_") or name == "__all__":
        public = import_module("ufo_experience.public")
        if name == "__all__":
            return [*public.__all__, "__version__"]
        if name in public.__all__:
            return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    public = import_module("ufo_experience.public")
    return sorted([*public.__all__, "__version__"])
