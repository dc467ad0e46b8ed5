"""Embeddings of a hosted model: OpenAI, Azure, or a compatible service."""

import base64
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ufo_experience.embed.base import Kind, Spending, Vectors, unit_rows
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import MAX_TEXT
from ufo_experience.service import BATCH, QUERY, Access, Service

MAX_INPUTS = 2_048
MAX_REQUEST_TOKENS = 250_000  # the service allows 300,000; the rest is room for a wrong estimate
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_BLANK = "(empty)"  # stands in for a blank text, which the service refuses
_SMALLEST_CUT = 64  # characters; a shorter text that is still too long is no text


class OpenAIEmbedder:
    """A hosted model; `dimensions` asks for shorter vectors. Thread-safe."""

    asks_service = True

    def __init__(
        self,
        model: str,
        dimensions: int | None = None,
        *,
        service: Service | None = None,
        provider: Literal["openai", "azure"] = "openai",
    ) -> None:
        self.model, self.dimensions = model, dimensions
        self.name = f"{provider}:{model}" + (f":{dimensions}" if dimensions else "")
        self.service = service or Service(Access.from_env(provider))
        self.dim = dimensions or DIMENSIONS.get(model)
        self._most = MAX_INPUTS  # texts of one request: less once a larger one has timed out

    @property
    def spending(self) -> Spending:
        return self.service.ledger.spending

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """See `Embedder`; a blank text is embedded as `(empty)`. Raises what the service raises."""
        inputs = [text[:MAX_TEXT] if text.strip() else _BLANK for text in texts]
        return self._embed(inputs, kind) if inputs else np.empty((0, self.dim or 0), np.float32)

    def _embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """In one request, or halved where that is too much for the service, or takes it too long."""
        if len(texts) <= self._most and sum(map(estimate_tokens, texts)) <= MAX_REQUEST_TOKENS:
            try:
                return self._request(texts, kind)
            except ServiceError as error:
                if not self._halves(error, texts, kind):
                    raise
        if len(texts) == 1:
            return self._embed([texts[0][: len(texts[0]) // 2]], kind)
        middle = len(texts) // 2
        return np.concatenate([self._embed(texts[:middle], kind), self._embed(texts[middle:], kind)])

    def _halves(self, error: ServiceError, texts: Sequence[str], kind: Kind) -> bool:
        """True when half of these texts may go through; after a time-out all others are sent as small, too."""
        if error.code == "E_TIMEOUT" and len(texts) > 1 and kind == "document":
            self._most = min(self._most, len(texts) // 2)
            return True
        return error.code == "E_TOO_LONG" and (len(texts) > 1 or len(texts[0]) >= _SMALLEST_CUT)

    def _request(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """One request; its rows are checked: their count, indexes, length and numbers (`E_BAD_REPLY`)."""
        options: dict[str, Any] = {"timeout": QUERY} if kind == "query" else {"timeout": BATCH, "job": True}
        rows = self.service.embed(texts, model=self.model, dimensions=self.dimensions, **options)
        by_index = {row.get("index"): row.get("embedding") for row in rows if isinstance(row, dict)}
        try:
            if len(rows) != len(texts) or by_index.keys() != set(range(len(texts))):
                raise ValueError(f"{len(rows)} vectors for {len(texts)} texts")
            vectors = unit_rows([_decode(by_index[at]) for at in range(len(texts))], len(texts), self.name, self.dim)
        except (ServiceError, ValueError, TypeError) as error:
            raise ServiceError(f"the embeddings reply is wrong: {error}", code="E_BAD_REPLY") from error
        self.dim = vectors.shape[1]
        return vectors


def from_spec(rest: str, service: Service | None, provider: Literal["openai", "azure"]) -> OpenAIEmbedder:
    """Build from `<model>` or `<model>:<dimensions>`; other colons belong to the model's name."""
    model, _, last = rest.rpartition(":")
    if not (model and last.isdecimal()):
        model, last = rest, ""
    if not model or (last and int(last) < 1):
        example = "openai:text-embedding-3-small" if provider == "openai" else "azure:my-deployment"
        raise UsageError(f"an embedder needs a model, and dimensions from 1 if any: {example}")
    return OpenAIEmbedder(model, int(last) if last else None, service=service, provider=provider)


def _decode(embedding: Any) -> Vectors:
    """Read base64 of little-endian float32, or a list of numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, np.float32)
