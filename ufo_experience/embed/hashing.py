"""The offline embedder: no model, no download, no fitting. Numpy and a checksum.

A text becomes weighted features, each feature a signed cell of the vector ("feature hashing"). What two texts share
adds up, what they do not share cancels out on average, so the cosine says how much of them is the same. The same text
gives the same bytes on every platform and in every process.
"""

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ufo_experience.embed.base import Kind, Spending, Vectors
from ufo_experience.errors import UsageError
from ufo_experience.request import Request
from ufo_experience.schema import MAX_TEXT

DIM = 256  # a vector takes 512 bytes in the index, and as much in FAISS's file
MIN_DIM, MAX_DIM = 16, 65_536

_WORD = re.compile(r"[^\W_]+")
_VALUE_WORTH = 0.15  # of a word of a value
_LETTERS = (3, 4)  # lengths of the letter runs
_LETTERS_WORTH = 0.2  # of one run; enough for typos and other languages, too little to drown the words


def features(text: str) -> Mapping[str, float]:
    """What the features of a text are worth: its words, and the letter runs of these; else its characters."""
    spelled = dict.fromkeys(_WORD.findall(text.lower()))  # in order: sums of floats depend on it
    if not spelled:
        return {f"#{character}": 1.0 for character in "".join(text.split())} or {"": 1.0}
    request = Request.parse(text)
    values = [f"={word}" for word, kind in zip(request.words, request.kinds, strict=True) if kind]
    runs = chain.from_iterable(map(_letter_runs, spelled))
    worth = dict.fromkeys(request.masked_words, 1.0) | dict.fromkeys(values, _VALUE_WORTH)
    return worth | dict.fromkeys(runs, _LETTERS_WORTH)


def _letter_runs(word: str) -> tuple[str, ...]:
    padded = f" {word} "
    return tuple(f"#{padded[at : at + length]}" for length in _LETTERS for at in range(len(padded) - length + 1))


class HashingEmbedder:
    """`dim` cells (16 to 65,536, else `UsageError`). Of a text longer than a record may hold the beginning counts."""

    def __init__(self, dim: int = DIM) -> None:
        if not MIN_DIM <= dim <= MAX_DIM:
            raise UsageError(f"hashing needs {MIN_DIM} to {MAX_DIM} dimensions, not {dim}")
        self.dim = dim
        self.spending = Spending()

    @property
    def name(self) -> str:
        """`hashing`, or `hashing:<dimensions>`."""
        return "hashing" if self.dim == DIM else f"hashing:{self.dim}"

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows; queries and documents alike."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._cells(features(text[:MAX_TEXT]))
        return vectors

    def _cells(self, worth: Mapping[str, float]) -> NDArray[np.float64]:
        """Add the features up in their cells, in their order, scaled to length 1."""
        codes = np.array([zlib.crc32(feature.encode("utf-8", "surrogatepass")) for feature in worth], np.int64)
        values = np.fromiter(worth.values(), np.float64, len(worth))
        cells = np.bincount((codes >> 1) % self.dim, np.where(codes & 1, values, -values), self.dim)
        norm = math.sqrt(math.fsum((cells[cells != 0] ** 2).tolist()))
        if norm < 1e-9:  # every feature met its opposite
            cells[0] = norm = 1.0
        return cells / norm


def from_spec(rest: str) -> HashingEmbedder:
    """Build from nothing, or from `<dimensions>`, as `name` writes them."""
    if not re.fullmatch(r"\d{0,6}", rest):
        raise UsageError(f"hashing takes a number of dimensions, such as hashing:2048, not {rest!r}")
    return HashingEmbedder(int(rest or DIM))
