"""Embeddings of a static model (model2vec): a table of word vectors, no torch, some tens of microseconds a text."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ufo_experience.embedding.base import Kind, Spending, Vectors
from ufo_experience.embedding.plain import unit_rows
from ufo_experience.errors import MissingExtraError, ServiceError, UsageError

if TYPE_CHECKING:
    from ufo_experience.openai_api.client import OpenAISettings


class StaticEmbedder:
    """`model` is a folder, or a name that is downloaded once (`minishlab/potion-base-8M`). Loaded at first use.

    Raises:
        MissingExtraError: model2vec is not installed.
    """

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("model2vec") is None:
            raise MissingExtraError("model2vec", "model2vec")
        self.model = model
        self._loaded: Any = None
        self._lock = threading.Lock()

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> StaticEmbedder:
        """Build from a model's folder or name."""
        if not rest:
            raise UsageError("a static embedder needs a model: model2vec:<folder>, or model2vec:<name>")
        return cls(rest)

    @property
    def name(self) -> str:
        """`model2vec:<model>`."""
        return f"model2vec:{self.model}"

    @property
    def dim(self) -> int:
        """Length of a vector; loads the model."""
        return int(self._load().dim)

    @property
    def spending(self) -> Spending:
        """Nothing: no service is asked."""
        return Spending()

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows; all texts of unknown words have the same.

        Raises:
            ServiceError: the model cannot be loaded, or gives numbers that are not finite.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        found = np.array(self._load().encode(list(texts), use_multiprocessing=False), np.float32)
        found[~found.any(axis=1)] = 1.0
        return unit_rows(found, len(texts), self.name)

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model(self.model)
            return self._loaded


def _load_model(model: str) -> Any:
    from model2vec import StaticModel

    folder = Path(model).expanduser()
    try:
        return StaticModel.from_pretrained(str(folder) if folder.is_dir() else model, force_download=False)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ServiceError(f"cannot load the static model {model!r}: {error}", code="E_MODEL") from error
