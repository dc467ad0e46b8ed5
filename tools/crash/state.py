"""What a fresh process finds in a store folder, and small helpers all campaigns share."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from ufo_experience.index.build import empty_snapshot, load_snapshot
from ufo_experience.index.generations import Generations
from ufo_experience.index.snapshot import Snapshot, apply, find_changes
from ufo_experience.store.folder.store import FileStore

from tests.disks import UnsyncedDisk
from ufo_experience.embed.hashing import HashingEmbedder

EMBEDDER = HashingEmbedder(32)
_ROOT = str(Path(__file__).resolve().parents[2])
_PRELOAD = [
    "__main__",
    "tools.crash.worker",
    "tools.crash.writers",
    "tools.crash.ufo_model",
    "ufo_experience.ingest",
    "ufo_experience.store.exchange",
    "ufo_experience.index.engines.faiss",
    "ufo_experience.redact.trajectory",
    "ufo_experience.traces.execution_trace",
]
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"

Message = tuple[Any, ...]


@dataclass(frozen=True)
class Found:
    """Live records as id → (trust, times injected), files `verify` complains of, and the ids the index holds."""

    records: dict[str, tuple[str, int]]
    corrupt: tuple[str, ...]
    columns: frozenset[str]
    vectors: frozenset[str]

    @property
    def index_agrees(self) -> bool:
        """True when the index, caught up, is about exactly the records, apart from those that cannot be read."""
        damaged = {Path(file).stem for file in self.corrupt}
        return self.columns == self.vectors and self.columns - damaged == frozenset(self.records) - damaged


def look(folder: Path) -> Found:
    """Open the store as a new process would, read everything, catch the index up."""
    store = FileStore.open(folder, create=False, disk=UnsyncedDisk())
    snapshot = caught_up(store, Generations(folder / "index", UnsyncedDisk()))
    return Found(
        records={one.id: (one.trust.value, one.usage.injected) for one in store.scan()},
        corrupt=tuple(problem.file for problem in store.verify().corrupt),
        columns=frozenset(snapshot.catalog.ids()),
        vectors=frozenset(id for id in snapshot.catalog.ids() if id in snapshot.index),
    )


def caught_up(store: FileStore, generations: Generations) -> Snapshot:
    """The published generation with every commit since."""
    snapshot = load_snapshot(store, generations) or empty_snapshot(EMBEDDER.dim)
    return apply(snapshot, find_changes(store, snapshot), EMBEDDER)


def bytes_below(folder: Path) -> bytes:
    """Every byte of every file, for searching."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def start(target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """Run `target(pipe, *arguments)` in a process of its own; it is forked from a clean server where that exists."""
    context = multiprocessing.get_context(_METHOD)
    if _METHOD == "forkserver":
        _begin_server(context)
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def _begin_server(context: Any) -> None:
    """The server imports what workers need once; it looks into PYTHONPATH only."""
    from multiprocessing import forkserver

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in (_ROOT, before) if path)
    context.set_forkserver_preload(_PRELOAD)
    forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def received(pipe: Connection) -> list[Message]:
    """All whole messages a process sent before it ended."""
    messages: list[Message] = []
    try:
        while True:
            messages.append(tuple(json.loads(pipe.recv_bytes())))
    except (EOFError, OSError):
        return messages


def send(pipe: Connection, *message: Any) -> None:
    """Send a message; it arrives even if the process is killed right after."""
    pipe.send_bytes(json.dumps(message).encode())
