"""How fast the index answers, against numpy and FAISS's flat index as the floor, on the same data in the same run.

Vectors lie in clusters whose spread has few dimensions, as embeddings of real tasks have (or are taken from a file).
Every twentieth row is of the application that the filtered queries ask for. A query comes alone, embedding excluded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ufo_experience.benchmark.speed.machine import describe
from ufo_experience.errors import UsageError
from ufo_experience.index.base import Vectors

K = 10
QUERIES = 100
ADDS = 30
APPLICATIONS = 20
_LEAST_ADDS, _PATIENCE_MS = 3, 5_000.0  # one that takes seconds need not be seen thirty times
_CLUSTERS = 2000
_RANK = 32
_NAMES = [f"app{number}" for number in range(APPLICATIONS)]
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True)
class Data:
    """Unit vectors with id and application, the same number of each, and queries like them."""

    vectors: Vectors
    ids: list[str]
    applications: list[str]
    queries: Vectors

    def truth(self, application: str | None) -> list[list[str]]:
        """Ids of the ten nearest of each query, by sorting everything."""
        rows = np.array([n for n, name in enumerate(self.applications) if application in (None, name)])
        scores = self.queries @ self.vectors[rows].T
        best = np.argpartition(-scores, min(K, len(rows)) - 1, axis=1)[:, :K]
        return [[self.ids[row] for row in rows[some]] for some in best]


class Engine(Protocol):
    """Something that finds nearest vectors."""

    name: str

    def build(self, data: Data) -> None:
        """Take in all vectors."""
        ...

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """Ids of the ten nearest to a query of shape (dim,)."""
        ...

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """Take in one more, so that the next query finds it."""
        ...


@runtime_checkable
class Reopened(Engine, Protocol):
    """An engine whose files can be opened anew."""

    def save(self, folder: Path) -> None:
        """Write everything to a folder."""
        ...

    def open(self, folder: Path) -> None:
        """Begin anew with what is in the folder."""
        ...


@dataclass(frozen=True)
class Row:
    """What was measured of one engine at one size: milliseconds (median, 95th percentile), seconds, megabytes.

    None where it cannot be measured.
    """

    engine: str
    size: int
    dim: int
    p50: float
    p95: float
    recall: float
    filtered_p50: float
    filtered_p95: float
    filtered_recall: float
    build_s: float
    add_p50: float
    open_ms: float | None
    memory_mb: float | None


@dataclass(frozen=True)
class Report:
    """All rows of a run, and where and when it was. `growth` is the exponent of latency in size for each engine."""

    machine: str
    date: str
    queries: int
    rows: tuple[Row, ...]
    growth: dict[str, float]


def run(
    sizes: Sequence[int],
    dims: Sequence[int],
    engines: Callable[[int], Sequence[Engine]],
    *,
    queries: int = QUERIES,
    vectors: Vectors | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Measure every engine at every size and number of dimensions; `engines` makes new ones for a dimension.

    `vectors`, if given, are cut and used instead of made ones: sizes beyond them are left out.
    """
    rows: list[Row] = []
    cases = [(size, dim) for dim in dims for size in sizes]
    for done, (size, dim) in enumerate(cases):
        if vectors is None or size + queries <= len(vectors):
            data = make_data(size, dim, queries) if vectors is None else _from(vectors, size, queries)
            rows += [measure(engine, data) for engine in engines(data.vectors.shape[1])]
        if progress:
            progress(done + 1, len(cases))
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return Report(describe(), date, queries, tuple(rows), _growth(rows))


def make_data(size: int, dim: int, queries: int = QUERIES, seed: int = 0) -> Data:
    """Clustered unit vectors; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((_CLUSTERS, dim), dtype=np.float32) / np.sqrt(np.float32(dim))
    spread = rng.standard_normal((_RANK, dim), dtype=np.float32) / np.sqrt(np.float32(dim * _RANK))
    made = np.empty((size + queries, dim), np.float32)
    for start in range(0, len(made), 16_384):
        block = made[start : start + 16_384]
        noise = rng.standard_normal((len(block), _RANK), dtype=np.float32) @ spread
        block[:] = centres[rng.integers(0, _CLUSTERS, len(block))] + np.float32(0.7) * noise
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return _from(made, size, queries)


def measure(engine: Engine, data: Data) -> Row:
    """Build, ask, ask inside one application, add, save, open and ask again."""
    before = resident_mb()
    started = time.perf_counter()
    engine.build(data)
    built = time.perf_counter() - started
    after = resident_mb()
    size, dim = data.vectors.shape
    plain, recall = _ask(engine, data, None)
    inside, filtered_recall = _ask(engine, data, _NAMES[3])
    opened = _open(engine, data)
    new = [(f"{size + n:032x}", data.queries[n % len(data.queries)], _NAMES[n % APPLICATIONS]) for n in range(ADDS)]
    adds: list[float] = []
    for one in new:
        if len(adds) < _LEAST_ADDS or sum(adds) < _PATIENCE_MS:
            adds.append(_timed(partial(engine.add, *one)))
    return Row(
        engine.name,
        size,
        dim,
        *_percentiles(plain),
        recall,
        *_percentiles(inside),
        filtered_recall,
        round(built, 3),
        _percentiles(adds)[0],
        opened,
        None if before is None or after is None else round(after - before, 1),
    )


def parse_sizes(text: str) -> list[int]:
    """Numbers like "1k,10k,1m". Raises `UsageError`."""
    sizes = []
    for word in text.lower().split(","):
        number, unit = word.strip().rstrip("km"), word.strip().lstrip("0123456789")
        if not number.isdecimal() or unit not in _UNITS or int(number) < 1:
            raise UsageError(f"no size: {word.strip()!r}; write 1000, 10k or 1m")
        sizes.append(int(number) * _UNITS[unit])
    return sizes


def read_vectors(path: Path) -> Vectors:
    """Unit vectors from a `.npy` file, one a row. Raises `UsageError` for anything else."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not a .npy file of numbers") from error
    if found.ndim != 2 or found.dtype.kind != "f" or not len(found):
        raise UsageError(f"{path}: an array of shape {found.shape}, not vectors one a row")
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON."""
    return asdict(report)


def resident_mb() -> float | None:
    """Memory of this process in megabytes, where Linux tells."""
    status = Path("/proc/self/status")
    lines = status.read_text("ascii").splitlines() if status.exists() else []
    found = [float(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")]
    return found[0] if found else None


def _from(vectors: Vectors, size: int, queries: int) -> Data:
    rows = np.ascontiguousarray(vectors[:size])
    names = [_NAMES[number % APPLICATIONS] for number in range(size)]
    ids = [f"{number * 2_654_435_761 % 2**64:032x}" for number in range(size)]
    return Data(rows, ids, names, np.ascontiguousarray(vectors[size : size + queries]))


def _ask(engine: Engine, data: Data, application: str | None) -> tuple[list[float], float]:
    """Milliseconds of each query, and mean recall at 10."""
    engine.search(data.queries[0], application)
    answers: list[list[str]] = []

    def ask(query: Vectors) -> None:
        answers.append(engine.search(query, application))

    times = [_timed(partial(ask, query)) for query in data.queries]
    hits = [len(set(a) & set(b)) / len(b) for a, b in zip(answers, data.truth(application), strict=True)]
    return times, round(float(np.mean(hits)), 4)


def _open(engine: Engine, data: Data) -> float | None:
    """Milliseconds from closed files to the first answer, the best of three; None for an engine without such files."""
    if not isinstance(engine, Reopened):
        return None
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        engine.save(Path(folder))

        def first_answer() -> None:
            engine.open(Path(folder))
            engine.search(data.queries[0], None)

        best = min(_timed(first_answer) for _ in range(3))
        engine.build(data)  # let go of the files before they are removed
    return round(best, 2)


def _timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _percentiles(times: Sequence[float]) -> tuple[float, float]:
    return round(float(np.median(times)), 4), round(float(np.percentile(times, 95)), 4)


def _growth(rows: Sequence[Row]) -> dict[str, float]:
    """Slope of log latency over log size, by engine and dimension, where there are two sizes."""

    def groups() -> Iterator[tuple[str, list[Row]]]:
        for name in dict.fromkeys((row.engine, row.dim) for row in rows):
            yield f"{name[0]}, {name[1]}", [row for row in rows if (row.engine, row.dim) == name]

    slopes: dict[str, float] = {}
    for name, some in groups():
        sizes: NDArray[np.float64] = np.log([row.size for row in some])
        if len(set(sizes.tolist())) > 1:
            slopes[name] = round(float(np.polyfit(sizes, np.log([row.p50 for row in some]), 1)[0]), 2)
    return slopes
