"""Embeddings of a hosted model: OpenAI, Azure, or a compatible service."""

import base64
import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
AT_ONCE = 4  # requests
_BLANK = "(empty)"  # stands in for a blank text, which the service refuses
_SMALLEST_CUT = 64  # characters; a shorter text that is still too long is no text
_LEAST_PIECE = 256  # texts; fewer are not worth a request of their own, only to have several at once

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
        """`texts` in pieces of one request each; many make at least as many as are sent at once."""
        count = min(self._most, max(_LEAST_PIECE, math.ceil(len(texts) / AT_ONCE)))
        slices: list[slice] = []
        start = tokens = 0
        for position, text in enumerate(texts):
            size = estimate_tokens(text)
            if position > start and (position - start == count or tokens + size > MAX_REQUEST_TOKENS):
                slices.append(slice(start, position))
                start, tokens = position, 0
            tokens += size
        return [*slices, slice(start, len(texts))] if len(texts) > start else slices

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """See `Embedder`; a blank text is embedded as `(empty)`. Raises what the service raises."""
        found = sorted(self.pieces(texts, kind), key=lambda piece: piece[0].start)
        return np.concatenate([vectors for _, vectors in found]) if found else np.empty((0, self.dim or 0), np.float32)

    def pieces(self, texts: Sequence[str], kind: Kind = "document") -> Iterator[Piece]:
        """Several requests at once, after a first one alone; where that times out, all are sent as small."""
        inputs = [text[:MAX_TEXT] if text.strip() else _BLANK for text in texts]
        first = self.batches(inputs)[:1]
        for piece in first:
            yield from self._embed(inputs, piece, kind)
        done = first[0].stop if first else 0
        rest = [slice(done + piece.start, done + piece.stop) for piece in self.batches(inputs[done:])]
        stop = threading.Event()
        failed: BaseException | None = None
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ufo-experience-embed") as pool:
            try:
                for job in as_completed([pool.submit(self._embed, inputs, piece, kind, stop) for piece in rest]):
                    if error := job.exception():
                        failed = failed or error
                        stop.set()
                    else:
                        yield from job.result()
            finally:
                stop.set()
        if failed:
            raise failed

    def _embed(
        self, inputs: Sequence[str], piece: slice, kind: Kind, stop: threading.Event | None = None
    ) -> list[Piece]:
        """Embed one piece, unless it is stopped. What is too long for the service, or takes it too long, is halved."""
        texts = inputs[piece]
        if stop and stop.is_set():
            return []
        if len(texts) <= self._most:
            try:
                return [(piece, self._request(texts, kind, stop))]
            except ServiceError as error:
                if not self._halves(error, texts, kind):
                    raise
        if len(texts) == 1:
            cut = self._embed([texts[0][: len(texts[0]) // 2]], slice(0, 1), kind, stop)
            return [(piece, vectors) for _, vectors in cut]
        middle = piece.start + len(texts) // 2
        halves = slice(piece.start, middle), slice(middle, piece.stop)
        return [found for half in halves for found in self._embed(inputs, half, kind, stop)]

    def _halves(self, error: ServiceError, texts: Sequence[str], kind: Kind) -> bool:
        """True when half of these texts may go through; after a time-out all others are sent as small, too."""
        if error.code == "E_TIMEOUT" and len(texts) > 1 and kind == "document":
            self._most = min(self._most, len(texts) // 2)
            return True
        return error.code == "E_TOO_LONG" and (len(texts) > 1 or len(texts[0]) >= _SMALLEST_CUT)

    def _request(self, texts: Sequence[str], kind: Kind, stop: threading.Event | None) -> Vectors:
        """One request; its rows are checked: their count, indexes, length and numbers (`E_BAD_REPLY`)."""
        options: dict[str, Any] = {"timeout": QUERY} if kind == "query" else {"timeout": BATCH, "job": True}
        rows = self.service.embed(texts, model=self.model, dimensions=self.dimensions, stop=stop, **options)
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
