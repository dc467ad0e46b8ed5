"""The `faiss` package, or an error that says how to get it."""

from __future__ import annotations

from ufo_experience.errors import ServiceError

try:
    import faiss as faiss
except ImportError as error:
    raise ServiceError("faiss is not installed: pip install faiss-cpu", code="E_MISSING_EXTRA") from error
