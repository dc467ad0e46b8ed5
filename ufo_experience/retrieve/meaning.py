"""What words stand for in requests to computers, as vectors: `meanings.npz`, which `tools/make_meanings.py` learns from
a phrase book, where each line asks for one procedure in many ways.

A word the phrase book has not is like itself alone: it has a direction of its own, nearly at right angles to all
others. A vector costs no service and no model, but a look-up a word.
"""

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
_UNKNOWN = 1_024  # directions of unknown words; two of them share one by chance


class Said(NamedTuple):
    """The words of a request, values left out: where the vector of each stands, and what it weighs here."""

    places: tuple[int, ...]
    weights: tuple[float, ...]


class Meanings:
    """The vectors of words: `units` to length 1, and how much each word says (`length`)."""

    def __init__(self, words: Sequence[str], rows: NDArray[np.int8], scale: Floats) -> None:
        """The vector of a word is its row times its scale, and as long as what the word says."""
        self._place = {word: place for place, word in enumerate(words)}
        count, dim = rows.shape
        self.units: Floats = np.zeros((count + _UNKNOWN + 1, dim), np.float32)
        known = self.units[:count]
        known[:] = rows
        norm = np.sqrt(np.einsum("ij,ij->i", known, known))
        known /= norm[:, None]
        self.units[count:-1] = _directions(_UNKNOWN, dim)
        length = norm * scale
        self.length: Floats = np.concatenate([length, np.full(_UNKNOWN, length.mean(), np.float32), [np.float32(1e-9)]])

    def place(self, word: str) -> int | None:
        """Where the vector of a known word stands in `units`; None for a word the phrase book has not."""
        return self._place.get(word)

    def said(self, words: Sequence[tuple[str, float]]) -> Said:
        """The places of these words, each with its weight."""
        found = [(self._place_of(word), weight) for word, weight in words]
        return Said(*zip(*found, strict=True)) if found else Said((len(self.length) - 1,), (1.0,))

    def compare(self, request: Said, records: Sequence[Said]) -> Floats:
        """A row for each record: how much of what the request says has a word of like meaning in the record, each word
        by the cosine of the nearest one and by how much it says; and the same the other way round.
        """
        own, weight, _ = self._joined([request])
        places, other_weight, starts = self._joined(records)
        with np.errstate(all="ignore"):  # all are finite; some processors set the flags of a product all the same
            likeness = self.units[places] @ self.units[own].T  # words of the records by words of the request
            asked = np.maximum.reduceat(likeness, starts, axis=0) @ (weight / weight.sum())
        named = np.add.reduceat(likeness.max(axis=1) * other_weight, starts) / np.add.reduceat(other_weight, starts)
        return np.round(np.column_stack([asked, named]).astype(np.float64), DECIMALS)

    def _place_of(self, word: str) -> int:
        place = self._place.get(word)
        return len(self._place) + crc32(word.encode("utf-8", "surrogatepass")) % _UNKNOWN if place is None else place

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
