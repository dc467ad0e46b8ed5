"""An index in memory, for fitting: the shares and the rarity that `index/base.py` defines, and nothing on a disk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.base import LIMIT, Candidate, Filter, Row
from ufo_experience.request import Request, application_key

_K1, _B = 1.2, 0.75


class _Texts:
    """BM25 shares of a question and each of some texts."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        counts = [Counter(text) for text in texts]
        self.size = len(texts)
        self.average = max(sum(map(len, texts)) / max(len(texts), 1), 1.0)
        self.holders: Counter[str] = Counter(word for one in counts for word in one)
        length = [_K1 * (1 - _B + _B * len(text) / self.average) for text in texts]
        found: dict[str, list[tuple[int, float]]] = {}
        for place, one in enumerate(counts):
            for word, times in one.items():
                found.setdefault(word, []).append((place, times * (_K1 + 1) / (times + length[place])))
        self.parts = {
            word: (np.array([p for p, _ in some]), np.array([v for _, v in some])) for word, some in found.items()
        }

    def rarity(self, word: str) -> float:
        """BM25's weight of a word."""
        held = self.holders[word]
        return math.log1p((self.size - held + 0.5) / (held + 0.5))

    def shares(self, asked: Sequence[str]) -> NDArray[np.float64]:
        """The share of each text."""
        counts = Counter(asked)
        own = _K1 * (1 - _B + _B * len(asked) / self.average)
        total, most = np.zeros(self.size), 0.0
        for word, times in counts.items():
            weight = self.rarity(word)
            most += weight * times * (_K1 + 1) / (times + own)
            if word in self.parts:
                places, values = self.parts[word]
                total[places] += weight * values
        return np.minimum(1.0, total / most) if most else total


class MemoryIndex:
    """Rows by words and, where vectors are given, by cosine."""

    def __init__(self, rows: Sequence[Row], vectors: Mapping[str, NDArray[np.float32]] | None = None) -> None:
        self._rows = sorted(rows, key=lambda row: row.id)
        self._vectors = np.stack([vectors[row.id] for row in self._rows]) if vectors else None
        texts = [(place, one) for place, row in enumerate(self._rows) for one in (row.request, *row.wordings)]
        self._owner = np.array([place for place, _ in texts], np.int64)
        self._kept: dict[tuple[str, str], bytes] = {}
        self._own = np.unique(self._owner, return_index=True)[1]
        self._raw = _Texts([one.words for _, one in texts])
        self._masked = _Texts([one.masked_words for _, one in texts])

    def candidates(
        self,
        request: Request,
        *,
        vector: NDArray[np.float32] | None = None,
        filter: Filter | None = None,
        limit: int = LIMIT,
    ) -> list[Candidate]:
        """See `ExperienceIndex`."""
        admitted = self._admitted(filter)
        found = [
            part.shares(asked) for part, asked in ((self._raw, request.words), (self._masked, request.masked_words))
        ]
        words, masked = (values[self._own] for values in found)  # of the tasks: wordings find, and count in no share
        cosine = None if vector is None or self._vectors is None else self._vectors @ vector
        chosen: set[int] = set()
        for values in (*map(self._best, found), cosine):
            if values is not None:
                floor = -2.0 if values is cosine else 0.0
                best = np.argsort(-np.where(admitted, values, -3.0), kind="stable")[:limit]
                chosen |= {int(one) for one in best if admitted[one] and values[one] > floor}
        near = [
            Candidate(
                self._rows[one], float(words[one]), float(masked[one]), None if cosine is None else float(cosine[one])
            )
            for one in chosen
        ]
        return sorted(near, key=lambda one: (-max(one.words, one.masked, one.cosine or 0.0), one.row.id))

    def rows(
        self, ids: Iterable[str] | None = None, *, filter: Filter | None = None, task_key: str | None = None
    ) -> list[Row]:
        """See `ExperienceIndex`."""
        wanted = None if ids is None else set(ids)
        admitted = self._admitted(filter)
        return [
            row
            for row, passes in zip(self._rows, admitted, strict=True)
            if passes and (wanted is None or row.id in wanted) and task_key in (None, row.task_key)
        ]

    def rarity(self, words: Collection[str]) -> dict[str, float]:
        """See `ExperienceIndex`."""
        return {word: self._raw.rarity(word) for word in words}

    def count(self, filter: Filter | None = None) -> int:
        """See `ExperienceIndex`."""
        return int(self._admitted(filter).sum())

    def kept(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """See `ExperienceIndex`."""
        return {key: self._kept[kind, key] for key in keys if (kind, key) in self._kept}

    def keep(self, kind: str, values: Mapping[str, bytes], *, owner: str = "") -> None:
        """See `ExperienceIndex`."""
        self._kept.update(((kind, key), value) for key, value in values.items())

    def _best(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        best = np.zeros(len(self._rows))
        np.maximum.at(best, self._owner, values)
        return best

    def _admitted(self, filter: Filter | None) -> NDArray[np.bool_]:
        if filter is None:
            return np.ones(len(self._rows), np.bool_)
        key = application_key(filter.application) if filter.application else None
        return np.array(
            [
                (key is None or application_key(row.application) == key)
                and (filter.env is None or row.env == filter.env)
                and row.trust.rank >= _least(filter, row)
                and (filter.only is None or row.id in filter.only)
                and (filter.exclude_session is None or row.session != filter.exclude_session)
                for row in self._rows
            ],
            np.bool_,
        )


def _least(filter: Filter, row: Row) -> int:
    least = filter.min_trust_imported if row.imported and filter.min_trust_imported is not None else filter.min_trust
    return least.rank
