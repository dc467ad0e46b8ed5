"""The PostgreSQL store: the same records in a database many agents share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "UFO_EXPERIENCE_CACHE"
_NAME = "ufo-experience"


def cache_place() -> Path:
    """The folder `UFO_EXPERIENCE_CACHE` names, else ours in the user's cache folder of this system."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / _NAME / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / _NAME
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _NAME
