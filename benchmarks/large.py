"""A folder store of a million records, and the loop of an agent in it, by processor time.

    python benchmarks/large.py make FOLDER --records 1m       some minutes on two cores, 10 GB
    python benchmarks/large.py measure FOLDER [--rebuild]

The records are those of `bench speed`: steps of the samples, each with a request, a session and an application of its
own. Files and columns are those the store and the job write, byte for byte (the first of every part are compared), but
written by several processes and without waiting for the medium. Vectors are those of the first 4,096 requests over and
over: the default embedder's are kept and never compared.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ufo_experience import ExperienceMemory
from ufo_experience.benchmark.page import table
from ufo_experience.benchmark.speed.loop import records, task_of, write_log
from ufo_experience.benchmark.speed.machine import describe, why_busy
from ufo_experience.benchmark.speed.run import parse_sizes
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.errors import DataError
from ufo_experience.index.base import Content, Vectors
from ufo_experience.index.build import begin, publish
from ufo_experience.index.catalog import Catalog
from ufo_experience.index.document import embedded_text
from ufo_experience.index.engines.faiss import FaissIndex
from ufo_experience.index.engines.segment import ATTRIBUTES, binary_quantize, sort_order
from ufo_experience.index.generations import npy, npy_blocks, open_generations
from ufo_experience.index.snapshot import settled
from ufo_experience.index.sources import read_sources
from ufo_experience.schema import Experience
from ufo_experience.store import open_store
from ufo_experience.store.codec import encode
from ufo_experience.store.records import clean_record, encode_record

PART = 25_000  # records made at a time
COMPARED = 12  # of each part, with what the store would write
VECTORS = 4_096


def make(folder: Path, count: int, jobs: int) -> None:
    """Write the store and its index."""
    db = folder / "db"
    open_store(db).close()
    starts = range(0, count, PART)
    with get_context("spawn").Pool(jobs) as pool:
        for first in pool.imap_unordered(partial(make_part, folder, count), starts):
            print(f"records from {first:,} on are written")
    store, embedder = open_store(db), HashingEmbedder()
    parts = [Catalog.from_arrays(_load(folder / f"part-{first}.npz")) for first in starts]
    catalog = _joined(parts)
    print("columns are joined")
    with TemporaryDirectory() as there:
        texts = [embedded_text(one) for one in islice(records(min(count, VECTORS), Path(there)), VECTORS)]
    generations = open_generations(store)
    snapshot = replace(
        begin(store, generations.engine, embedder),
        catalog=catalog,
        index=Repeated(catalog, embedder.embed(texts, "document")),
        mtimes=settled(store.shard_mtimes()),
        sources=read_sources(store),
    )
    print("digests are read")
    publish(store, generations, snapshot, embedder)
    for first in starts:
        (folder / f"part-{first}.npz").unlink()


def make_part(folder: Path, count: int, first: int) -> int:
    """Write the files of some records, and their columns beside the store."""
    last = min(first + PART, count)
    with TemporaryDirectory() as there:
        made = list(records(last - first, Path(there), first))
    payloads: dict[int, tuple[Any, str]] = {}  # by the steps, which records of one sample share; and as text
    for number, one in enumerate(made):
        data, said = payloads.get(id(one.action), ({}, ""))
        if not said or str(first + number) in said:  # the number of its request is one of its steps, and no other's
            data = clean_record(one).data
            if not said:
                payloads[id(one.action)] = data, one.action.model_dump_json()
        encoded = encode(_with_own(data, one), file=one.id)
        if number < COMPARED and encoded != encode_record(one):
            raise DataError(f"{one.id} is not what the store would write")
        place = folder / "db" / "records" / one.id[:2]
        place.mkdir(exist_ok=True, mode=0o700)
        (place / f"{one.id}.json").write_bytes(encoded)
    np.savez(folder / f"part-{first}.npz", allow_pickle=False, **Catalog.build(made).arrays())
    return first


def _with_own(data: Any, one: Experience) -> dict[str, Any]:
    """The payload of a record of the same steps with what this one has of its own."""
    own = one.model_dump(mode="json", include={"id": True, "state": True, "provenance": True})
    changed = {"id": own["id"], "state": dict(data["state"]), "provenance": dict(data["provenance"])}
    changed["state"].update((name, own["state"][name]) for name in ("request", "task", "application"))
    changed["provenance"].update((name, own["provenance"][name]) for name in ("session", "source", "content_hash"))
    return {**data, **changed}


def _load(path: Path) -> dict[str, Any]:
    with np.load(path) as found:
        return dict(found)


def _joined(parts: Sequence[Catalog]) -> Catalog:
    """One catalog of several."""
    starts = np.cumsum([0, *(len(part.rows) for part in parts)])
    terms = tuple(part.terms[0].shifted(int(start)) for part, start in zip(parts, starts, strict=False))
    rows = np.concatenate([part.rows for part in parts])
    return Catalog(rows, np.ones(len(rows), np.bool_), tuple(part.texts[0] for part in parts), terms).compact()


class Repeated(FaissIndex):
    """Some vectors over and over, as the index of a catalog, to be saved and not to be searched."""

    def __init__(self, catalog: Catalog, vectors: Vectors) -> None:
        """One row for each of the catalog's."""
        super().__init__(vectors.shape[1])
        self._catalog, self._vectors = catalog, vectors

    def save(self) -> dict[str, Content]:
        """See `FaissIndex.save`."""
        rows = self._catalog.rows
        attributes = np.empty(len(rows), ATTRIBUTES)
        for name in ATTRIBUTES.names or ():
            attributes[name] = rows[name]
        order = sort_order(rows["id"], attributes)
        ids = rows["id"][order]
        by_id = np.argsort(ids, kind="stable").astype(np.int32)
        files: dict[str, Content] = {
            f"{name}.npy": npy(array)
            for name, array in zip(self.FILES[1:], (ids, by_id, attributes[order]), strict=True)
        }
        count, dim = len(rows), self.dim
        files[f"{self.FILES[0]}.npy"] = npy_blocks(np.float32, (count, dim), self._blocks(self._vectors, count))
        codes = binary_quantize(self._vectors)
        files[f"{self.CODES}.npy"] = npy_blocks(np.uint8, (count, codes.shape[1]), self._blocks(codes, count))
        return files

    @staticmethod
    def _blocks(block: Any, count: int) -> Iterator[Any]:
        for start in range(0, count, len(block)):
            yield block[: count - start]


def measure(folder: Path, rebuild: bool, repeats: int) -> None:
    """The loop in the store, one kind of work after the other."""
    times: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = act()
        times.setdefault(name, []).append((time.process_time() - started) * 1000)
        return found

    busy = why_busy()
    memory = timed("open", lambda: ExperienceMemory.open(folder / "db", embedder="hashing"))
    count = memory.stats().records
    timed("first question", lambda: memory.retrieve(task_of(1)))
    for number in range(repeats):
        timed("question", partial(memory.retrieve, task_of(1_000 + 977 * number)))
    for number in range(repeats):
        task = task_of(2_000 + 977 * number)
        timed("question and prompt", lambda task=task: memory.build_prompt(task, memory.retrieve(task)))
    for number in range(repeats):
        timed(
            "question inside an application", partial(memory.retrieve, task_of(977 * number), application="EXCEL.EXE")
        )
    for number in range(max(repeats // 4, 2)):
        stamp = time.time_ns()
        log = write_log(folder / f"log-{stamp}", f"Reconcile the ledger of branch {stamp} with statement {number}")
        timed("learn one run", partial(memory.ingest, log, force=True))
        timed("question after learning one run", partial(memory.retrieve, task_of(5_000 + 977 * number)))
        hits = memory.retrieve(task_of(7_000 + 977 * number))
        timed("report", partial(memory.report, hits, success=True, session=f"bench-{stamp}"))
        timed("question after a report", partial(memory.retrieve, task_of(9_000 + 977 * number)))
    resident = _resident()
    if rebuild:
        timed("`index --rebuild`", partial(memory.index, rebuild=True))
    busy += [one for one in why_busy(running=1) if one not in busy]
    print(f"{count:,} records; {describe()}; busy: {'; '.join(busy) or 'no'}")
    cells = [[name, *_figures(some)] for name, some in times.items()]
    print("\n".join(table(("ms of processor time", "least", "median", "95th percentile", "n"), cells)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print("MB after these:", ", ".join(f"{name} {value:,}" for name, value in resident.items()), f"; peak {peak:,}")


def _figures(times: list[float]) -> list[str]:
    found = (min(times), float(np.median(times)), float(np.percentile(times, 95)))
    return [*(f"{one:,.1f}" for one in found), str(len(times))]


def _resident() -> dict[str, int]:
    """Megabytes of this process: all that is resident, of it its own and of mapped files."""
    names = {"VmRSS": "resident", "RssAnon": "own", "RssFile": "mapped files"}
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.startswith(tuple(names))}
    return {names[name]: value for name, value in found.items()}


def main() -> None:
    """Make or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=("make", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", default="1m")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rebuild", action="store_true", help="measure a rebuild where nothing changed, too")
    given = parser.parse_args()
    if given.work == "make":
        make(given.folder, parse_sizes(given.records)[0], given.jobs)
    else:
        measure(given.folder, given.rebuild, given.repeats)


if __name__ == "__main__":
    main()
