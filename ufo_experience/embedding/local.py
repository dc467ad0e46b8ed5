"""Embeddings computed on this machine by a sentence-transformers model (an extra)."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ufo_experience.embedding.base import Kind, Spending, Vectors
from ufo_experience.errors import MissingExtraError, ServiceError, UsageError

if TYPE_CHECKING:
    from ufo_experience.openai_api.client import OpenAISettings


class LocalEmbedder:
    """`model` is a name (`all-MiniLM-L6-v2`) or a folder. It is loaded at first use; code in it is never run.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
    """

    asymmetric = True  # some models prefix queries and documents differently

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "local")
        self.model = model
        self._loaded: Any = None
        self._dim: int | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> LocalEmbedder:
        """Build from a model's name or folder."""
        if not rest:
            raise UsageError("a local embedder needs a model: local:all-MiniLM-L6-v2, or local:<folder>")
        return cls(rest)

    @property
    def name(self) -> str:
        """`local:<model>`."""
        return f"local:{self.model}"

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model."""
        if self._dim is None:
            self._dim = int(self.embed(["length"]).shape[1])
        return self._dim

    @property
    def spending(self) -> Spending:
        """Nothing: no service is asked."""
        return Spending()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows.

        Raises:
            ServiceError: the model cannot be loaded, or gives numbers that are not finite.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        model = self._load()
        prompt = kind if kind in (getattr(model, "prompts", None) or {}) else None
        vectors = np.asarray(
            model.encode(list(texts), prompt_name=prompt, convert_to_numpy=True, show_progress_bar=False), np.float32
        )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            raise ServiceError(f"{self.name} gave a vector that is zero or not finite", code="E_MODEL")
        return np.asarray(vectors / norms, np.float32)

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model(self.model)
            return self._loaded


def _load_model(model: str) -> Any:
    from sentence_transformers import SentenceTransformer

    folder = Path(model).expanduser()
    try:
        return SentenceTransformer(str(folder) if folder.is_dir() else model)
    except (OSError, ValueError, RuntimeError) as error:
        raise ServiceError(f"cannot load the local model {model!r}: {error}", code="E_MODEL") from error
