"""Vectors in Milvus: a cluster (`milvus://host:19530/name`), or Milvus Lite in process (`milvus:///folder/file.db`).

One collection for each space, partitioned by application, so that a search for one application reads its partition
only. Every search asks for strong consistency: what an `add` has returned from is found by all. Milvus Lite compares
row by row and is slow; it is there to try the same program that talks to a cluster. A token for a cluster stands in
`MILVUS_TOKEN`, never in the URL.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import numpy as np
from numpy.typing import NDArray

from ufo_experience.errors import MissingExtraError, ServiceError, UsageError
from ufo_experience.index.base import (
    DECIMALS,
    Attributes,
    Content,
    Filter,
    Neighbour,
    ServerIndex,
    Space,
    Vectors,
    application_of,
    check_counts,
    checked,
    columns_of,
    env_of,
    ranked,
)
from ufo_experience.index.generations import Generation
from ufo_experience.store.base import ExperienceStore

try:
    from pymilvus import DataType, MilvusClient, MilvusException
except ModuleNotFoundError as error:
    raise MissingExtraError(error.name or "pymilvus", "milvus") from error

TOKEN_VARIABLE = "MILVUS_TOKEN"
CONSISTENCY = "Strong"
BATCH = 1_000  # rows in one request
MAX_LIMIT = 16_384  # rows Milvus answers at most
TIES = 32  # more rows than asked for, so that equal scores at the edge are ordered by id
SAME = 2e-6
TIMEOUT_S = 30.0

_UNKNOWN = -1
_FIELDS = ("application", "env", "trust", "imported", "success")


class MilvusIndex(ServerIndex):
    """One collection of vectors. Nothing is asked of the server before the first call."""

    def __init__(self, uri: str, name: str, space: Space) -> None:
        super().__init__(space)
        self._uri = uri
        self._name = f"{name}_{sha256(repr(space).encode()).hexdigest()[:16]}"
        self._connected: MilvusClient | None = None
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls, engine: str, space: Space, *, store: ExperienceStore, generation: Generation | None = None
    ) -> MilvusIndex:
        """The collection of a space in the cluster or file a URL names; see `open_index`."""
        return cls(*_address(engine), space)

    def __len__(self) -> int:
        with self._client() as client:
            return int(client.query(self._name, filter="", output_fields=["count(*)"], **_STRONG)[0]["count(*)"])

    def __bool__(self) -> bool:
        with self._client() as client:
            return bool(client.query(self._name, filter="", limit=1, output_fields=["id"], **_STRONG))

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Those that have no vector here; see `VectorIndex.missing`."""
        known = {row["id"] for row in self._rows(ids, "id")}
        return [id for id in ids if id not in known]

    def save(self) -> dict[str, Content]:
        """No files; what was written is made durable."""
        with self._client() as client:
            client.flush(self._name)
        return {}

    def add(self, ids: Sequence[str], vectors: Vectors, attributes: Sequence[Attributes]) -> None:
        """Insert or replace; see `VectorIndex.add`."""
        matrix = checked(vectors, self.dim)
        check_counts(ids, matrix, attributes)
        # a row is bound to the partition of its application, so that an upsert alone would leave the old one behind
        self.remove(ids)
        rows = [
            {"id": id, **_fields(one), "embedding": vector}
            for id, one, vector in zip(ids, attributes, matrix, strict=True)
        ]
        with self._client() as client:
            for start in range(0, len(rows), BATCH):
                client.insert(self._name, rows[start : start + BATCH])

    def update(self, ids: Sequence[str], attributes: Sequence[Attributes]) -> None:
        """Replace attributes, where they differ; see `VectorIndex.update`."""
        wanted = {id: _fields(one) for id, one in zip(ids, attributes, strict=True)}
        stale = [row for row in self._rows(ids, "*") if {name: row[name] for name in _FIELDS} != wanted[row["id"]]]
        if stale:
            chosen = dict(zip(ids, attributes, strict=True))
            vectors = np.array([row["embedding"] for row in stale], np.float32)
            self.add([row["id"] for row in stale], vectors, [chosen[row["id"]] for row in stale])

    def remove(self, ids: Sequence[str]) -> int:
        """Take ids out; see `VectorIndex.remove`."""
        there = [row["id"] for row in self._rows(ids, "id")]
        with self._client() as client:
            for start in range(0, len(there), BATCH):
                client.delete(self._name, ids=there[start : start + BATCH])
        return len(there)

    def retain(self, ids: Sequence[str]) -> int:
        """Take all others out; see `VectorIndex.retain`."""
        kept = set(ids)
        with self._client() as client:
            pages = client.query_iterator(
                self._name, batch_size=BATCH, filter='id != ""', output_fields=["id"], **_STRONG
            )
            others = [row["id"] for page in iter(pages.next, []) for row in page if row["id"] not in kept]
            pages.close()
        return self.remove(others)

    def search(self, vectors: Vectors, k: int, filter: Filter | None = None) -> list[list[Neighbour]]:
        """Top-k inside the filter, exact in Milvus Lite, in a cluster as good as its index; see `VectorIndex`."""
        queries = checked(vectors, self.dim)
        if k < 1:
            return [[] for _ in queries]
        return [self._best(query, k, _condition(filter or Filter())) for query in queries]

    def similarity(self, vector: Vectors, ids: Sequence[str]) -> NDArray[np.float32]:
        """Cosine similarity with given ids; see `VectorIndex.similarity`."""
        query = checked(np.asarray(vector).reshape(1, -1), self.dim)[0]
        known = {row["id"]: np.asarray(row["embedding"], np.float32) for row in self._rows(ids, "embedding")}
        scores = [float(known[id] @ query) if id in known else np.nan for id in ids]
        return np.array([round(score, DECIMALS) for score in scores], np.float32)

    def _best(self, query: Vectors, k: int, condition: str) -> list[Neighbour]:
        """The best rows of one query; more are asked for as long as those at the edge score the same."""
        limit = min(k + TIES, MAX_LIMIT)
        while True:
            with self._client() as client:
                (found,) = client.search(self._name, [query], filter=condition, limit=limit, **_STRONG)
            scored = [(hit["id"], hit["distance"]) for hit in found]
            if len(scored) < limit or limit == MAX_LIMIT or scored[k - 1][1] - scored[-1][1] > SAME:
                return ranked(scored, k)
            limit = min(limit * 4, MAX_LIMIT)

    def _rows(self, ids: Sequence[str], field: str) -> list[dict[str, Any]]:
        """The rows of these ids, with one field or all."""
        with self._client() as client:
            return [
                row
                for start in range(0, len(ids), BATCH)
                for row in client.get(self._name, list(ids[start : start + BATCH]), output_fields=[field], **_STRONG)
            ]

    @contextmanager
    def _client(self) -> Iterator[MilvusClient]:
        """The client, for one thread at a time; connected, and the collection made, when first used."""
        with self._lock:
            try:
                if self._connected is None:
                    self._connected = self._connect()
                yield self._connected
            except (MilvusException, OSError) as error:
                raise ServiceError(f"{self._uri}: {str(error).splitlines()[0]}") from error

    def _connect(self) -> MilvusClient:
        client = MilvusClient(uri=self._uri, token=os.environ.get(TOKEN_VARIABLE, ""), timeout=TIMEOUT_S)
        if not client.has_collection(self._name):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, max_length=32, is_primary=True)
            schema.add_field("application", DataType.VARCHAR, max_length=4096, is_partition_key=True)
            schema.add_field("env", DataType.VARCHAR, max_length=4096)
            schema.add_field("trust", DataType.INT8)
            schema.add_field("imported", DataType.BOOL)
            schema.add_field("success", DataType.INT8)
            schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=self.dim)
            kind = client.prepare_index_params()
            kind.add_index("embedding", index_type=_kind(self._uri), metric_type="IP")
            client.create_collection(self._name, schema=schema, index_params=kind, consistency_level=CONSISTENCY)
        client.load_collection(self._name)
        return client


_STRONG: dict[str, Any] = {"consistency_level": CONSISTENCY}


def _address(engine: str) -> tuple[str, str]:
    """What the client connects to, and the name a URL gives our collections."""
    parts = urlsplit(engine)
    if parts.username or parts.password:
        raise UsageError(f"put the token of Milvus into {TOKEN_VARIABLE}, not into the URL")
    if not parts.netloc:
        path = Path(url2pathname(parts.path))
        if path.suffix != ".db":
            raise UsageError("the file of Milvus Lite ends in .db: milvus:///folder/file.db")
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path), "experiences"
    name = unquote(parts.path.strip("/")) or "experiences"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name):
        raise UsageError(f"{name!r} is no name for a collection: letters, digits and _ only")
    return f"http://{parts.netloc}", name


def _kind(uri: str) -> str:
    """A cluster chooses its index by itself; Milvus Lite compares all rows."""
    return "AUTOINDEX" if uri.startswith("http") else "FLAT"


def _fields(one: Attributes) -> dict[str, Any]:
    return {**columns_of(one), "success": _UNKNOWN if one.success is None else int(one.success)}


def _condition(filter: Filter) -> str:
    """A filter in Milvus' language; names are JSON strings in it, so that they cannot be read as anything else."""
    parts = []
    if filter.min_trust or filter.min_trust_imported:
        parts.append(
            f"((imported == false and trust >= {filter.min_trust}) or "
            f"(imported == true and trust >= {filter.min_trust_imported}))"
        )
    if filter.application is not None:
        parts.append(f"application == {json.dumps(application_of(filter.application), ensure_ascii=False)}")
    if filter.env is not None:
        parts.append(f"env == {json.dumps(env_of(filter.env), ensure_ascii=False)}")
    if filter.success is not None:
        parts.append(f"success == {int(filter.success)}")
    return " and ".join(parts)
