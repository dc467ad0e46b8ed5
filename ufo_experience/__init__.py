"""Experience memory for UI agents. Start with `ExperienceMemory.open`; `ufo_experience.public` lists all names."""

__version__ = "0.1.0"

from ufo_experience.public import *  # noqa: F403
from ufo_experience.public import __all__ as _public

__all__ = [*_public, "__version__"]
