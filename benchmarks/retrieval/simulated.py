"""Odd embedders, made from any other: what a product must bear that lets people plug in what they have; and a judge of
known accuracy.

narrow    all cosines between 0.75 and 1, as of older models
shifted   a common direction on top of every vector: the mean cosine is far from 0
noisy     half of each vector is noise
low       16 dimensions: strangers are near by chance
blind     ignores what the text says: a random vector for every text
constant  the same vector for every text
foreign   knows the product's reference tasks, and takes all other texts for noise: as of another language
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from ufo_experience.retrieve.background import REFERENCES

from benchmarks.retrieval.beir import TaskSet
from ufo_experience.embed.base import Embedder, Kind, Spending, Vectors
from ufo_experience.errors import UsageError
from ufo_experience.redact import redact_text

_LOW = 16
_NARROW = 0.75
Change = Callable[[Vectors, Sequence[str]], Vectors]


def _narrow(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    common = np.full((len(vectors), 1), np.sqrt(_NARROW), np.float32)
    return np.hstack([np.sqrt(1 - _NARROW) * vectors, common])


def _shifted(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    return np.asarray(vectors + 1.5 / np.sqrt(vectors.shape[1]), np.float32)


def _noise(texts: Sequence[str], dim: int) -> Vectors:
    rows = [np.random.default_rng(crc32(text.encode("utf-8", "replace"))).standard_normal(dim) for text in texts]
    noise = np.array(rows, np.float32).reshape(len(texts), dim)
    return np.asarray(noise / np.linalg.norm(noise, axis=1, keepdims=True), np.float32)


def _noisy(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    return np.asarray(vectors + _noise(texts, vectors.shape[1]), np.float32)


def _low(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    axes = np.random.default_rng(0).standard_normal((vectors.shape[1], _LOW)).astype(np.float32)
    return np.asarray(vectors @ axes, np.float32)


def _blind(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    return _noise(texts, vectors.shape[1])


def _foreign(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    known = np.array([text in REFERENCES for text in texts])
    return np.where(known[:, None], vectors, _noise(texts, vectors.shape[1]))


def _constant(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    return np.ones_like(vectors)


KINDS: dict[str, Change] = {
    "narrow": _narrow, "shifted": _shifted, "noisy": _noisy, "low": _low, "blind": _blind, "constant": _constant,
    "foreign": _foreign,
}  # fmt: skip


@dataclass(frozen=True)
class SimulatedEmbedder:
    """An embedder seen through one of `KINDS`.

    Raises:
        UsageError: there is no such kind.
    """

    behind: Embedder
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"no such kind of embedder: {self.kind!r}; known are: {', '.join(KINDS)}")

    @property
    def name(self) -> str:
        """`simulated:<kind>:<embedder behind it>`."""
        return f"simulated:{self.kind}:{self.behind.name}"

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return {"low": _LOW, "narrow": self.behind.dim + 1}.get(self.kind, self.behind.dim)

    @property
    def spending(self) -> Spending:
        """That of the embedder behind it."""
        return self.behind.spending

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows."""
        vectors = KINDS[self.kind](self.behind.embed(texts, kind), texts)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class SimulatedJudge:
    """Knows which entries are relevant, and says so in the share `accuracy` of its verdicts, the opposite in the rest;
    the same of the same pair."""

    def __init__(self, task_set: TaskSet, accuracy: float) -> None:
        self._accuracy = accuracy
        texts = {entry.id: redact_text(entry.text) for entry in task_set.corpus}
        self._right = {
            (redact_text(query.text), texts[entry])
            for query in task_set.related
            for entry in task_set.relevant[query.id]
        }

    def same(self, task: str, known: Sequence[str]) -> list[bool]:
        """Of each known task whether it is the same procedure."""
        return [((task, one) in self._right) is self._is_true(f"{task}\n{one}") for one in known]

    def _is_true(self, pair: str) -> bool:
        return crc32(pair.encode("utf-8", "replace")) % 1_000 < 1_000 * self._accuracy
