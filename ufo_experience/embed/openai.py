"""Embeddings from OpenAI, Azure OpenAI or any service that speaks the same protocol.

Requests are planned by count and tokens; a reply is believed only after its count, order, dimension and numbers
were checked. Retries, timeouts, breaker and cost cap are those of `openai_client`.
"""

from __future__ import annotations

import base64
import json
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ufo_experience.embed.base import Keep, Kind, Length, Spending, Vectors
from ufo_experience.errors import UsageError
from ufo_experience.service.client import BATCH, QUERY, OpenAIService, OpenAISettings
from ufo_experience.service.errors import OpenAICallError
from ufo_experience.service.limits import Permit, run_all
from ufo_experience.text.tokens import cut_to_tokens, estimate_tokens

if TYPE_CHECKING:
    from openai import OpenAI

MAX_INPUTS = 2_048
MAX_REQUEST_TOKENS = 250_000  # the service allows 300,000; the rest is room for a wrong estimate
MAX_INPUT_TOKENS = 8_191
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_BLANK = "(empty)"  # stands in for a blank text, which the service refuses
_SMALLEST_CUT = 64
_LEAST_NORM = 1e-6
_LEAST_PIECE = 256  # texts; fewer are not worth a request of their own, only to have several at once


class OpenAIEmbedder:
    """A hosted model. `dimensions` asks the service for shorter vectors; without it the model's own length is used.

    A model this package does not know tells its length with its first reply, unless an index has told it. `shortened`
    counts the texts that were cut to the model's limit. Thread-safe.
    """

    def __init__(
        self,
        model: str,
        dimensions: int | None = None,
        *,
        settings: OpenAISettings | None = None,
        service: OpenAIService | None = None,
        provider: Literal["openai", "azure"] = "openai",
    ) -> None:
        self.model, self.dimensions = model, dimensions
        self.shortened = 0
        self._provider = provider
        self._service = service or OpenAIService(settings or OpenAISettings.from_env(provider))
        self._length = Length(dimensions or DIMENSIONS.get(model))
        self._spending = Spending()
        self._lock = threading.Lock()

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> OpenAIEmbedder:
        """Build from `<model>` or `<model>:<dimensions>`."""
        return cls(*_parse(rest, "openai:text-embedding-3-small"), settings=settings)

    @property
    def name(self) -> str:
        """`openai:<model>`, with `:<dimensions>` when they were asked for."""
        return f"{self._provider}:{self.model}" + (f":{self.dimensions}" if self.dimensions else "")

    @property
    def dim(self) -> int:
        """Length of a vector; asks the service once if the model is unknown."""
        if self.known_dim is None:
            self.embed(["length"], kind="query")
        if self.known_dim is None:
            raise OpenAICallError(f"{self.name}: the length of its vectors stays unknown", code="E_BAD_REPLY")
        return self.known_dim

    @property
    def known_dim(self) -> int | None:
        """Length of a vector, None as long as only the service knows."""
        return self._length.known

    def expect_dim(self, dim: int) -> None:
        """Take `dim` for the length, which an index knows, unless a reply has said it: nobody need be asked."""
        self._length.expected = dim

    @property
    def service(self) -> OpenAIService:
        """The service that is asked."""
        return self._service

    @property
    def spending(self) -> Spending:
        """What this embedder has asked for so far."""
        return self._spending

    def batches(self, texts: Sequence[str]) -> Iterator[slice]:
        """Cut `texts` into the pieces one request may hold, by count and by estimated tokens.

        Many texts make at least as many pieces as are sent at once.
        """
        access = self._service.settings
        count = min(MAX_INPUTS, max(_LEAST_PIECE, math.ceil(len(texts) / access.concurrency)))
        most = min(MAX_REQUEST_TOKENS, access.tokens_per_minute or MAX_REQUEST_TOKENS)
        start = tokens = 0
        for position, text in enumerate(texts):
            size = min(estimate_tokens(text), MAX_INPUT_TOKENS)
            if position > start and (position - start == count or tokens + size > most):
                yield slice(start, position)
                start, tokens = position, 0
            tokens += size
        if len(texts) > start:
            yield slice(start, len(texts))

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows. A blank text is embedded as `(empty)`.

        Raises:
            ServiceError: the service cannot answer, refuses, or answers wrongly.
            BudgetError: a cap would be passed; nothing was sent.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        pieces: dict[int, Vectors] = {}
        self.embed_pieces(texts, kind, lambda piece, vectors: pieces.update({piece.start: vectors}))
        return np.concatenate([pieces[start] for start in sorted(pieces)])

    def embed_pieces(self, texts: Sequence[str], kind: Kind, keep: Keep) -> None:
        """Embed `texts`, documents with several requests at once; see `EmbedsPieces`."""
        inputs = [self.fit(text) for text in texts]
        stop = threading.Event()
        jobs = [partial(self._embed_piece, inputs, piece, kind, keep, stop) for piece in self.batches(inputs)]
        run_all(jobs, 1 if kind == "query" else self._service.settings.concurrency, stop)

    def fit(self, text: str) -> str:
        """Cut a text to what a model takes, as far as that can be told; what it refuses is halved."""
        cut = cut_to_tokens(text, MAX_INPUT_TOKENS)
        if len(cut) < len(text):
            self._count_shortened()
        return cut if cut.strip() else _BLANK

    def _embed_piece(self, inputs: Sequence[str], piece: slice, kind: Kind, keep: Keep, stop: threading.Event) -> None:
        """Embed one request's worth. What is too long for the service is halved, never sent again as it was."""
        texts = inputs[piece]
        try:
            keep(piece, self._request(texts, kind, stop))
            return
        except OpenAICallError as error:
            if error.code != "E_TOO_LONG" or (len(texts) == 1 and len(texts[0]) < _SMALLEST_CUT):
                raise
        if len(texts) > 1:
            middle = piece.start + len(texts) // 2
            self._embed_piece(inputs, slice(piece.start, middle), kind, keep, stop)
            self._embed_piece(inputs, slice(middle, piece.stop), kind, keep, stop)
            return
        self._count_shortened()
        half = [texts[0][: len(texts[0]) // 2]]
        self._embed_piece(half, slice(0, 1), kind, lambda _, vectors: keep(piece, vectors), stop)

    def _request(self, inputs: Sequence[str], kind: Kind, stop: threading.Event) -> Vectors:
        estimate = sum(map(estimate_tokens, inputs))
        permit = None if kind == "query" else Permit(estimate, stop)
        options: dict[str, Any] = {"dimensions": self.dimensions} if self.dimensions else {}
        with self._service.ledger.reserve(self.model, estimate) as reservation:

            def send(client: OpenAI) -> Vectors:
                self._count(requests=1)
                raw = client.embeddings.with_raw_response.create(
                    model=self.model, input=list(inputs), encoding_format="base64", **options
                )
                reply = json.loads(raw.http_response.content)
                tokens = _tokens_used(reply, estimate)
                if permit:
                    permit.tokens = tokens
                self._count(tokens=tokens, cost=reservation.commit(tokens))
                return check_reply(reply, len(inputs), self._length.said)

            timeouts = QUERY if kind == "query" else BATCH
            vectors = self._service.call(
                send, timeouts, what=f"embedding {len(inputs)} text(s) with {self.name}", permit=permit
            )
        self._length.learn(vectors.shape[1], self.name)
        return vectors

    def _count(self, requests: int = 0, tokens: int = 0, cost: float = 0.0) -> None:
        with self._lock:
            self._spending.requests += requests
            self._spending.tokens += tokens
            self._spending.cost += cost

    def _count_shortened(self) -> None:
        with self._lock:
            self.shortened += 1


class AzureEmbedder(OpenAIEmbedder):
    """A deployment on Azure; its name takes the place of the model's."""

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> OpenAIEmbedder:
        """Build from `<deployment>` or `<deployment>:<dimensions>`."""
        return cls(*_parse(rest, "azure:my-deployment"), settings=settings, provider="azure")


def check_reply(reply: Mapping[str, Any], count: int, dim: int | None) -> Vectors:
    """Turn a reply into unit rows in the order of the request.

    Raises:
        OpenAICallError: `E_BAD_REPLY`; count, indexes, dimension or numbers are wrong, or a vector has no direction.
    """
    rows = reply.get("data")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad("it holds no list of vectors")
    if len(rows) != count:
        raise _bad(f"{len(rows)} vectors for {count} texts")
    by_index = {row.get("index"): row.get("embedding") for row in rows if isinstance(row.get("index"), int)}
    if by_index.keys() != set(range(count)):
        raise _bad(f"its indexes are not 0 to {count - 1}")
    vectors = [_decode(by_index[index]) for index in range(count)]
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or (dim is not None and lengths != {dim}):
        raise _bad(f"vectors of length {sorted(lengths)}, expected {dim or 'one length'}")
    return _normalise(np.stack(vectors))


def _decode(embedding: object) -> Vectors:
    """Read base64 of little-endian float32, or a list of numbers."""
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
        vector = np.asarray(embedding, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise _bad("a vector cannot be decoded") from error
    if vector.ndim != 1:
        raise _bad("a vector is not a list of numbers")
    return vector


def _normalise(vectors: Vectors) -> Vectors:
    if not np.isfinite(vectors).all():
        raise _bad("a vector holds NaN or infinity")
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if vectors.shape[1] == 0 or norms.min() < _LEAST_NORM:
        raise _bad("a vector is zero")
    return np.asarray(vectors / norms, np.float32)


def _tokens_used(reply: Mapping[str, Any], estimate: int) -> int:
    usage = reply.get("usage")
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and tokens >= 0 else estimate


def _bad(reason: str) -> OpenAICallError:
    return OpenAICallError(f"the embeddings reply is wrong: {reason}", code="E_BAD_REPLY")


def _parse(rest: str, example: str) -> tuple[str, int | None]:
    """Split `<model>:<dimensions>`; other colons belong to the model's name."""
    model, _, last = rest.rpartition(":")
    if not (model and last.isdecimal()):
        model, last = rest, ""
    if not model or (last and int(last) < 1):
        raise UsageError(f"an embedder needs a model, and dimensions from 1 if any: {example}")
    return model, int(last) if last else None
