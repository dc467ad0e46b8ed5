"""Embeddings of ONNX and static models by fastembed (an extra): real models without torch."""

from __future__ import annotations

import importlib.util
import json
import os
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

_MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")


class FastEmbedder:
    """`model` is a name that fastembed knows, downloaded once, or a folder with an ONNX model and its tokenizer in the
    layout of sentence-transformers. Loaded at first use.

    Names are kept in `FASTEMBED_CACHE_PATH`, else below the home folder: fastembed's own choice is a temporary one.

    Raises:
        MissingExtraError: fastembed is not installed.
    """

    asymmetric = True  # some models prefix queries and documents differently

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingExtraError("fastembed", "fastembed")
        self.model = model
        self._loaded: Any = None
        self._dim: int | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> FastEmbedder:
        """Build from a model's name or folder."""
        if not rest:
            raise UsageError("a fastembed embedder needs a model: fastembed:BAAI/bge-small-en-v1.5, or a folder")
        return cls(rest)

    @property
    def name(self) -> str:
        """`fastembed:<model>`."""
        return f"fastembed:{self.model}"

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
        found = model.query_embed(list(texts)) if kind == "query" else model.passage_embed(list(texts))
        return unit_rows(list(found), len(texts), self.name)

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model(self.model)
            return self._loaded


def _load_model(model: str) -> Any:
    from fastembed import TextEmbedding

    folder = Path(model).expanduser()
    try:
        if folder.is_dir():
            _register(folder)
            return TextEmbedding(str(folder), specific_model_path=str(folder))
        kept = os.environ.get("FASTEMBED_CACHE_PATH") or str(Path.home() / ".cache" / "fastembed")
        return TextEmbedding(model, cache_dir=kept)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ServiceError(f"cannot load the model {model!r}: {error}", code="E_MODEL") from error


def _register(folder: Path) -> None:
    """Tell fastembed of the model of a folder, once: it only loads what it knows by name.

    Raises:
        OSError, ValueError, KeyError: the folder does not say what is needed.
    """
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(known["model"].lower() == str(folder).lower() for known in TextEmbedding.list_supported_models()):
        return
    model_file = next((name for name in _MODEL_FILES if (folder / name).is_file()), None)
    if model_file is None:
        raise ValueError(f"no {' or '.join(_MODEL_FILES)} in the folder")
    pooling = folder / "1_Pooling" / "config.json"
    by_first = pooling.is_file() and _read(pooling).get("pooling_mode_cls_token", False)
    TextEmbedding.add_custom_model(
        model=str(folder),
        pooling=PoolingType.CLS if by_first else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url=folder.resolve().as_uri()),
        dim=int(_read(folder / "config.json")["hidden_size"]),
        model_file=model_file,
    )


def _read(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values
