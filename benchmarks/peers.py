"""The index beside other memories and vector stores: the same rows, the same queries, one run.

    pip install langchain-community mem0ai chromadb lancedb
    python benchmarks/peers.py --sizes 1k,10k --dims 384
    python benchmarks/peers.py --loop --sizes 1k,10k --dims 384

`--loop` measures what an agent pays: learn one run until a handle that was opened anew finds it, and a question that
gives back the document, not its id. `ufo-experience bench speed` measures the same of this package, records and all.

What is not installed is left out, and said so. Each is used as its own documentation (or UFO) uses it:

    UFO's path   langchain-community FAISS, `similarity_search` with a filter function and the default `fetch_k`; adding
                 one experience is from_documents → load_local → merge_from → save_local, as UFO updates its database
    mem0         its FAISS store, asked and filled directly: no language model, no telemetry
    chromadb     a persistent client, cosine space, `where` for the application
    lancedb      no index, cosine metric, `where` before ranking
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Protocol

os.environ.update(MEM0_TELEMETRY="False", ANONYMIZED_TELEMETRY="False", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from ufo_experience.benchmark.page import table
from ufo_experience.benchmark.speed.engines import engines as our_engines
from ufo_experience.benchmark.speed.loop import records
from ufo_experience.benchmark.speed.machine import why_busy
from ufo_experience.benchmark.speed.page import report_text
from ufo_experience.benchmark.speed.run import Data, Engine, K, as_data, make_data, parse_sizes, run
from ufo_experience.integrations.formats.ufo_example import to_ufo_example
from ufo_experience.index.base import Vectors
from ufo_experience.index.snapshot import MTIME_GRANULARITY_NS
from ufo_experience.integrations.ufo import ExperienceRetriever, ExperienceSummarizer
from ufo_experience.integrations.ufo.summaries import Summary
from ufo_experience.memory import ExperienceMemory

DOCUMENT = "step: click the control named so, and say what was seen; " * 50  # 3 kB, as a record made from a log
LOOPS = 15
LoopRow = dict[str, Any]


class Looped(Protocol):
    """A peer that keeps documents beside vectors."""

    name: str

    def build(self, data: Data) -> None: ...
    def add(self, id: str, vector: Vectors, application: str) -> None: ...

    def find(self, query: Vectors) -> str:
        """The document nearest to a query, through a handle that is opened anew as far as the package lets one."""
        ...


def _payload(application: str) -> dict[str, str]:
    return {"application": application, "document": DOCUMENT}


def measure_loop(peer: Looped, size: int, dim: int) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile, in ms, of adding one document, of finding it, and of both."""
    data = make_data(size, dim, LOOPS)
    peer.build(data)
    add, find = [], []
    for number, vector in enumerate(data.queries):
        began = time.perf_counter()
        peer.add(f"{size + number:032x}", vector, data.applications[0])
        middle = time.perf_counter()
        if peer.find(vector) != DOCUMENT:
            raise SystemExit(f"{peer.name}: what was added is not found")
        add.append((middle - began) * 1000)
        find.append((time.perf_counter() - middle) * 1000)
    both = [one + other for one, other in zip(add, find, strict=True)]
    named = (("learn", add), ("ask", find), ("found", both))
    return {name: (round(median(times), 2), round(quantiles(times, n=20)[-1], 2)) for name, times in named}


class UfoPath:
    """LangChain's FAISS as UFO calls it."""

    name = "UFO's path"

    def __init__(self, folder: Path) -> None:
        from langchain_core.embeddings import Embeddings

        class Given(Embeddings):
            """Vectors that are known already, by text."""

            def __init__(self) -> None:
                self.known: dict[str, list[float]] = {}

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [self.known[text] for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return self.known[text]

        self._folder, self._given = str(folder / "ufo"), Given()

    def build(self, data: Data) -> None:
        """See `Engine`."""
        from langchain_community.vectorstores import FAISS

        self._given.known = dict(zip(data.ids, data.vectors.tolist(), strict=True))
        self._store = FAISS.from_documents(self._documents(data.ids, data.applications), self._given)
        self._store.save_local(self._folder)
        self._given.known = {}

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        self._given.known["query"] = query.tolist()
        keep = None if application is None else lambda metadata: application in metadata["app_list"]
        return [found.page_content for found in self._store.similarity_search("query", K, filter=keep)]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        from langchain_community.vectorstores import FAISS

        self._given.known = {id: vector.tolist()}
        new = FAISS.from_documents(self._documents([id], [application]), self._given)
        old = FAISS.load_local(self._folder, self._given, allow_dangerous_deserialization=True)
        new.merge_from(old)
        new.save_local(self._folder)

    def find(self, query: Vectors) -> str:
        """See `Looped`."""
        from langchain_community.vectorstores import FAISS

        self._given.known["query"] = query.tolist()
        store = FAISS.load_local(self._folder, self._given, allow_dangerous_deserialization=True)
        return str(store.similarity_search("query", 1)[0].metadata["document"])

    @staticmethod
    def _documents(ids: Sequence[str], applications: Sequence[str]) -> list[Any]:
        from langchain_core.documents import Document

        pairs = zip(ids, applications, strict=True)
        return [
            Document(page_content=id, metadata={"request": id, "app_list": [name], "document": DOCUMENT})
            for id, name in pairs
        ]


class Mem0:
    """The FAISS store of mem0."""

    name = "mem0 (faiss)"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def build(self, data: Data) -> None:
        """See `Engine`."""
        from mem0.vector_stores.faiss import FAISS

        dim = data.vectors.shape[1]
        self._store = FAISS("bench", str(self._folder / "mem0"), "cosine", embedding_model_dims=dim)
        self._store.insert(list(data.vectors), [_payload(name) for name in data.applications], list(data.ids))

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        inside = None if application is None else {"application": application}
        return [found.id for found in self._store.search("", [query.tolist()], top_k=K, filters=inside)]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        self._store.insert([vector.tolist()], [_payload(application)], [id])

    def find(self, query: Vectors) -> str:
        """See `Looped`."""
        from mem0.vector_stores.faiss import FAISS

        store = FAISS("bench", str(self._folder / "mem0"), "cosine", embedding_model_dims=len(query))
        return str(store.search("", [query.tolist()], top_k=1)[0].payload["document"])


class Chroma:
    """A collection of chromadb."""

    name = "chromadb"

    def __init__(self, folder: Path) -> None:
        import chromadb

        self._client = chromadb.PersistentClient(str(folder / "chroma"))

    def build(self, data: Data) -> None:
        """See `Engine`."""
        self._rows = self._client.create_collection(f"rows-{len(data.ids)}", metadata={"hnsw:space": "cosine"})
        for start in range(0, len(data.ids), 5000):
            part = slice(start, start + 5000)
            where = [{"application": name} for name in data.applications[part]]
            documents = [DOCUMENT] * len(where)
            self._rows.add(ids=data.ids[part], embeddings=data.vectors[part], metadatas=where, documents=documents)

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        inside = None if application is None else {"application": application}
        return list(self._rows.query(query_embeddings=[query], n_results=K, where=inside, include=[])["ids"][0])

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        self._rows.add(ids=[id], embeddings=[vector], metadatas=[{"application": application}], documents=[DOCUMENT])

    def find(self, query: Vectors) -> str:
        """See `Looped`."""
        found = self._rows.query(query_embeddings=[query], n_results=1, include=["documents"])["documents"]
        return str(found[0][0] if found else "")


class Lance:
    """A table of lancedb."""

    name = "lancedb"

    def __init__(self, folder: Path) -> None:
        import lancedb

        self._database = lancedb.connect(str(folder / "lance"))

    def build(self, data: Data) -> None:
        """See `Engine`."""
        import pyarrow

        dim = data.vectors.shape[1]
        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(data.vectors.ravel()), dim)
        documents = [DOCUMENT] * len(data.ids)
        columns = {"id": data.ids, "application": data.applications, "document": documents, "vector": vectors}
        self._name = f"rows{len(data.ids)}"
        self._rows = self._database.create_table(self._name, pyarrow.table(columns))

    def search(self, query: Vectors, application: str | None) -> list[str]:
        """See `Engine`."""
        asked = self._rows.search(query).metric("cosine").limit(K).select(["id", "_distance"])
        if application is not None:
            asked = asked.where(f"application = '{application}'", prefilter=True)
        return [row["id"] for row in asked.to_list()]

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        self._rows.add([{"id": id, "application": application, "document": DOCUMENT, "vector": vector}])

    def find(self, query: Vectors) -> str:
        """See `Looped`."""
        table = self._database.open_table(self._name)
        return str(
            table.search(query).metric("cosine").limit(1).select(["document", "_distance"]).to_list()[0]["document"]
        )


class DropIn:
    """This package in UFO's place: the same function of UFO, one summary at a time, over a store of records."""

    name = "ours, as UFO's summarizer"

    def __init__(self, folder: Path) -> None:
        self._folder, self._db = folder, str(folder / "dropin")

    def build(self, data: Data) -> None:
        """See `Engine`. The records are those of `bench speed`; the embedder has the dimension of the vectors."""
        self._embedder = f"hashing:{data.vectors.shape[1]}"
        self._made = records(len(data.ids) + LOOPS, self._folder)
        with ExperienceMemory.open(self._db, embedder=self._embedder) as memory:
            memory.store.add(islice(self._made, len(data.ids)))
            memory.index(rebuild=True)
        time.sleep(MTIME_GRANULARITY_NS / 1e9)  # as a store in use: what was written a moment ago is looked at again

    def add(self, id: str, vector: Vectors, application: str) -> None:
        """See `Engine`."""
        self._new = next(self._made)
        with _embedder(self._embedder):
            ExperienceSummarizer.create_or_update_vector_db([Summary(self._new)], self._db)

    def find(self, query: Vectors) -> str:
        """See `Looped`: a retriever opened anew."""
        with _embedder(self._embedder):
            found = ExperienceRetriever(self._db).retrieve(self._new.state.request, 5)
        return DOCUMENT if self._new.id in {document.id for document in found} else ""


@contextmanager
def _embedder(spec: str) -> Iterator[None]:
    """UFO's functions take no embedder: the environment names it."""
    name = "UFO_EXPERIENCE_EMBEDDER"
    before = os.environ.get(name)
    os.environ[name] = spec
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.__setitem__(name, before)


def yaml_times(entries: int, folder: Path) -> dict[str, float]:
    """Milliseconds to add one experience to UFO's YAML list of so many entries: ours, and loading and writing all of
    it as UFO does."""
    import yaml

    path = folder / "experience.yaml"
    made = [to_ufo_example(one) for one in records(entries + 1, folder)]
    whole = {f"example{number}": entry for number, entry in enumerate(made[:-1])}
    path.write_text(yaml.safe_dump(whole, sort_keys=False), encoding="utf-8")
    began = time.perf_counter()
    ExperienceSummarizer.create_or_update_yaml([made[-1]], str(path))
    middle = time.perf_counter()
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    loaded[f"example{len(loaded)}"] = made[-1]
    path.write_text(yaml.safe_dump(loaded), encoding="utf-8")
    return {"ours": (middle - began) * 1000, "UFO's way": (time.perf_counter() - middle) * 1000}


PEERS: dict[str, tuple[Callable[[Path], Looped], Sequence[str]]] = {
    "dropin": (DropIn, ()),
    "ufo": (UfoPath, ("langchain_community",)),
    "mem0": (Mem0, ("mem0", "faiss")),
    "chroma": (Chroma, ("chromadb",)),
    "lance": (Lance, ("lancedb", "pyarrow")),
}


def main() -> None:
    """Measure, and print the table (or JSON)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1k,10k")
    parser.add_argument("--dims", default="384")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--only", default=",".join(PEERS), help="which peers, of: " + ", ".join(PEERS))
    parser.add_argument("--loop", action="store_true", help="learn one document and ask for it")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = installed(name for name in given.only.split(",") if name and (given.loop or name != "dropin"))
    if given.loop:
        _loop(chosen, given)
        return
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cases = iter(range(10_000))

        def engines(dim: int) -> list[Engine]:
            place = Path(folder) / str(next(cases))
            place.mkdir()
            return [*our_engines(dim), *(peer(place) for peer in chosen)]

        def tell(done: int, total: int) -> None:
            print(f"{done} of {total} cases done", file=sys.stderr)

        sizes, dims = parse_sizes(given.sizes), parse_sizes(given.dims)
        report = run(sizes, dims, engines, queries=given.queries, progress=tell)
    print(json.dumps(as_data(report)) if given.json else report_text(report))


def installed(names: Iterable[str]) -> list[Callable[[Path], Looped]]:
    """The peers of these names whose packages are there; which are left out is said."""
    chosen = []
    for name in names:
        peer, packages = PEERS[name]
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            print(f"left out: {name}, {', '.join(missing)} is not installed", file=sys.stderr)
        else:
            chosen.append(peer)
    return chosen


def loop_rows(chosen: Sequence[Callable[[Path], Looped]], sizes: Sequence[int], dims: Sequence[int]) -> list[LoopRow]:
    """The loop of every peer at every size."""
    rows: list[LoopRow] = []
    for size in sizes:
        for dim in dims:
            for peer in chosen:
                with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                    made = peer(Path(folder))
                    rows.append({"engine": made.name, "size": size, "dim": dim, **measure_loop(made, size, dim)})
    return rows


def loop_table(rows: Sequence[LoopRow]) -> list[str]:
    """The loops as lines of a table."""
    headers = ["p50 / p95 ms", "documents × dimensions", "learn one", "ask, opened anew", "learn until found"]
    cells = [
        [
            r["engine"],
            f"{r['size']:,} × {r['dim']}",
            *(f"{r[k][0]:,.1f} / {r[k][1]:,.1f}" for k in ("learn", "ask", "found")),
        ]
        for r in rows
    ]
    return table(headers, cells)


def _loop(chosen: Sequence[Callable[[Path], Looped]], given: argparse.Namespace) -> None:
    rows = loop_rows(chosen, parse_sizes(given.sizes), parse_sizes(given.dims))
    busy = why_busy(running=1)
    if given.json:
        print(json.dumps({"rows": rows, "disturbed": busy}))
        return
    print("\n".join([*(f"Not publishable: {reason}" for reason in busy), *loop_table(rows)]))


if __name__ == "__main__":
    main()
