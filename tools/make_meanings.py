"""Make `ufo_experience/retrieve/meanings.npz` of the phrase book: python tools/make_meanings.py [--check]

A line of `tools/phrases/*.txt` asks for one procedure in many ways, parted by `|`; lines with the same
first phrase are one. Vectors of words are learned so that two phrases of a line are nearer to each other than to
phrases of the lines around it and of others (contrastive learning: InfoNCE, van den Oord et al. 2018, both ways; the
vector of a phrase is the sum of those of its words). With `--check` one phrase of each line is kept back, and the share
is told that finds its own line first among all: nothing is written.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ufo_experience.request import Request
from ufo_experience.retrieve.meaning import FILE

FOLDER = Path(__file__).with_name("phrases")
Floats = NDArray[np.float32]
Line = list[list[str]]  # the stems of each phrase
LEVELS = 31  # of a number of a vector, to either side: 127 are 200 kB more and move a cosine by .003


@dataclass(frozen=True)
class Learning:
    """How the vectors are learned; `together` lines that follow each other, siblings often, stay in one batch."""

    dim: int = 96
    epochs: int = 100
    batch: int = 512
    together: int = 8
    temperature: float = 0.15
    rate: float = 0.01
    left_out: float = 0.15  # of the words of a phrase, anew each time
    seed: int = 0


def read_lines(folder: Path) -> list[Line]:
    """The phrases of each procedure as stems, in the order of the files."""
    phrases: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            first, *others = [one.strip() for one in line.split("|") if one.strip()]
            phrases.setdefault(first, [first]).extend(others)
    return [[list(Request.parse(one).words) for one in dict.fromkeys(known)] for known in phrases.values()]


def learned(lines: Sequence[Line], how: Learning) -> tuple[list[str], Floats]:
    """The words of these lines, sorted, and their vectors."""
    rng = np.random.default_rng(how.seed)
    known = Counter(one for line in lines for one in {word for phrase in line for word in phrase})
    names = sorted(known)
    place = {one: number for number, one in enumerate(names)}
    coded = [[np.array([place[one] for one in phrase]) for phrase in line if phrase] for line in lines]
    rarity = np.array([math.log(1 + len(lines) / known[one]) for one in names])
    start = rng.standard_normal((len(names), how.dim)) * (rarity / rarity.mean() / math.sqrt(how.dim))[:, None]
    adam = Adam(start.astype(np.float32), how.rate)
    for _ in range(how.epochs):
        for batch in _batches(len(coded), how, rng):
            two = [rng.choice(len(coded[one]), 2, replace=False) for one in batch]
            some, others = (
                [_some_words(coded[one][pair[side]], how, rng) for one, pair in zip(batch, two, strict=True)]
                for side in (0, 1)
            )
            adam.step(_gradient(adam.values, some, others, how.temperature))
    return names, adam.values


class Adam:
    """Values that follow their gradient (Kingma and Ba 2015)."""

    def __init__(self, values: Floats, rate: float) -> None:
        self.values, self._rate, self._steps = values, rate, 0
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)

    def step(self, gradient: Floats) -> None:
        """One step down."""
        self._steps += 1
        self._mean += np.float32(0.1) * (gradient - self._mean)
        self._square += np.float32(0.001) * (gradient**2 - self._square)
        mean, square = self._mean / (1 - 0.9**self._steps), self._square / (1 - 0.999**self._steps)
        self.values -= (self._rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)


def _batches(count: int, how: Learning, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    groups = [np.arange(at, min(at + how.together, count)) for at in range(0, count, how.together)]
    mixed = [groups[one] for one in rng.permutation(len(groups))]
    size = how.batch // how.together
    return (np.concatenate(mixed[at : at + size]) for at in range(0, len(mixed), size))


def _some_words(phrase: NDArray[np.int64], how: Learning, rng: np.random.Generator) -> NDArray[np.int64]:
    kept = phrase[rng.random(len(phrase)) > how.left_out]
    return kept if len(kept) else phrase


def _gradient(
    vectors: Floats, some: Sequence[NDArray[np.int64]], others: Sequence[NDArray[np.int64]], temperature: float
) -> Floats:
    """Of the loss by the vectors: each phrase should be nearest to the other one of its line."""
    one, other = _summed(vectors, some), _summed(vectors, others)
    likeness = one.unit @ other.unit.T / temperature
    own = np.eye(len(some), dtype=np.float32)
    wrong = (_softmax(likeness) + _softmax(likeness.T).T - 2 * own) / (2 * len(some) * temperature)
    gradient = np.zeros_like(vectors)
    one.spread(wrong @ other.unit, gradient)
    other.spread(wrong.T @ one.unit, gradient)
    return gradient


@dataclass(frozen=True)
class _Sums:
    """The vectors of phrases: of which words they are the sums, where each begins, their lengths, and to length 1."""

    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    length: Floats
    unit: Floats

    def spread(self, gradient: Floats, total: Floats) -> None:
        """Add to `total` the gradient by the words of that by the vectors to length 1."""
        along = (gradient * self.unit).sum(axis=1, keepdims=True)
        np.add.at(total, self.places, np.repeat((gradient - along * self.unit) / self.length, self.counts, axis=0))


def _summed(vectors: Floats, phrases: Sequence[NDArray[np.int64]]) -> _Sums:
    places, counts = np.concatenate(phrases), np.array([len(one) for one in phrases])
    sums = np.add.reduceat(vectors[places], np.cumsum([0, *counts[:-1]]), axis=0)
    length = np.linalg.norm(sums, axis=1, keepdims=True) + np.float32(1e-9)
    return _Sums(places, counts, length, sums / length)


def _softmax(table: Floats) -> Floats:
    powers = np.exp(table - table.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def digest_of(folder: Path) -> bytes:
    """The digest of a phrase book, however its lines end."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))]
    return sha256("".join(texts).encode()).digest()


def write(names: Sequence[str], vectors: Floats, path: Path, digest: bytes) -> None:
    """Each vector as whole numbers and its scale; `digest` is that of what they were learned from."""
    scale = np.abs(vectors).max(axis=1) / np.float32(LEVELS)
    text, learned_from = np.frombuffer("\n".join(names).encode(), np.uint8), np.frombuffer(digest, np.uint8)
    small = np.round(vectors / scale[:, None]).astype(np.int8)
    np.savez_compressed(path, words=text, vectors=small, scale=scale, learned_from=learned_from)


def share_found(lines: Sequence[Line], how: Learning) -> tuple[float, float]:
    """Of phrases kept back the share that finds its own line first, and among the first five."""
    rng = np.random.default_rng(how.seed)
    asked = [int(rng.integers(1, len(line))) for line in lines]
    names, vectors = learned([line[:at] + line[at + 1 :] for line, at in zip(lines, asked, strict=True)], how)
    place = {one: number for number, one in enumerate(names)}

    def unit(phrases: Sequence[Sequence[str]]) -> Floats:
        empty = np.array([len(names)])
        coded = [np.array([place[one] for one in phrase if one in place], np.int64) for phrase in phrases]
        padded = np.vstack([vectors, np.zeros((1, vectors.shape[1]), np.float32)])
        return _summed(padded, [one if len(one) else empty for one in coded]).unit

    known = unit([phrase for line, at in zip(lines, asked, strict=True) for phrase in line[:at] + line[at + 1 :]])
    ends = np.cumsum([0, *(len(line) - 1 for line in lines)])[:-1]
    queries = unit([line[at] for line, at in zip(lines, asked, strict=True)])
    ranks = []
    for number, query in enumerate(queries):
        nearest = np.maximum.reduceat(known @ query, ends)
        ranks.append(int((nearest > nearest[number]).sum()))
    return float(np.mean([one == 0 for one in ranks])), float(np.mean([one < 5 for one in ranks]))


def main() -> None:
    """Learn, and write or tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    lines = [line for line in read_lines(FOLDER) if len(line) > 2]
    if arguments.check:
        first, five = share_found(lines, Learning())
        print(f"{len(lines)} procedures, one phrase of each kept back: first {first:.3f}, among five {five:.3f}")
        return
    names, vectors = learned(lines, Learning())
    write(names, vectors, FILE, digest_of(FOLDER))
    print(f"{len(lines)} procedures, {sum(map(len, lines))} phrases, {len(names)} words: {FILE.name}")


if __name__ == "__main__":
    main()
