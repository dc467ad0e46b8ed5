"""Embeddings of a hosted model: OpenAI, Azure, or a compatible service."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ufo_experience.embed.base import Kind, Spending, Vectors, unit_rows
from ufo_experience.errors import ServiceError, UsageError
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import MAX_TEXT
from ufo_experience.service import BATCH, QUERY, Access, Service

MAX_INPUTS = 512  # of one request: the service allows 2,048, and what is there is kept as it comes
MAX_REQUEST_TOKENS = 250_000  # the service allows 300,000; the rest is room for a wrong estimate
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_BLANK = "(empty)"  # stands in for a blank text, which the service refuses
_SMALLEST_CUT = 64  # characters; a shorter text that is still too long is no text

Piece = tuple[slice, Vectors]


class OpenAIEmbedder:
    """A hosted model; `dimensions` asks for shorter vectors. Thread-safe."""

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

    def batches(self, texts: Sequence[str]) -> list[slice]:
        """`texts` in pieces of one request each."""
        slices: list[slice] = []
        start = tokens = 0
        for position, text in enumerate(texts):
            size = estimate_tokens(text)
            if position > start and (position - start == MAX_INPUTS or tokens + size > MAX_REQUEST_TOKENS):
                slices.append(slice(start, position))
                start, tokens = position, 0
            tokens += size
        return [*slices, slice(start, len(texts))] if len(texts) > start else slices

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """See `Embedder`; a blank text is embedded as `(empty)`. Raises what the service raises."""
        found = [vectors for _, vectors in self.pieces(texts, kind)]
        return np.concatenate(found) if found else np.empty((0, self.dim or 0), np.float32)

    def pieces(self, texts: Sequence[str], kind: Kind = "document") -> Iterator[Piece]:
        """One request after the other; where one times out, all that follow are as small as the one that did not."""
        inputs = [text[:MAX_TEXT] if text.strip() else _BLANK for text in texts]
        for piece in self.batches(inputs):
            yield from self._embed(inputs, piece, kind)

    def _embed(self, inputs: Sequence[str], piece: slice, kind: Kind) -> Iterator[Piece]:
        """Embed one piece. What is too long for the service, or takes it too long, is halved."""
        texts = inputs[piece]
        if len(texts) <= self._most:
            try:
                yield piece, self._request(texts, kind)
                return
            except ServiceError as error:
                if not self._halves(error, texts, kind):
                    raise
        if len(texts) == 1:
            for _, vectors in self._embed([texts[0][: len(texts[0]) // 2]], slice(0, 1), kind):
                yield piece, vectors
            return
        middle = piece.start + len(texts) // 2
        for half in (slice(piece.start, middle), slice(middle, piece.stop)):
            yield from self._embed(inputs, half, kind)

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
