"""What an agent waits for: ask, learn, ask again, beside other packages, in one run on varied tasks.

    pip install chromadb lancedb langchain-community     what is not installed is left out, and said so
    python -m benchmarks speed --sizes 1k,10k

Every package keeps the same tasks and runs, and vectors of the same embedder. Ours is asked through its façade and
gives a checked answer; the others give the nearest document. Times are wall-clock milliseconds, median / 95th
percentile, one process. On a busy machine the table says that it is not to be published.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from benchmarks.machine import describe, why_busy
from benchmarks.page import table
from benchmarks.tasks import application_of, steps_of, task_of
from ufo_experience import Experience, ExperienceMemory, open_embedder
from ufo_experience.errors import StorageError, UsageError

EMBEDDER = "hashing:384"
REPEATS = 20
NEW_RECORDS = 5  # what a rebuild finds that was not indexed before
WORK = ("ask", "learn", "found", "rebuild")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
PATIENCE_S = 20  # until another process finds what was learned; after that it is told as lost
_READER = f"""
import sys, time
from ufo_experience import ExperienceMemory
memory = ExperienceMemory.open(sys.argv[1], embedder=sys.argv[2], create=False)
memory.retrieve("begin")
print("ready", flush=True)
for line in sys.stdin:
    task, until = line.rstrip("\\n"), time.monotonic() + {PATIENCE_S}
    found = False
    while not found and time.monotonic() < until:
        found = any(hit.experience.state.request == task for hit in memory.retrieve(task))
    print("found" if found else "not found", flush=True)
"""


@dataclass(frozen=True)
class Row:
    """One package at one size: median and 95th percentile in ms of each kind of work it can do, bytes of a record."""

    name: str
    size: int
    times: dict[str, tuple[float, float]]
    record_bytes: int


class Peer(Protocol):
    """A package that keeps documents by the vector of their task, as its own documentation uses it."""

    def fill(self, numbers: range) -> None:
        """Take in the tasks of these numbers."""
        ...

    def learn(self, number: int) -> None:
        """Take in one more."""
        ...

    def ask(self, number: int) -> str:
        """The task nearest to a task."""
        ...


class Given:
    """Vectors of tasks, made once and shared: embedding is no part of what is compared."""

    def __init__(self) -> None:
        self._embedder = open_embedder(EMBEDDER)
        self._kept: dict[int, Any] = {}

    def __call__(self, number: int) -> list[float]:
        if number not in self._kept:
            self._kept[number] = self._embedder.embed([task_of(number)], "passage")[0].tolist()
        return list(self._kept[number])


def document_of(number: int) -> str:
    """What a package stores beside the vector: the run as JSON."""
    return json.dumps({"task": task_of(number), "steps": steps_of(number)})


class Words:
    """SQLite's FTS5 alone: the words of the task, no vectors."""

    def __init__(self, folder: Path, vector: Given) -> None:
        self._database = sqlite3.connect(folder / "words.sqlite")
        self._database.execute("CREATE VIRTUAL TABLE runs USING fts5(task, document UNINDEXED)")

    def fill(self, numbers: range) -> None:
        """See `Peer`."""
        rows = ((task_of(number), document_of(number)) for number in numbers)
        self._database.executemany("INSERT INTO runs VALUES (?, ?)", rows)
        self._database.commit()

    def learn(self, number: int) -> None:
        """See `Peer`."""
        self.fill(range(number, number + 1))

    def ask(self, number: int) -> str:
        """See `Peer`."""
        words = " OR ".join(f'"{word}"' for word in task_of(number).replace('"', " ").split())
        best = "SELECT task FROM runs WHERE runs MATCH ? ORDER BY bm25(runs) LIMIT 1"
        found = self._database.execute(best, (words,)).fetchone()
        return str(found[0]) if found else ""


class Chroma:
    """A collection of chromadb on disk."""

    def __init__(self, folder: Path, vector: Given) -> None:
        import chromadb

        self._vector = vector
        client = chromadb.PersistentClient(str(folder / "chroma"))
        self._rows = client.create_collection("runs", metadata={"hnsw:space": "cosine"})

    def fill(self, numbers: range) -> None:
        """See `Peer`."""
        for start in range(numbers.start, numbers.stop, 1_000):
            part = range(start, min(start + 1_000, numbers.stop))
            tasks = [{"task": task_of(number)} for number in part]
            vectors, documents = [self._vector(one) for one in part], [document_of(one) for one in part]
            self._rows.add(ids=[str(one) for one in part], embeddings=vectors, documents=documents, metadatas=tasks)

    def learn(self, number: int) -> None:
        """See `Peer`."""
        self.fill(range(number, number + 1))

    def ask(self, number: int) -> str:
        """See `Peer`."""
        found = self._rows.query(query_embeddings=[self._vector(number)], n_results=1)["metadatas"]
        return str(found[0][0]["task"])


class Lance:
    """A table of lancedb on disk, without an index: it searches exactly."""

    def __init__(self, folder: Path, vector: Given) -> None:
        import lancedb

        self._database, self._vector, self._table = lancedb.connect(str(folder / "lance")), vector, None

    def fill(self, numbers: range) -> None:
        """See `Peer`."""
        rows = [{"task": task_of(one), "document": document_of(one), "vector": self._vector(one)} for one in numbers]
        if self._table is None:
            self._table = self._database.create_table("runs", rows)
        else:
            self._table.add(rows)

    def learn(self, number: int) -> None:
        """See `Peer`."""
        self.fill(range(number, number + 1))

    def ask(self, number: int) -> str:
        """See `Peer`."""
        return str(self._table.search(self._vector(number)).metric("cosine").limit(1).to_list()[0]["task"])


class UfoPath:
    """LangChain's FAISS as UFO calls it: to learn is to load, merge and save the whole database."""

    def __init__(self, folder: Path, vector: Given) -> None:
        from langchain_core.embeddings import Embeddings

        class Known(Embeddings):
            """Vectors of tasks that are known already."""

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [vector(int(text)) for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return vector(int(text))

        self._folder, self._known = str(folder / "ufo"), Known()

    def fill(self, numbers: range) -> None:
        """See `Peer`."""
        self._store = self._made(numbers)
        self._store.save_local(self._folder)

    def learn(self, number: int) -> None:
        """See `Peer`."""
        from langchain_community.vectorstores import FAISS

        before = FAISS.load_local(self._folder, self._known, allow_dangerous_deserialization=True)
        self._store = self._made(range(number, number + 1))
        self._store.merge_from(before)
        self._store.save_local(self._folder)

    def ask(self, number: int) -> str:
        """See `Peer`."""
        return str(self._store.similarity_search(str(number), 1)[0].metadata["task"])

    def _made(self, numbers: range) -> Any:
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document

        keep = [{"task": task_of(one), "document": document_of(one)} for one in numbers]
        documents = [Document(page_content=str(one), metadata=data) for one, data in zip(numbers, keep, strict=True)]
        return FAISS.from_documents(documents, self._known)


PEERS: dict[str, tuple[Callable[[Path, Given], Peer], str]] = {
    "FTS5": (Words, "sqlite3"),
    "chromadb": (Chroma, "chromadb"),
    "lancedb": (Lance, "lancedb"),
    "UFO's path": (UfoPath, "langchain_community"),
}


def measure_peer(name: str, size: int, repeats: int, vector: Given) -> Row:
    """One package at one size. Raises `StorageError` when it does not find what it learned."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        peer = PEERS[name][0](Path(folder), vector)
        peer.fill(range(size))
        numbers = range(size, size + repeats)
        for number in (*numbers, *range(repeats)):
            vector(number)
        asked = [_milliseconds(peer.ask, number) for number in range(repeats)]
        learned = [_milliseconds(peer.learn, number) for number in numbers]
        if peer.ask(numbers[-1]) != task_of(numbers[-1]):
            raise StorageError(f"{name} does not find what it learned")
        times = {"ask": _spread(asked), "learn": _spread(learned)}
        return Row(name, size, times, _bytes_in(Path(folder)) // size)


def measure_ours(size: int, repeats: int) -> Row:
    """This package at one size, through its façade."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "db"
        with ExperienceMemory.open(place, embedder=EMBEDDER) as memory:
            for number in range(size):
                learn(memory, number)
            memory.index()
            weight = _bytes_in(place) // size
            memory.retrieve(task_of(0))
            times = {"ask": [_milliseconds(lambda n: memory.retrieve(task_of(n)), one) for one in range(repeats)]}
            times |= _learned(memory, place, range(size, size + repeats))
            times["rebuild"] = [_rebuild(memory, size + repeats + turn * NEW_RECORDS) for turn in range(3)]
        return Row("ufo_experience", size, {name: _spread(some) for name, some in times.items()}, weight)


def learn(memory: ExperienceMemory, number: int) -> Experience:
    """Remember the run of a number, judged by a program."""
    return memory.remember(task_of(number), steps_of(number), success=True, application=application_of(number))


def _learned(memory: ExperienceMemory, place: Path, numbers: range) -> dict[str, list[float]]:
    """Milliseconds until a run is learned, and until another process that has the store open finds it."""
    learned, found = [], []
    with subprocess.Popen(
        [sys.executable, "-c", _READER, str(place), EMBEDDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        _expect(reader, "ready")
        for number in numbers:
            started = time.perf_counter()
            learn(memory, number)
            learned.append((time.perf_counter() - started) * 1_000)
            assert reader.stdin is not None
            print(task_of(number), file=reader.stdin, flush=True)
            _expect(reader, "found")
            found.append((time.perf_counter() - started) * 1_000)
        reader.kill()
    return {"learn": learned, "found": found}


def _expect(reader: subprocess.Popen[str], word: str) -> None:
    said = reader.stdout.readline().strip() if reader.stdout else ""
    if said != word:
        raise StorageError(f"the process that asks said {said!r} instead of {word!r}")


def _rebuild(memory: ExperienceMemory, first: int) -> float:
    """Milliseconds for `index` after some runs were learned."""
    for number in range(first, first + NEW_RECORDS):
        learn(memory, number)
    started = time.perf_counter()
    memory.index(rebuild=True)
    return (time.perf_counter() - started) * 1_000


def _milliseconds(act: Callable[[int], object], number: int) -> float:
    started = time.perf_counter()
    act(number)
    return (time.perf_counter() - started) * 1_000


def _spread(times: Sequence[float]) -> tuple[float, float]:
    return round(float(np.median(times)), 2), round(float(np.percentile(times, 95)), 2)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def parse_sizes(text: str) -> list[int]:
    """`100,1k,2m` as numbers. Raises `UsageError` for what is no size."""
    found = []
    for part in text.lower().split(","):
        digits, unit = part.rstrip("km"), part[len(part.rstrip("km")) :]
        if not digits.isdecimal() or unit not in _UNITS or int(digits) == 0:
            raise UsageError(f"{part!r} is no size; write 100, 1k or 2m")
        found.append(int(digits) * _UNITS[unit])
    return found


def page_of(rows: Sequence[Row], disturbed: Sequence[str]) -> str:
    """The table of a run."""
    lines = [f"{describe()}; {EMBEDDER}; ms, median / 95th percentile"]
    lines += [f"**Not publishable**: {reason}" for reason in disturbed] + [""]
    headers = ("package", "records", "ask", "learn one", "found by another process", "rebuild, 5 new", "bytes a record")
    cells = []
    for row in rows:
        spread = [row.times.get(name) for name in WORK]
        shown = ["–" if one is None else f"{one[0]:,.2f} / {one[1]:,.2f}" for one in spread]
        cells.append([row.name, f"{row.size:,}", *shown, f"{row.record_bytes:,}"])
    return "\n".join(lines + table(headers, cells))


def run(sizes: Sequence[int], repeats: int) -> Iterator[Row]:
    """Every installed package at every size, ours first."""
    vector = Given()
    for size in sizes:
        yield measure_ours(size, repeats)
        for name, (_, module) in PEERS.items():
            if find_spec(module) is None:
                print(f"left out: {name}, {module} is not installed", file=sys.stderr)
            else:
                yield measure_peer(name, size, repeats, vector)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the table (or JSON)."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1k,10k", help="numbers of records")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="how often each kind of work is timed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    disturbed = why_busy()
    rows = list(run(parse_sizes(given.sizes), given.repeats))
    disturbed += why_busy(running=1)
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "disturbed": disturbed}))
    else:
        print(page_of(rows, disturbed))
