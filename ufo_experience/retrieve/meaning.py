"""What words stand for in requests to computers, as vectors: `meanings.npz`, which `tools/make_meanings.py` learns from
a phrase book, where each line asks for one procedure in many ways.

The vector of a request is the sum of those of its words, values left out. A word the phrase book has not is like itself
alone: it has a direction of its own, nearly at right angles to all others. Such words are heard as far as they are more
than a third of a request; fewer are taken for names. A vector costs no service and no model, but a look-up a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("meanings.npz")
Floats = NDArray[np.floating]
DECIMALS = 4  # of a cosine: what lies behind them differs from machine to machine
_NAMES_TOO = np.float32(1.5)  # how much of a request is known where a third of its words are not
_UNKNOWN = 1_024  # directions of unknown words; two of them share one by chance


class Said(NamedTuple):
    """The words of a request, values left out: where the vector of each stands, and what it weighs here."""

    places: tuple[int, ...]
    weights: tuple[float, ...]


class Likeness(NamedTuple):
    """How near a record is to a request in meaning; one entry a record.

    `whole` is the cosine of the two, `asked` how much of what the request says has a word of like meaning in the
    record, each word by the cosine of the nearest one and by how much it says; `named` is the same the other way round,
    `least` that of the word of the request that has least.
    """

    whole: Floats
    asked: Floats
    named: Floats
    least: Floats


class Meanings:
    """The vectors of words: `units` to length 1, and how much each word says (`length`)."""

    def __init__(self, words: Sequence[str], rows: NDArray[np.int8], scale: Floats) -> None:
        """The vector of a word is its row times its scale, and as long as what the word says."""
        self._place, self._words = {word: place for place, word in enumerate(words)}, words
        count, dim = rows.shape
        self.units: Floats = np.zeros((count + _UNKNOWN + 1, dim), np.float32)
        known = self.units[:count]
        known[:] = rows
        norm = np.sqrt(np.einsum("ij,ij->i", known, known))
        known /= norm[:, None]
        self.units[count:-1] = _directions(_UNKNOWN, dim)
        length = norm * scale
        self.length: Floats = np.concatenate([length, np.full(_UNKNOWN, length.mean(), np.float32), [np.float32(1e-9)]])

    def said(self, words: Sequence[tuple[str, float]]) -> Said:
        """The places of these words, each with its weight."""
        found = [(self._place_of(word), weight) for word, weight in words]
        return Said(*zip(*found, strict=True)) if found else Said((len(self.length) - 1,), (1.0,))

    def compare(self, request: Said, records: Sequence[Said]) -> Likeness:
        """How near each record is to a request."""
        whole = self._vectors(records) @ self._vectors([request])[0]
        own, weight, _ = self._joined([request])
        places, other_weight, starts = self._joined(records)
        likeness = self.units[places] @ self.units[own].T  # words of the records by words of the request
        had = np.maximum.reduceat(likeness, starts, axis=0)
        named = np.add.reduceat(likeness.max(axis=1) * other_weight, starts) / np.add.reduceat(other_weight, starts)
        least = 1 - ((1 - had) * (weight / weight.max())).max(axis=1)
        parts = (whole, had @ (weight / weight.sum()), named, least)
        return Likeness(*(np.round(part, DECIMALS) for part in parts))

    def place(self, word: str) -> int | None:
        """Where the vector of a known word stands in `units`; None for a word the phrase book has not."""
        return self._place.get(word)

    def _place_of(self, word: str) -> int:
        known = self._place.get(word)
        return len(self._words) + crc32(word.encode("utf-8", "surrogatepass")) % _UNKNOWN if known is None else known

    def _vectors(self, requests: Sequence[Said]) -> Floats:
        """One row for each request, not longer than 1."""
        places, weights, starts = self._joined(requests)
        is_known = places < len(self._words)
        known, unknown = (np.add.reduceat(weights * part, starts) for part in (is_known, ~is_known))
        share = np.minimum(_NAMES_TOO * known / (known + unknown), 1)
        found = self._sums(places, weights * is_known, starts, share)
        if share.min() < 1:
            found += self._sums(places, weights * ~is_known, starts, 1 - share)
        return found

    def _sums(self, places: NDArray[np.int64], weights: Floats, starts: NDArray[np.int64], length: Floats) -> Floats:
        """The sums of the vectors of each request, as long as that."""
        total = np.add.reduceat(self.units[places] * weights[:, None], starts, axis=0)
        norm = np.sqrt(np.einsum("ij,ij->i", total, total))
        return np.asarray(total * (length / np.maximum(norm, np.float32(1e-6)))[:, None], np.float32)

    def _joined(self, requests: Sequence[Said]) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
        """The places of the words of all requests, how much each says there, and where the words of each begin."""
        places = np.fromiter(chain.from_iterable([one.places for one in requests]), np.int64)
        weights = np.fromiter(chain.from_iterable([one.weights for one in requests]), np.float32)
        starts = np.cumsum([0, *(len(one.places) for one in requests[:-1])])
        return places, weights * self.length[places], starts


def _directions(count: int, dim: int) -> Floats:
    """So many directions, each all but at right angles to the others, the same on every machine."""
    bits = b"".join(blake2b(str(number).encode(), digest_size=64).digest() for number in range(count))
    signs = np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(count, 512)[:, :dim]
    return np.asarray((signs * 2.0 - 1) / np.sqrt(dim), np.float32)


@lru_cache(maxsize=1)
def meanings() -> Meanings:
    """The vectors that come with the package; read once."""
    with np.load(FILE, allow_pickle=False) as file:
        words = file["words"].tobytes().decode("utf-8").split("\n")
        return Meanings(words, file["vectors"], file["scale"])
