"""Embeddings from OpenAI, Azure OpenAI or any service that speaks the same protocol.

Requests are planned by count and tokens; a reply is believed only after its count, order, dimension and numbers
were checked. Retries, timeouts, breaker and cost cap are those of `openai_client`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ufo_experience.embedding.base import Kind, Spending, Vectors
from ufo_experience.errors import UsageError
from ufo_experience.openai_service.client import BATCH, QUERY, OpenAIService, OpenAISettings
from ufo_experience.openai_service.errors import OpenAICallError

if TYPE_CHECKING:
    from openai import OpenAI

MAX_INPUTS = 2_048
MAX_REQUEST_TOKENS = 250_000  # the service allows 300,000; the rest is room for a wrong estimate
MAX_INPUT_TOKENS = 8_191
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_BLANK = "(empty)"  # stands in for a blank text, which the service refuses
_SMALLEST_CUT = 64
_LEAST_NORM = 1e-6


class OpenAIEmbedder:
    """A hosted model. `dimensions` asks the service for shorter vectors; without it the model's own length is used.

    A model this package does not know tells its length with its first reply. `shortened` counts the texts that
    were cut to the model's limit. Thread-safe, except that `spending` may then miscount.
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
        self._dim = dimensions or DIMENSIONS.get(model)
        self._spending = Spending()

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
        if self._dim is None:
            self.embed(["length"], kind="query")
        if self._dim is None:
            raise OpenAICallError(f"{self.name}: the length of its vectors stays unknown", code="E_BAD_REPLY")
        return self._dim

    @property
    def spending(self) -> Spending:
        """What this embedder has asked for so far."""
        return self._spending

    def batches(self, texts: Sequence[str]) -> Iterator[slice]:
        """Cut `texts` into the pieces one request may hold, by count and by estimated tokens."""
        start = tokens = 0
        for position, text in enumerate(texts):
            size = min(estimate_tokens(text), MAX_INPUT_TOKENS)
            if position > start and (position - start == MAX_INPUTS or tokens + size > MAX_REQUEST_TOKENS):
                yield slice(start, position)
                start, tokens = position, 0
            tokens += size
        if len(texts) > start:
            yield slice(start, len(texts))

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows. A blank text is embedded as `(empty)`.

        Raises:
            ServiceError: the service cannot answer, refuses, or answers wrongly.
            BudgetError: the cap would be passed; nothing was sent.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        inputs = [self._fit(text) for text in texts]
        return np.concatenate([self._embed_batch(inputs[piece], kind) for piece in self.batches(inputs)])

    def _fit(self, text: str) -> str:
        """Cut a text to what a model takes."""
        if estimate_tokens(text) <= MAX_INPUT_TOKENS:
            return text if text.strip() else _BLANK
        self.shortened += 1
        return text.encode("utf-8", "replace")[:MAX_INPUT_TOKENS].decode("utf-8", "ignore")

    def _embed_batch(self, inputs: Sequence[str], kind: Kind) -> Vectors:
        """Embed one request's worth. What is too long for the service is halved, never sent again as it was."""
        try:
            return self._request(inputs, kind)
        except OpenAICallError as error:
            if error.code != "E_TOO_LONG":
                raise
            if len(inputs) > 1:
                middle = len(inputs) // 2
                return np.concatenate(
                    [self._embed_batch(inputs[:middle], kind), self._embed_batch(inputs[middle:], kind)]
                )
            if len(inputs[0]) < _SMALLEST_CUT:
                raise
        self.shortened += 1
        return self._embed_batch([inputs[0][: len(inputs[0]) // 2]], kind)

    def _request(self, inputs: Sequence[str], kind: Kind) -> Vectors:
        estimate = sum(map(estimate_tokens, inputs))
        options: dict[str, Any] = {"dimensions": self.dimensions} if self.dimensions else {}
        with self._service.ledger.reserve(self.model, estimate) as bill:

            def send(client: OpenAI) -> Vectors:
                self._spending.requests += 1
                raw = client.embeddings.with_raw_response.create(
                    model=self.model, input=list(inputs), encoding_format="base64", **options
                )
                reply = json.loads(raw.http_response.content)
                tokens = _tokens_used(reply, estimate)
                self._spending.tokens += tokens
                self._spending.cost += bill.settle(tokens)
                return check_reply(reply, len(inputs), self._dim)

            patience = QUERY if kind == "query" else BATCH
            vectors = self._service.call(send, patience, what=f"embedding {len(inputs)} text(s) with {self.name}")
        self._dim = vectors.shape[1]
        return vectors


class AzureEmbedder(OpenAIEmbedder):
    """A deployment on Azure; its name takes the place of the model's."""

    @classmethod
    def from_spec(cls, rest: str, settings: OpenAISettings | None) -> OpenAIEmbedder:
        """Build from `<deployment>` or `<deployment>:<dimensions>`."""
        return cls(*_parse(rest, "azure:my-deployment"), settings=settings, provider="azure")


def estimate_tokens(text: str) -> int:
    """A ceiling: no token of these models is shorter than a byte of UTF-8."""
    return len(text.encode("utf-8", "replace"))


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
