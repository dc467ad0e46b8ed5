"""Many short texts in two arrays, so that they are saved and mapped as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Texts:
    """Text `i` is `blob[ends[i - 1]:ends[i]]` in UTF-8."""

    blob: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def build(cls, texts: Sequence[str]) -> Texts:
        """Pack `texts` in order."""
        parts = [text.encode("utf-8", "replace") for text in texts]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends)

    @classmethod
    def join(cls, parts: Sequence[Texts]) -> Texts:
        """All texts of the parts, in order."""
        starts = np.cumsum([0, *(len(part.blob) for part in parts)])
        ends = [part.ends + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate([part.blob for part in parts]), np.concatenate(ends))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        start = int(self.ends[number - 1]) if number else 0
        return self.blob[start : int(self.ends[number])].tobytes().decode("utf-8")
