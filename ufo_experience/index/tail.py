"""The tail of a generation: what was learned since it was published, as frames in one file that only grows.

    index/tail-<generation>     frame after frame
    frame                       magic, length of head and body, SHA-256 of both, head (JSON), body (arrays, end to end)

A writer appends one frame for what it committed, so that the next process need not read those records again, and no
generation is written for one record. A frame that is torn or damaged ends the tail: what it held is read from the
records. The tail is never the truth, and nothing waits for it to be on the medium.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ufo_experience.index.catalog import ROW, Catalog

MAX_FRAMES = 64  # more are written anew as one
MOST_UNSEEN = 16  # rows behind the last frame that tells of shards: whoever reads the tail lists theirs
MAX_TAIL_BYTES = 512 * 2**20

_MAGIC = b"UFOTAIL1"
_LENGTHS = struct.Struct("<QQ")
_CHECKSUM_BYTES = 32
_HEAD_BYTES = len(_MAGIC) + _LENGTHS.size + _CHECKSUM_BYTES
_COLUMNS: dict[str, np.dtype[Any]] = {
    "rows": ROW,
    "texts_blob": np.dtype("u1"),
    "texts_ends": np.dtype("<i8"),
    "terms": np.dtype("<u8"),
    "terms_ptr": np.dtype("<i8"),
    "terms_rows": np.dtype("<i4"),
    "terms_weights": np.dtype("<f4"),
    "vector_rows": np.dtype("<i4"),
    "vectors": np.dtype("<f4"),
}
Array = NDArray[Any]


@dataclass(frozen=True)
class Frame:
    """Records that were added or changed, with their vectors as far as there are any, and ids that are gone.

    `vectors[i]` belongs to row `vector_rows[i]`. `mtimes` are those of shards that differ from the frame before.
    """

    catalog: Catalog
    vector_rows: NDArray[np.int32]
    vectors: NDArray[np.float32]
    removed: tuple[str, ...] = ()
    mtimes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TailPosition:
    """How far a reader has read a tail: its length, and offset and checksum of its last frame. `unseen` are the rows
    behind the last frame that tells of shards."""

    generation: int
    length: int = 0
    checksum: bytes = b""
    last: int = 0
    frames: int = 0
    rows: int = 0
    unseen: int = 0
    mtimes: Mapping[str, int] = field(default_factory=dict)


class _Part(NamedTuple):
    """The head of a frame, where its body begins, and where it ends."""

    head: dict[str, Any]
    body: int
    end: int


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    arrays = {**frame.catalog.arrays(), "vector_rows": frame.vector_rows, "vectors": frame.vectors}
    head = json.dumps(
        {
            "removed": frame.removed,
            "mtimes": frame.mtimes,
            "dim": frame.vectors.shape[1],
            "lengths": {name: len(arrays[name]) for name in _COLUMNS},
        }
    ).encode("ascii")
    body = b"".join(np.ascontiguousarray(arrays[name], dtype=kind).tobytes() for name, kind in _COLUMNS.items())
    lengths = _LENGTHS.pack(len(head), len(body))
    return _MAGIC + lengths + sha256(lengths + head + body).digest() + head + body


def decode(data: bytes, generation: int, mtimes: Mapping[str, int]) -> tuple[list[Frame], TailPosition]:
    """The whole frames of a tail, and where they end; `mtimes` are those of the generation."""
    parts, position = _follow(data, generation, mtimes)
    return [_read(one.head, data, one.body) for one in parts], position


def end_of(data: bytes, generation: int, mtimes: Mapping[str, int]) -> TailPosition:
    """Where the whole frames of a tail end; what stands in them is not looked at."""
    return _follow(data, generation, mtimes)[1]


def _follow(data: bytes, generation: int, mtimes: Mapping[str, int]) -> tuple[list[_Part], TailPosition]:
    parts: list[_Part] = []
    position = TailPosition(generation)
    changed: dict[str, int] = {}
    while part := _part_at(data, position.length):
        parts.append(part)
        head = part.head
        rows = head["lengths"]["rows"] + len(head["removed"])
        position = _behind(position, rows, head["mtimes"], data[position.length : part.end])
        changed |= head["mtimes"]
    return parts, replace(position, mtimes=with_changed(mtimes, changed))


def after(position: TailPosition, frame: Frame, data: bytes) -> TailPosition:
    """The position behind a frame, encoded as `data`, that was appended at a position."""
    rows = len(frame.catalog.rows) + len(frame.removed)
    behind = _behind(position, rows, frame.mtimes, data)
    return replace(behind, mtimes=with_changed(position.mtimes, frame.mtimes))


def _behind(position: TailPosition, rows: int, mtimes: Mapping[str, int], data: bytes) -> TailPosition:
    return TailPosition(
        position.generation,
        position.length + len(data),
        data[_HEAD_BYTES - _CHECKSUM_BYTES : _HEAD_BYTES],
        position.length,
        position.frames + 1,
        position.rows + rows,
        0 if mtimes else position.unseen + rows,
    )


def ends_at(data: bytes, position: TailPosition) -> bool:
    """True when a tail ends at a position; torn bytes behind it do not count."""
    checksum = data[position.last + _HEAD_BYTES - _CHECKSUM_BYTES : position.last + _HEAD_BYTES]
    same = len(data) >= position.length and (not position.frames or checksum == position.checksum)
    return same and _part_at(data, position.length) is None


def with_changed(mtimes: Mapping[str, int], changed: Mapping[str, int]) -> dict[str, int]:
    """Shard times with the changed ones replaced; one of -1 is of a shard that is gone."""
    return {name: value for name, value in {**mtimes, **changed}.items() if value != -1}


def changed_since(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """What `with_changed` needs to make `now` of `before`."""
    return {name: now.get(name, -1) for name in before.keys() | now.keys() if before.get(name) != now.get(name)}


def merge(frames: Sequence[Frame], dim: int) -> Frame:
    """One frame that says what several said one after the other."""
    live: list[NDArray[np.bool_]] = []
    seen: set[bytes] = set()
    vectors: dict[bytes, Array] = {}
    for frame in reversed(frames):  # the last word on a record counts
        ids = frame.catalog.rows["id"].tolist()
        live.append(np.array([one not in seen for one in ids], np.bool_))
        named = {ids[row]: vector for row, vector in zip(frame.vector_rows.tolist(), frame.vectors, strict=True)}
        vectors |= {one: vector for one, vector in named.items() if one not in seen}
        seen.update(ids, (one.encode("ascii") for one in frame.removed))
    catalog = _joined([frame.catalog for frame in frames], live[::-1]).compact()
    there = [row for row, one in enumerate(catalog.rows["id"].tolist()) if one in vectors]
    matrix = np.array([vectors[catalog.rows["id"][row]] for row in there], np.float32).reshape(len(there), dim)
    mtimes = {name: value for frame in frames for name, value in frame.mtimes.items()}
    removed = dict.fromkeys(one for frame in frames for one in frame.removed)
    return Frame(catalog, np.array(there, np.int32), matrix, tuple(removed), mtimes)


def _joined(catalogs: Sequence[Catalog], live: Sequence[NDArray[np.bool_]]) -> Catalog:
    starts = np.cumsum([0, *(len(one.rows) for one in catalogs)]).tolist()
    return Catalog(
        np.frombuffer(b"".join(one.rows.tobytes() for one in catalogs), ROW),  # numpy compares the fields each time
        np.concatenate(live),
        tuple(one.texts[0] for one in catalogs),
        tuple(one.terms[0].shifted(start) for one, start in zip(catalogs, starts, strict=False)),
    )


def _part_at(data: bytes, at: int) -> _Part | None:
    """The part of a tail, one frame, that begins at an offset; None where no whole one is."""
    if data[at : at + len(_MAGIC)] != _MAGIC or len(data) < at + _HEAD_BYTES:
        return None
    lengths = data[at + len(_MAGIC) : at + len(_MAGIC) + _LENGTHS.size]
    head_bytes, body_bytes = _LENGTHS.unpack(lengths)
    first = at + _HEAD_BYTES
    end = first + head_bytes + body_bytes
    checksum = data[at + len(_MAGIC) + _LENGTHS.size : first]
    if end > len(data) or sha256(lengths + data[first:end]).digest() != checksum:
        return None
    return _Part(json.loads(data[first : first + head_bytes]), first + head_bytes, end)


def _read(head: Mapping[str, Any], data: bytes, at: int) -> Frame:
    arrays: dict[str, Array] = {}
    for name, kind in _COLUMNS.items():
        count = head["lengths"][name] * (head["dim"] if name == "vectors" else 1)
        arrays[name] = np.frombuffer(data, kind, count, at)
        at += count * kind.itemsize
    vectors = arrays["vectors"].reshape(-1, head["dim"])
    return Frame(Catalog.from_arrays(arrays), arrays["vector_rows"], vectors, tuple(head["removed"]), head["mtimes"])
