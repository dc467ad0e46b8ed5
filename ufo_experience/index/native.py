"""The `faiss` package, loaded when it is first needed, or an error that says how to get it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ufo_experience.errors import ServiceError


@cache
def load_faiss() -> Any:
    """The package; its import takes 40 ms. Raises `ServiceError` where it is missing."""
    try:
        return import_module("faiss")
    except ImportError as error:
        raise ServiceError("faiss is not installed: pip install faiss-cpu", code="E_MISSING_EXTRA") from error
