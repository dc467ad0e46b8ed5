"""Embeddings computed on this machine (extras): models of sentence-transformers, and static ones (model2vec).

A static model is a table of word vectors: no torch, some tens of microseconds a text.
"""

import importlib.util
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ufo_experience.embed.base import Kind, Spending, Vectors, unit_rows
from ufo_experience.errors import ServiceError, UsageError, missing_extra


class _LoadedModel(ABC):
    """A model in memory, loaded at first use. A folder is kept as an absolute path, to be found from any other one."""

    provider: ClassVar[str]  # of the spec, and the extra to install
    package: ClassVar[str]
    example: ClassVar[str]

    def __init__(self, model: str) -> None:
        if not model:
            known = f"{self.provider}:{self.example}"
            raise UsageError(f"{self.provider} needs a model: {known}, or {self.provider}:<folder>")
        if importlib.util.find_spec(self.package) is None:
            raise missing_extra(self.package.replace("_", "-"), self.provider)
        folder = Path(model).expanduser()
        self.model = str(folder.absolute()) if folder.is_dir() else model
        self.name = f"{self.provider}:{self.model}"
        self.dim: int | None = None
        self.spending = Spending()
        self._loaded: Any = None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """See `Embedder`. Raises `ServiceError`: the model cannot be loaded, or gives numbers that are not finite."""
        if not texts:
            return np.empty((0, self.dim or 0), np.float32)
        vectors = unit_rows(self._embed(self._model(), list(texts), kind), len(texts), self.name, self.dim)
        self.dim = vectors.shape[1]
        return vectors

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                if Path(self.model).is_absolute() and not Path(self.model).is_dir():
                    raise ServiceError(f"cannot load the model {self.name!r}: no such folder", code="E_MODEL")
                try:
                    self._loaded = self._open(self.model)
                except (OSError, ValueError, KeyError, RuntimeError) as error:
                    raise ServiceError(f"cannot load the model {self.name!r}: {error}", code="E_MODEL") from error
            return self._loaded

    @abstractmethod
    def _open(self, model: str) -> Any:
        """Load the model from a folder or by its name."""

    @abstractmethod
    def _embed(self, model: Any, texts: list[str], kind: Kind) -> Any:
        """One row of numbers a text."""


class LocalEmbedder(_LoadedModel):
    """A sentence-transformers model, such as `all-MiniLM-L6-v2`. Code in it is never run."""

    provider, package, example = "local", "sentence_transformers", "all-MiniLM-L6-v2"

    def _open(self, model: str) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(model)

    def _embed(self, model: Any, texts: list[str], kind: Kind) -> Any:
        prompt = kind if kind in (getattr(model, "prompts", None) or {}) else None
        return model.encode(texts, prompt_name=prompt, convert_to_numpy=True, show_progress_bar=False)


class StaticEmbedder(_LoadedModel):
    """A model2vec model, such as `minishlab/potion-base-8M`; all texts of unknown words have the same vector."""

    provider, package, example = "model2vec", "model2vec", "minishlab/potion-base-8M"

    def _open(self, model: str) -> Any:
        from model2vec import StaticModel

        return StaticModel.from_pretrained(model, force_download=False)

    def _embed(self, model: Any, texts: list[str], kind: Kind) -> Any:
        found = np.array(model.encode(texts, use_multiprocessing=False), np.float32)
        found[~found.any(axis=1)] = 1.0
        return found


MODELS: dict[str, type[_LoadedModel]] = {one.provider: one for one in (LocalEmbedder, StaticEmbedder)}
