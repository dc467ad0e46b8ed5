"""Telling whether a record comes from a given log, however its path is spelled."""

from __future__ import annotations

import posixpath
import re

from ufo_experience.schema import Provenance


def is_from(provenance: Provenance, source: str) -> bool:
    """True when `source` is the record's source or session: the same text, or the same path in another spelling."""
    if not source:
        return False
    wanted = {source, _normal(source)}
    return any(name in wanted or _normal(name) in wanted for name in (provenance.source, provenance.session) if name)


def _normal(text: str) -> str:
    """A path with forward slashes, without `.`, `..` and trailing slash; a Windows path without case."""
    path = posixpath.normpath(text.replace("\\", "/"))
    return path.casefold() if re.match(r"[A-Za-z]:/", path) else path
