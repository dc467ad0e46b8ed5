"""A cache of embeddings by content, so that rebuilding asks the service for nothing, and an embedder in front of it.

The cache is never the truth: a file that is corrupt is moved aside, one that cannot be written or locked is done
without, and `warning` says so. Nothing here is fatal.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from ufo_experience.embed.base import Embedder, EmbedsPieces, Kind, Spending, TakesLength, Vectors

SEAL_BYTES = 8


def sealed(key: bytes, text: bytes, vector: Vectors) -> bytes:
    """A vector's bytes and a check sum: SQLite notices few flipped bits, and a turned sign keeps the norm."""
    body = np.asarray(vector, "<f4").tobytes()
    return body + _seal(key, text, body)


def _seal(key: bytes, text: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(key + text + body, digest_size=SEAL_BYTES).digest()


def read_vector(key: bytes, text: bytes, blob: bytes, dim: int | None) -> Vectors | None:
    """A damaged row is a missing row."""
    if not all(isinstance(part, bytes) for part in (key, text, blob)) or len(blob) <= SEAL_BYTES:
        return None
    body, seal = blob[:-SEAL_BYTES], blob[-SEAL_BYTES:]
    if len(body) % 4 or seal != _seal(key, text, body):
        return None
    vector = np.frombuffer(body, "<f4").astype(np.float32)
    return vector if dim in (None, len(vector)) else None


T = TypeVar("T")

TEXT_TEMPLATE = "1"  # of the text that is embedded; another one makes other keys
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_by_text ON vectors (text);
"""
_CHUNK = 500  # SQLite takes at least 999 variables in one statement
_PLAIN_BATCH = 256


class EmbeddingCache:
    """Vectors by the hash of model, dimensions, template and text, in one SQLite file. Thread- and process-safe.

    `wait` is how many seconds another process may hold the file. `warning` is None as long as all is well, else the
    last reason for which the cache was moved aside or bypassed.
    """

    def __init__(self, path: Path | str, *, wait: float = 2.0) -> None:
        self.path, self._wait = Path(path), wait
        self.warning: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    def get(self, keys: Sequence[bytes], dim: int | None) -> dict[bytes, Vectors]:
        """The vectors that are there, whole and of length `dim` (None: any)."""
        rows = self._guard(lambda db: [row for part in _chunks(keys) for row in _select(db, part)])
        read = ((key, read_vector(key, text, blob, dim)) for key, text, blob in rows or ())
        return {key: vector for key, vector in read if vector is not None}

    def put(self, rows: Iterable[tuple[bytes, bytes, Vectors]]) -> None:
        """Keep (key, hash of the text, vector) rows; on the disk when it returns, unless `warning` says otherwise."""
        values = [(key, text, sealed(key, text, vector)) for key, text, vector in rows]
        self._guard(lambda db: db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", values))

    def keep_only(self, texts: Iterable[str]) -> None:
        """Delete, and overwrite, what belongs to no text of these (also rows whose text is no longer known)."""
        kept = {text_hash(text) for text in texts}
        known = self._guard(lambda db: db.execute("SELECT DISTINCT text FROM vectors").fetchall())
        if known is None:
            return
        others = [(text,) for (text,) in known if text not in kept]
        self._guard(lambda db: db.executemany("DELETE FROM vectors WHERE text = ?", others))
        self._guard(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    def check(self) -> str | None:
        """Read every row; what is wrong with the file, None when nothing is (or there is none). Changes nothing."""
        if not self.path.is_file():
            return None
        try:
            with contextlib.closing(_connect_to_check(self.path)) as connection:
                connection.text_factory = lambda text: text.decode("utf-8", "replace")  # it may quote damaged names
                for (line,) in connection.execute("PRAGMA quick_check(1)"):
                    if line != "ok":
                        return str(line)
                rows = connection.execute("SELECT key, text, vector FROM vectors")
                damaged = sum(read_vector(key, text, blob, None) is None for key, text, blob in rows)
                return f"{damaged} damaged rows" if damaged else None
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            return str(error)

    def repair(self) -> None:
        """Move a file aside in which `check` finds damage that using it would not show."""
        with self._lock:
            damage = self.check()
            if damage:
                self._set_aside(sqlite3.DatabaseError(damage))

    def __len__(self) -> int:
        rows = self._guard(lambda db: db.execute("SELECT count(*) FROM vectors").fetchall())
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> EmbeddingCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _guard(self, work: Callable[[sqlite3.Connection], T], *, fresh: bool = False) -> T | None:
        """Run `work` in one transaction. None when the cache cannot be used now, which `warning` then explains."""
        with self._lock:
            try:
                with self._open() as connection:
                    return work(connection)
            except sqlite3.OperationalError as error:  # locked, read-only, disk full: leave it alone
                self.warning = f"embedding cache {self.path} is bypassed: {error}"
                return None
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # not a database, or torn
                moved = not fresh and self._set_aside(error)
                return self._guard(work, fresh=True) if moved else None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _connect(self.path, self._wait)
        return self._connection

    def _set_aside(self, error: Exception) -> bool:
        """Move a corrupt file out of the way; False when that is not possible."""
        self.close()
        aside = next(path for path in _aside_names(self.path) if not path.exists())
        try:
            os.replace(self.path, aside)
            for ending in ("-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
        except OSError as refused:
            self.warning = f"embedding cache {self.path} is corrupt ({error}) and cannot be moved aside: {refused}"
            return False
        self.warning = f"embedding cache was corrupt ({error}); moved to {aside}, a new one was begun"
        return True


class CachedEmbedder:
    """Embeds only what the cache does not hold, and keeps every finished batch at once, so that a failed run resumes.

    `cached` counts texts that were answered without the embedder, `embedded` those that were not.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self.embedder, self.cache = embedder, cache
        self.cached = self.embedded = 0

    @property
    def name(self) -> str:
        """The name of the embedder behind the cache."""
        return self.embedder.name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self.embedder.dim

    def expect_dim(self, dim: int) -> None:
        """Tell the embedder behind the cache the length that an index knows."""
        if isinstance(self.embedder, TakesLength):
            self.embedder.expect_dim(dim)

    @property
    def spending(self) -> Spending:
        """What the embedder behind the cache has asked for."""
        return self.embedder.spending

    @property
    def warning(self) -> str | None:
        """Why the cache was moved aside or bypassed, if it was."""
        return self.cache.warning

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> Vectors:
        """Embed `texts`: float32, shape (len(texts), dim), unit rows. The same text is embedded once.

        Raises:
            ServiceError: as the embedder; the batches before it are kept.
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        keys = [self.key(text, kind) for text in texts]
        known = self.cache.get(list(dict.fromkeys(keys)), self.dim)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        self.cached += sum(key in known for key in keys)
        self.embedded += len(missing)
        self._embed_missing(missing, kind, known)
        return np.stack([known[key] for key in keys])

    def missing(self, texts: Iterable[str]) -> dict[bytes, str]:
        """The documents that are not in the cache, by key. Nothing is sent: of a model that only the service knows
        the length of, none is known to be there.
        """
        if isinstance(self.embedder, EmbedsPieces) and self.embedder.known_dim is None:
            return {_hash(text): text for text in texts}
        keys = {self.key(text, "document"): text for text in texts}
        known = self.cache.get(list(keys), self.dim) if self.cache.path.is_file() else {}
        return {key: text for key, text in keys.items() if key not in known}

    def repair(self) -> None:
        """Put a damaged cache out of use."""
        self.cache.repair()

    def close(self) -> None:
        """Close the cache."""
        self.cache.close()

    def key(self, text: str, kind: Kind) -> bytes:
        """What the vector of a text is found by. A model that treats queries and documents differently has two."""
        role = kind if getattr(self.embedder, "asymmetric", False) else ""
        return _hash(self.embedder.name, role, str(self.embedder.dim), TEXT_TEMPLATE, text)

    def _embed_missing(self, missing: Mapping[bytes, str], kind: Kind, known: dict[bytes, Vectors]) -> None:
        keys, texts = list(missing), list(missing.values())

        def keep(piece: slice, vectors: Vectors) -> None:
            batch = dict(zip(keys[piece], vectors, strict=True))
            self.cache.put((key, text_hash(missing[key]), vector) for key, vector in batch.items())
            known.update(batch)

        if isinstance(self.embedder, EmbedsPieces):
            self.embedder.embed_pieces(texts, kind, keep)
            return
        for start in range(0, len(texts), _PLAIN_BATCH):
            piece = slice(start, start + _PLAIN_BATCH)
            keep(piece, self.embedder.embed(texts[piece], kind))


def text_hash(text: str) -> bytes:
    """What a row of the cache remembers of its text, so that it can be purged."""
    return _hash(text)


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).digest()


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    marks = ",".join("?" * len(keys))
    return connection.execute(f"SELECT key, text, vector FROM vectors WHERE key IN ({marks})", keys).fetchall()


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    """Open for writing, creating what is missing; a file that is there but cannot be written is opened to read."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _prepared(sqlite3.connect(path, timeout=wait, check_same_thread=False), _set_up)
    except (sqlite3.OperationalError, OSError) as error:
        if not path.is_file() or "locked" in str(error):
            raise sqlite3.OperationalError(str(error)) from error
    return _connect_to_read(path)


def _connect_to_check(path: Path) -> sqlite3.Connection:
    """See also what other connections have written and not yet moved into the file."""
    if Path(f"{path}-wal").exists():
        return _prepared(sqlite3.connect(path, timeout=1.0), lambda db: None)
    return _connect_to_read(path)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    return _prepared(sqlite3.connect(uri, uri=True, check_same_thread=False), lambda db: None)


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")
    connection.executescript(_SCHEMA)


def _prepared(connection: sqlite3.Connection, prepare: Callable[[sqlite3.Connection], object]) -> sqlite3.Connection:
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(connection.close)
        prepare(connection)
        on_failure.pop_all()
    return connection


def _aside_names(path: Path) -> Iterator[Path]:
    number = 1
    while True:
        yield path.with_name(f"{path.name}.corrupt-{number}")
        number += 1
