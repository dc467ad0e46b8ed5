"""The way UFO saves, as a baseline: one YAML file and an index beside it, both rewritten in place."""

from __future__ import annotations

import json
from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tools.crash.state import EMBEDDER, send
from tools.crash.worker import record
from ufo_experience.integrations.formats.ufo_example import to_ufo_example
from ufo_experience.store.files import Disk

RECORDS, VECTORS, IDS = "experience.yaml", "index.vectors", "index.ids"
_BUFFER = 8192


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """The records; raises what YAML raises for a torn file."""
    path = folder / RECORDS
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or {} if path.exists() else {}


def save(folder: Path, records: dict[str, dict[str, Any]], disk: Disk) -> None:
    """Write all records, then the index of all records."""
    _rewrite(folder / RECORDS, yaml.dump(records, Dumper=yaml.CSafeDumper).encode(), disk)
    vectors = EMBEDDER.embed([one["request"] for one in records.values()]) if records else np.empty((0, EMBEDDER.dim))
    _rewrite(folder / VECTORS, vectors.astype(np.float32).tobytes(), disk)
    _rewrite(folder / IDS, json.dumps([one["id"] for one in records.values()]).encode(), disk)


def _rewrite(path: Path, data: bytes, disk: Disk) -> None:
    handle = disk.append(path)
    try:
        disk.truncate(handle, 0)
        for start in range(0, len(data), _BUFFER):
            disk.write(handle, data[start : start + _BUFFER])
    finally:
        disk.close(handle)


def add(folder: Path, number: int, disk: Disk) -> str:
    """Append one record under the next key and rewrite both files."""
    return add_all(folder, [number], disk)[0]


def add_all(folder: Path, numbers: Iterable[int], disk: Disk) -> list[str]:
    """`add` for several records with one save."""
    records, new = load(folder), [record(number) for number in numbers]
    for one in new:
        records[f"example{len(records)}"] = {**to_ufo_example(one), "id": one.id}
    save(folder, records, disk)
    return [one.id for one in new]


def look(folder: Path) -> tuple[set[str] | None, bool]:
    """Ids of the records (None: unreadable), and whether the index is about them."""
    try:
        ids = [one["id"] for one in load(folder).values() if isinstance(one["request"], str)]
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, KeyError):
        return None, False
    try:
        names = json.loads((folder / IDS).read_bytes()) if (folder / IDS).exists() else []
        rows = (folder / VECTORS).stat().st_size if (folder / VECTORS).exists() else 0
    except ValueError:
        return set(ids), False
    return set(ids), sorted(names) == sorted(ids) and rows == len(ids) * EMBEDDER.dim * 4


def work(pipe: Connection, folder: str, seed: int) -> None:
    """Add records until killed, each acknowledged."""
    send(pipe, "ready")
    for number in range(seed * 10_000, seed * 10_000 + 10_000):
        id = add(Path(folder), number, Disk())
        send(pipe, "done", id)
