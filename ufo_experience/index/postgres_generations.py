"""Generations of an index that belongs to a store in PostgreSQL: published once, used by every machine.

The database holds the files of the current generation in pieces; each machine keeps a copy in its cache folder and
maps that. Vectors are in pgvector unless somebody chose another engine, so that a generation holds the columns only
and an `add` of one machine is found by all at once. A generation is therefore not published after every change but
when enough has changed; what came after it is read from the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from ufo_experience.errors import CorruptError, UsageError
from ufo_experience.fileio.atomic import make_folder, move_folder, remove_tree, replace_file, storage_errors, write_new
from ufo_experience.fileio.postgres import Connection, Database
from ufo_experience.index import manifest as manifests
from ufo_experience.index.base import Content
from ufo_experience.index.generations import AUTO, BUILDING, CURRENT, KEEP, MANIFEST, Generation, Generations, Publish
from ufo_experience.index.manifest import Manifest
from ufo_experience.index.tail import Frame, TailPosition
from ufo_experience.store.base import ExperienceStore

PIECE = 4 * 2**20  # bytes

_LOCK = 0x75666F5F67656E  # of the advisory lock of who publishes
_NEWEST = "SELECT number, manifest FROM ufo_experience.generations ORDER BY number DESC LIMIT 1"
_PIECES = "SELECT data FROM ufo_experience.generation_files WHERE (number, name) = (%s, %s) AND piece = %s"


class SharedGenerations(Generations):
    """The generations in a database, and this machine's copy of them in `folder`."""

    DEFAULT_ENGINE = "pgvector"
    keeps_tails = False

    def __init__(self, folder: Path, database: Database, *, lock_timeout: float = 10.0, engine: str = AUTO) -> None:
        super().__init__(folder, lock_timeout=lock_timeout, engine=engine)
        self._database = database
        self._fetching = threading.Lock()

    @classmethod
    def open(cls, store: ExperienceStore, engine: str = AUTO, *, lock_timeout: float = 10.0) -> SharedGenerations:
        """The generations of a store in a database."""
        if store.database is None:
            raise UsageError(f"{store.location} is no store in a database")
        folder = store.cache_folder / "index"
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(folder, store.database, lock_timeout=lock_timeout, engine=engine)

    def number(self) -> int | None:
        """The number of the generation in use, whose files are now on this machine; None without one."""
        with self._fetching:
            self._database.read(self._fetch)
        return super().number()

    def last_manifest(self) -> Manifest | None:
        """The manifest of the current generation, without its files."""
        with suppress(CorruptError):
            newest = self._database.read(self._newest)
            return manifests.decode(newest[1], self._file) if newest else None
        return None

    def stamp(self) -> int:
        """The number of the current generation, 0 without one; one small query."""
        newest = "SELECT max(number) FROM ufo_experience.generations"
        row = self._database.read(lambda connection: connection.execute(newest).fetchone())
        return int(row[0] or 0) if row else 0

    def read_tail(self, generation: int) -> bytes:
        """Nothing: what came after a generation is read from the database."""
        return b""

    def append_tail(
        self, frame: Frame, position: TailPosition, still: Callable[[], bool] = lambda: True
    ) -> TailPosition | None:
        """Nothing is written, see `read_tail`; but what a generation is due for is counted."""
        return replace(position, rows=position.rows + len(frame.catalog.rows) + len(frame.removed))

    @contextmanager
    def publisher(self, keep: int = KEEP) -> Iterator[Publish]:
        """Hold the lock of the index, for all machines; see `Generations.publisher`.

        The generation is written here first, and is published when the database has all of it.
        """
        with self._database.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            with self._fetching:
                self._fetch(connection)
            with super().publisher(keep) as write:

                def publish(files: Mapping[str, Content], manifest: Manifest) -> Generation:
                    generation = write(files, manifest)
                    self._send(connection, generation, keep)
                    return generation

                yield publish

    def delete_all(self) -> None:
        """Remove every generation, here and in the database; see `Generations.drop`."""
        with self._database.connection() as connection:
            connection.execute("DELETE FROM ufo_experience.generations")
        super().delete_all()

    @property
    def _file(self) -> str:
        return f"{self._database.label} generations"

    def _newest(self, connection: Connection) -> tuple[int, bytes] | None:
        row = connection.execute(_NEWEST).fetchone()
        return (row[0], row[1]) if row else None

    def _send(self, connection: Connection, generation: Generation, keep: int) -> None:
        """Put a generation of this machine into the database, all but the last `keep` out."""
        manifest, folder = generation.manifest, generation.folder
        number = manifest.generation
        connection.execute(
            "INSERT INTO ufo_experience.generations (number, manifest) VALUES (%s, %s)",
            (number, manifests.encode(manifest)),
        )
        with connection.cursor().copy(
            "COPY ufo_experience.generation_files (number, name, piece, data) FROM STDIN"
        ) as copy:
            for name in manifest.files:
                with storage_errors(folder / name), (folder / name).open("rb") as file:
                    for piece, data in enumerate(iter(partial(file.read, PIECE), b"")):
                        copy.write_row((number, name, piece, data))
        connection.execute("DELETE FROM ufo_experience.generations WHERE number <= %s", (number - keep,))

    def _fetch(self, connection: Connection) -> None:
        """Make this machine's copy the current generation of the database. Raises `StorageError`, `CorruptError`."""
        newest = self._newest(connection)
        if newest is None:
            with storage_errors(self.folder), suppress(FileNotFoundError):
                self._disk.unlink(self.folder / CURRENT)
            return
        number, manifest = newest
        if self._has(number, manifest):
            return
        with storage_errors(self.folder):
            make_folder(self.folder, self._disk)
            with self._lock.hold():
                if not self._has(number, manifest):  # another process of this machine may have been quicker
                    self._copy(connection, number, manifest)

    def _has(self, number: int, manifest: bytes) -> bool:
        with suppress(CorruptError):
            same = self._read(self.folder / str(number) / MANIFEST, manifests.MAX_BYTES) == manifest
            return same and super().number() == number
        return False

    def _copy(self, connection: Connection, number: int, manifest: bytes) -> None:
        """Fetch the files of a generation; one of this number that never reached the database makes way."""
        building, final = self.folder / f"{BUILDING}{number}", self.folder / str(number)
        self._cleanup()
        make_folder(building, self._disk)
        for name in manifests.decode(manifest, self._file).files:
            write_new(building / name, _pieces(connection, number, name), self._disk)
        write_new(building / MANIFEST, manifest, self._disk)
        for other in self._numbers():
            if other >= number:
                remove_tree(self.folder / str(other), self._disk)
        move_folder(building, final, self._disk)
        replace_file(self.folder / CURRENT, f"{number}\n".encode("ascii"), self._disk)
        self._drop_old(KEEP)


def _pieces(connection: Connection, number: int, name: str) -> Iterator[bytes]:
    """The pieces of a file in their order, one query each: what is in memory is one piece."""
    piece = 0
    while row := connection.execute(_PIECES, (number, name, piece)).fetchone():
        yield row[0]
        piece += 1
