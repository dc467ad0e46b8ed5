"""Textbook BM25, a baseline: lower-cased words, k1 1.2, b 0.75, nothing else. The product does not use it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")


class PlainBM25:
    """BM25 (Robertson and Zaragoza 2009) over a fixed list of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(_words(text)) for text in texts]
        lengths = np.array([sum(one.values()) for one in counts], np.float64)
        self._size = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
        self._holders: dict[str, list[tuple[int, int]]] = {}
        for row, one in enumerate(counts):
            for word, times in one.items():
                self._holders.setdefault(word, []).append((row, times))

    def scores(self, query: str) -> NDArray[np.float64]:
        """One score per text, higher is better."""
        total = np.zeros(len(self._size))
        for word in sorted(set(_words(query)) & self._holders.keys()):
            rows, times = np.array(self._holders[word]).T
            rarity = math.log1p((len(total) - len(rows) + 0.5) / (len(rows) + 0.5))
            total[rows] += rarity * times * (K1 + 1) / (times + self._size[rows])
        return total


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
