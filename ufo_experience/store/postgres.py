"""Experiences in PostgreSQL, for many machines at once: learning inserts rows, and nobody waits for anybody.

The tables are described in `tables.py`. What a method has returned from is committed. An index in the same database
adds its rows in the same transaction (`PostgresStore.indexing`): a record is found as soon as it is there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ufo_experience.errors import DataError, NotFoundError
from ufo_experience.ids import is_id
from ufo_experience.schema import Experience, Problem, Trust, Usage, validate
from ufo_experience.store.base import BaseStore, Event, Status, StoreReport, event
from ufo_experience.store.postgres_server import Connection, Database
from ufo_experience.store.postgres_tables import CLOCKS, open_tables
from ufo_experience.store.records import decode, encode

PAGE = 500  # rows fetched at once

_INSERT = """
INSERT INTO ufo_experience.record (id, record, trust, status, indexed)
SELECT id, record::json, trust, status::json, %(indexed)s
FROM unnest(%(ids)s::text[], %(records)s::text[], %(trusts)s::text[], %(statuses)s::text[])
AS fresh (id, record, trust, status)
WHERE NOT EXISTS (
    SELECT FROM ufo_experience.event gone WHERE gone.id = fresh.id AND gone.kind = 'removed'
)
ON CONFLICT DO NOTHING RETURNING id
"""
_RESTORE = """
UPDATE ufo_experience.record SET removed = false,
    indexed = EXISTS (SELECT FROM ufo_experience.row WHERE row.id = record.id)
WHERE id = ANY(%s) AND removed RETURNING id
"""
_READ = "SELECT id, record::text, status FROM ufo_experience.record"
_NOTE = "INSERT INTO ufo_experience.event (id, kind, event) VALUES (%s, %s, %s)"
_STATUS = "UPDATE ufo_experience.record SET (trust, status) = (%s, %s::json) WHERE id = %s"
_TICK = f"UPDATE ufo_experience.clock SET changes = changes + 1 WHERE slot = pg_backend_pid() % {CLOCKS}"
_log = logging.getLogger(__name__)

Indexing = Callable[[Connection, Sequence[Experience]], None]


class PostgresStore(BaseStore):
    """Experiences in a database, one store in each. Open it with `PostgresStore.open`.

    `indexing`, where an index is in the same database, inserts the rows of new records in the transaction of theirs.
    """

    def __init__(self, database: Database, store_id: str) -> None:
        self.database, self.store_id = database, store_id
        self._key = b""
        self.indexing: Indexing | None = None

    @classmethod
    def open(cls, url: str, *, create: bool = True, lock_timeout: float = 10.0, network: bool = True) -> PostgresStore:
        """Open the store in a database, making its tables first if allowed.

        Args:
            url: `postgresql://user@host:5432/database`; the password belongs into `PGPASSWORD` or `~/.pgpass`.
            lock_timeout: seconds a write waits for another writer of the same record.
            network: nothing to allow, a server is made for it.

        Raises:
            ServiceError: no server answers there, or it does not let us in.
            NotFoundError: no store there.
            DataError: another version made it; nothing was touched.
            StorageError: its tables cannot be made.
        """
        database = Database(url, lock_timeout=lock_timeout)
        return cls(database, open_tables(database, create))

    @property
    def location(self) -> str:
        """The URL without password and options."""
        return self.database.label

    @property
    def shared(self) -> bool:
        """True: whoever may write to the database may add records."""
        return True

    @property
    def cache_folder(self) -> Path:
        """A folder of its own below the user's cache, or below the one `UFO_EXPERIENCE_CACHE` names."""
        place = os.environ.get("UFO_EXPERIENCE_CACHE")
        folder = (Path(place) if place else user_cache_path("ufo-experience", appauthor=False)) / self.store_id
        with suppress(OSError):  # who writes there says what is wrong
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def key(self) -> bytes:
        """The store's secret for keyed digests; see `ExperienceStore.key`."""
        self._key = self._key or bytes(self.database.select("SELECT key FROM ufo_experience.secret")[0][0])
        return self._key

    def get(self, id: str) -> Experience:
        """The live record with this id; see `ExperienceStore.get`."""
        return self._now(*self._one(self.database.select(*_live(id)), id))

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id."""
        return isinstance(id, str) and bool(self.database.select(*_live(id)))

    def ids(self) -> list[str]:
        """Ids of all live records, sorted."""
        return self._ids("NOT removed")

    def removed(self) -> list[str]:
        """Ids of what was removed and can be restored, sorted."""
        return self._ids("removed")

    def scan(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """Stream live records in id order; what cannot be read is logged and left out. Holds no transaction open."""
        return self._scan("NOT removed", ids)

    def scan_removed(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """What was removed and can be restored, as it was, by id."""
        return self._scan("removed", ids)

    def events(self, id: str | None = None) -> Iterator[Event]:
        """What happened, oldest first: to one record, or to all. Holds no transaction open."""
        if id is not None and not is_id(id):
            return
        only = "" if id is None else "AND id = %(id)s"
        query = f"SELECT number, event FROM ufo_experience.event WHERE number > %(last)s {only} ORDER BY number"
        last = 0
        while page := self.database.select(f"{query} LIMIT {PAGE}", {"last": last, "id": id}):
            yield from (validate(Event, data, file=self.location) for _, data in page)
            last = page[-1][0]

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Take records out; see `ExperienceStore.remove`."""
        with self.database.transaction() as connection:
            there = [row[0] for row in self._locked(connection, ids, "NOT removed")]
            connection.execute("UPDATE ufo_experience.record SET removed = true WHERE id = ANY(%s)", (there,))
            self._commit(connection, [event("removed", id, reason=reason) for id in there])
        return there

    def restore(self, ids: Iterable[str]) -> list[Experience]:
        """Bring removed records back as they were. Raises `NotFoundError`."""
        wanted = list(ids)
        with self.database.transaction() as connection:
            rows = self._locked(connection, wanted, "removed")
            for id in sorted(set(wanted) - {row[0] for row in rows}):
                raise NotFoundError(f"no removed record {id!r}", file=self.location)
            connection.execute(_RESTORE, (wanted,))
            self._commit(connection, [event("restored", row[0]) for row in rows])
        return [self._now(*row) for row in rows]

    def purge(self, ids: Iterable[str]) -> list[Experience]:
        """Erase records with all that was said of them; see `ExperienceStore.purge`."""
        wanted = sorted({id for id in ids if is_id(id)})
        with self.database.transaction() as connection:
            rows = self._locked(connection, wanted, "true")
            connection.execute("DELETE FROM ufo_experience.event WHERE id = ANY(%s)", (wanted,))
            connection.execute("DELETE FROM ufo_experience.record WHERE id = ANY(%s)", (wanted,))
            self._commit(connection, [event("removed", id, reason="purged") for id in wanted])
        return [found for row in rows if isinstance(found := self._usable(row), Experience)]

    def verify(self, *, repair: bool = False) -> StoreReport:
        """Read every record and event and say what is wrong; the server keeps its bytes, so nothing is set aside."""
        report = StoreReport()
        for row in self._pages("NOT removed"):
            found = self._usable(row)
            if isinstance(found, DataError):
                problem = Problem(file=found.file or self.location, code=found.code, message=found.reason)
                report.corrupt.append(problem)
            else:
                report.records += 1
        return report

    def revision(self) -> str:
        """How many changes were committed; one small query."""
        return str(self.database.select("SELECT sum(changes) FROM ufo_experience.clock")[0][0])

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        rows = [_encoded(one) for one in sorted(group, key=lambda one: one.id)]  # so no two wait in a ring
        names = ("ids", "records", "trusts", "statuses")
        values = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        with self.database.transaction() as connection:
            inserted = connection.execute(_INSERT, {**values, "indexed": self.indexing is not None})
            new = {id for (id,) in inserted.fetchall()}
            if not new:
                return new
            if self.indexing:
                self.indexing(connection, [one for one in group if one.id in new])
            used = [event("usage", one.id, usage=one.usage) for one in group if one.id in new and one.usage != Usage()]
            self._commit(connection, used)
        return new

    def _note(self, id: str, events: Callable[[Experience], Sequence[Event]]) -> Experience:
        query, values = _live(id)
        with self.database.transaction() as connection:
            row = self._one(connection.execute(f"{query} FOR UPDATE".encode("ascii"), values).fetchall(), id)
            recorded, content, intact, status = self._read(*row)
            seen = _as_now(recorded, content, intact, status)
            noted = [one.model_copy(update={"content": content}) if one.trust else one for one in events(seen)]
            if not noted:
                return seen
            for one in noted:
                status = status.after(one)
            now = _as_now(recorded, content, intact, status)
            connection.execute(_STATUS, (now.trust.value, _as_json(status), id))
            self._commit(connection, noted)
        return now

    def _locked(self, connection: Connection, ids: Iterable[str], which: str) -> list[Any]:
        """The rows of these ids, in one order, kept from other writers until the transaction ends."""
        wanted = [id for id in ids if is_id(id)]
        query = f"{_READ} WHERE id = ANY(%s) AND {which} ORDER BY id FOR UPDATE"
        return connection.execute(query.encode("ascii"), (wanted,)).fetchall()

    def _commit(self, connection: Connection, events: Sequence[Event]) -> None:
        """Note events, and last of all that something has changed."""
        rows = [(one.id, one.kind, one.model_dump_json(exclude_defaults=True)) for one in events]
        if rows:
            connection.cursor().executemany(_NOTE, rows)
        connection.execute(_TICK.encode("ascii"))

    def _ids(self, which: str) -> list[str]:
        return [id for (id,) in self.database.select(f"SELECT id FROM ufo_experience.record WHERE {which} ORDER BY id")]

    def _scan(self, which: str, ids: Iterable[str] | None) -> Iterator[Experience]:
        for row in self._pages(which, None if ids is None else sorted(id for id in ids if is_id(id))):
            found = self._usable(row)
            if isinstance(found, DataError):
                _log.warning("left out: %s", found)
            else:
                yield found

    def _pages(self, which: str, ids: list[str] | None = None) -> Iterator[Any]:
        """Rows in id order, page by page: what is committed meanwhile may or may not be among them."""
        chosen = "" if ids is None else "AND id = ANY(%(ids)s)"
        query = f"{_READ} WHERE {which} AND id > %(last)s {chosen} ORDER BY id LIMIT {PAGE}"
        values = {"ids": ids, "last": ""}
        while page := self.database.select(query, values):
            yield from page
            values["last"] = page[-1][0]

    def _one(self, rows: Sequence[Any], id: str) -> Any:
        if not rows:
            raise NotFoundError(f"no experience {id!r}", file=self.location)
        return rows[0]

    def _usable(self, row: Any) -> Experience | DataError:
        """The record of a row, or what is wrong with it."""
        try:
            return self._now(*row)
        except DataError as error:
            return error

    def _now(self, id: str, record: str, status: object) -> Experience:
        """The record of a row as it is now. Raises `DataError` naming it."""
        return _as_now(*self._read(id, record, status))

    def _read(self, id: str, record: str, status: Any) -> tuple[Experience, str, bool, Status]:
        """The record as it was learned, the digest of its content, whether nobody edited it, and its status."""
        file = f"{self.location} record {id}"
        one, content, intact = decode(record.encode("utf-8"), file)
        if one.id != id:
            raise DataError("the id of the row is not the id inside", file=file, code="E_CORRUPT")
        return one, content, intact, validate(Status, status, file=file)


def _encoded(one: Experience) -> tuple[str, str, str, str]:
    """The columns of a new record. Raises `DataError` when it is over a limit."""
    status = "{}" if one.usage == Usage() else _as_json(Status(usage=one.usage))
    return one.id, encode(one).decode("utf-8"), one.trust.value, status


def _as_json(status: Status) -> str:
    return status.model_dump_json(exclude_defaults=True)


def _as_now(one: Experience, content: str, intact: bool, status: Status) -> Experience:
    """A record after its events. Trust holds for the content that it was given to, and for no other."""
    now = status.over(one)
    given = status.content if status.trust else ""
    if given != content and (given or not intact):
        return now.model_copy(update={"trust": Trust.QUARANTINED})
    return now


def _live(id: str) -> tuple[str, tuple[str]]:
    """The query for a live record, and its values."""
    return f"{_READ} WHERE id = %s AND NOT removed", (id if is_id(id) else "",)
