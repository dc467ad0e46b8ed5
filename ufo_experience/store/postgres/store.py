"""Experiences in PostgreSQL, for many machines at once: short transactions, many writers, readers that wait for none.

What a method has returned from is committed. The tables are described in `postgres_schema.py`; a record is kept as
the same bytes that a file store writes, so that its hash goes with it from one store to the other.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from json import dumps
from pathlib import Path
from typing import Any

from ufo_experience.errors import CorruptError, DataError, NotFoundError
from ufo_experience.fileio.postgres import Connection, Database
from ufo_experience.ids import is_id
from ufo_experience.schema import Experience, Problem, Trust, Usage, Verdict, validate
from ufo_experience.store.base import Added, ChangesStatus, StoreReport, check_quota
from ufo_experience.store.codec import hash_in
from ufo_experience.store.folder.location import LOCAL
from ufo_experience.store.folder.signing import UNSIGNED, Signer, signer_from_environment
from ufo_experience.store.postgres import cache_place
from ufo_experience.store.postgres.schema import open_tables
from ufo_experience.store.records import (
    CleanRecord,
    Status,
    check_expected,
    clean_verdict,
    decode_record,
    decode_status,
    encode_record,
    encode_status,
    experience_in,
    experience_of,
    verify_signature,
)
from ufo_experience.text.applications import application_key

GROUP = 512  # records in one transaction
PAGE = 500  # records fetched at once

_COLUMNS = "id, record, trust, usage, changed, application, env, source, session, success, created_at, signed_status"
# of those after the record, which goes in binary: as text every quote in it would be escaped
_TYPES = ("text", "json", "bool", "text", "text", "text", "text", "bool", "timestamptz", "text")
_INSERT = f"""
INSERT INTO ufo_experience.records ({_COLUMNS})
SELECT * FROM unnest(%s::text[], %b::text[], {", ".join(f"%s::{one}[]" for one in _TYPES)}) AS fresh ({_COLUMNS})
WHERE NOT EXISTS (SELECT FROM ufo_experience.tombstones gone WHERE gone.id = fresh.id)
ON CONFLICT DO NOTHING RETURNING id
"""
_PREFIX = re.compile("[0-9a-f]{2}")
_IN_EACH = """
    SELECT shard.name, record.id FROM unnest(%s::text[], %s::text[], %s::text[]) AS shard (name, first, last)
    CROSS JOIN LATERAL (
        SELECT id FROM ufo_experience.records WHERE id BETWEEN shard.first AND shard.last ORDER BY id
    ) AS record
"""
_OF_AUTHOR = "SELECT session_user, count(*) FROM ufo_experience.records WHERE author = session_user"
_READ = "SELECT id, record, trust, usage, verdict, signed_status FROM ufo_experience.records"
_UPDATE = """
UPDATE ufo_experience.records SET trust = %(trust)s, usage = %(usage)s, verdict = %(verdict)s,
    success = coalesce(%(success)s, success), changed = true, signed_status = %(signed_status)s
WHERE id = %(id)s
"""
_KNOWN_LIVE = "SELECT id FROM ufo_experience.records WHERE id = ANY(%(ids)s)"
_KNOWN = f"{_KNOWN_LIVE} UNION ALL SELECT id FROM ufo_experience.tombstones WHERE id = ANY(%(ids)s)"
_CHANGED = 4  # place of `changed` in a new row
_VERDICT = 4  # place of `verdict` in a row that was read
_ADVANCE = """
WITH clock AS (UPDATE ufo_experience.store SET revision = %(revision)s)
INSERT INTO ufo_experience.shards SELECT unnest(%(shards)s::text[]), %(revision)s
ON CONFLICT (name) DO UPDATE SET revision = excluded.revision
"""
_log = logging.getLogger(__name__)


class PostgresStore(ChangesStatus):
    """Experiences in a database, one store in each. Open it with `PostgresStore.open`."""

    storage = LOCAL

    def __init__(
        self, database: Database, store_id: str, signer: Signer | None = None, max_per_author: int | None = None
    ) -> None:
        self.database, self._store_id, self._signer = database, store_id, signer
        self._max_per_author = max_per_author

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = True,
        lock_timeout: float = 10,
        read_only: bool = False,
        network: bool = True,
        max_per_author: int | None = None,
        signer: Signer | None = None,
    ) -> PostgresStore:
        """Open the store in a database, making its tables first if allowed.

        Args:
            url: `postgresql://user@host:5432/database`; the password belongs into `PGPASSWORD` or `~/.pgpass`.
            lock_timeout: seconds a write waits for another writer.
            network: nothing to allow, a server is made for it.
            max_per_author: the most records one role of the server may have added; a role that writes SQL of its own
                is not held by it.
            signer: signs what is written and mistrusts what is not; default: that of the environment (`signing.py`).

        Raises:
            ServiceError: no server answers there, or it does not let us in.
            NotFoundError: no store there.
            FormatVersionError: a newer version made it; nothing was touched.
            StorageError: its tables cannot be made.
        """
        signer = signer or signer_from_environment(None)
        database = Database(url, lock_timeout=lock_timeout, read_only=read_only)
        return cls(database, open_tables(database, create=create and not read_only), signer, max_per_author)

    @property
    def location(self) -> str:
        """The URL without password and options."""
        return self.database.label

    @property
    def cache_folder(self) -> Path:
        """A folder of its own below the user's cache, or below the one `UFO_EXPERIENCE_CACHE` names."""
        return cache_place() / self._store_id

    @property
    def shared(self) -> bool:
        """True: whoever may write to the database may add records."""
        return True

    @property
    def store_id(self) -> str:
        """Random id given at creation."""
        return self._store_id

    def add(self, experiences: Iterable[Experience | CleanRecord], *, revive: bool = False) -> Added:
        """Commit records, in transactions of up to 512; durable when it returns. See `ExperienceStore.add`."""
        added: list[str] = []
        skipped: list[str] = []
        source = iter(experiences)
        while group := list(islice(source, GROUP)):
            ids = [experience_in(one).id for one in group]
            rows = {id: _row(one, self._signer) for id, one in zip(reversed(ids), reversed(group), strict=True)}
            fresh = set(self._add_rows(rows, revive))  # of two with one id the first counts
            for id in ids:
                (added if id in fresh else skipped).append(id)
                fresh.discard(id)
        return Added(tuple(added), tuple(skipped))

    def get(self, id: str) -> Experience:
        """The live record with this id; see `ExperienceStore.get`."""
        found = self._select(f"{_READ} WHERE id = %s", (id,)) if is_id(id) else []
        if not found:
            raise self._not_found(id)
        return self._experience(*found[0])

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id, readable or not."""
        return is_id(id) and bool(self._select("SELECT 1 FROM ufo_experience.records WHERE id = %s", (id,)))

    def ids(self) -> list[str]:
        """Ids of all live records, sorted; a corrupt one is among them."""
        return [id for (id,) in self._select("SELECT id FROM ufo_experience.records ORDER BY id")]

    def scan(self, ids: Sequence[str] | None = None) -> Iterator[Experience]:
        """Stream live records in id order; what cannot be used is logged and left out. Holds no transaction open."""
        for row in self._pages() if ids is None else self._chosen(ids):
            found = self._usable(row)
            if isinstance(found, DataError):
                _log.warning("left out: %s", found)
            else:
                yield found

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Delete records for good; returns the ids that were there."""
        wanted = sorted({id for id in ids if is_id(id)})
        with self.database.transaction() as connection:
            revision = _next_revision(connection)
            gone = connection.execute(
                "DELETE FROM ufo_experience.records WHERE id = ANY(%s) RETURNING id", (wanted,)
            ).fetchall()
            there = sorted(id for (id,) in gone)
            connection.execute(
                "INSERT INTO ufo_experience.tombstones (id, reason) SELECT unnest(%s::text[]), %s",
                (there, reason.replace("\0", "")),
            )
            _advance(connection, revision, records=there)
        return there

    def verify(self) -> StoreReport:
        """Read every record and say what is wrong."""
        report = StoreReport()
        for row in self._pages():
            found = self._usable(row)
            if isinstance(found, DataError):
                report.corrupt.append(Problem(file=found.file or row[0], code=found.code, message=found.reason))
                continue
            report.records += 1
            if reason := self._mistrusted(row):
                message = f"{reason}; held as quarantined until approved"
                report.corrupt.append(Problem(file=f"{self.location} records/{row[0]}", code=UNSIGNED, message=message))
        return report

    def shard_mtimes(self) -> dict[str, int]:
        """The revision in which each shard changed last, instead of a time: it never needs a second look."""
        return dict(self._select("SELECT name, revision FROM ufo_experience.shards"))

    def ids_in(self, shard: str) -> list[str]:
        """Sorted ids of the live records of `records/ab`, or those whose status was changed of `status/ab`."""
        kind, _, prefix = shard.partition("/")
        if kind not in ("records", "status") or not is_id(prefix.ljust(32, "0")) or not prefix:
            return []
        only = " AND changed" if kind == "status" else ""
        statement = f"SELECT id FROM ufo_experience.records WHERE id BETWEEN %s AND %s{only} ORDER BY id"
        return [id for (id,) in self._select(statement, (prefix, prefix.ljust(32, "f")))]

    def ids_in_each(self, shards: Sequence[str]) -> dict[str, list[str]]:
        """The answer of `ids_in` for each of some shards of records, in one query."""
        found: dict[str, list[str]] = {shard: [] for shard in shards}
        prefixes = {shard: prefix for shard in shards if _PREFIX.fullmatch(prefix := shard.removeprefix("records/"))}
        last = [prefix.ljust(32, "f") for prefix in prefixes.values()]
        for shard, id in self._select(_IN_EACH, ([*prefixes], [*prefixes.values()], last)):
            found[shard].append(id)
        return found

    def versions_in(self, shard: str, *, since: int = 0) -> dict[str, str]:
        """The ids of `ids_in`, each with an empty token."""
        return dict.fromkeys(self.ids_in(shard), "")

    def revision(self) -> str:
        """The number of the last commit that changed something; one small query."""
        return str(self._select("SELECT revision FROM ufo_experience.store")[0][0])

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def _add_rows(self, rows: Mapping[str, tuple[Any, ...]], revive: bool) -> list[str]:
        """Insert what is not there; returns those ids."""
        known = {id for (id,) in self._select(_KNOWN_LIVE if revive else _KNOWN, {"ids": list(rows)})}
        new = sorted(rows.keys() - known)
        if not new:
            return []
        with self.database.transaction() as connection:
            revision = _next_revision(connection)
            if revive:
                connection.execute("DELETE FROM ufo_experience.tombstones WHERE id = ANY(%s)", (new,))
            columns = [list(column) for column in zip(*(rows[id] for id in new), strict=True)]
            fresh = [id for (id,) in connection.execute(_INSERT, columns).fetchall()]
            if self._max_per_author is not None:
                author, count = connection.execute(_OF_AUTHOR).fetchone() or ("", 0)
                check_quota(self.location, author, count - len(fresh), len(fresh), self._max_per_author)
            _advance(connection, revision, records=fresh, status=[id for id in fresh if rows[id][_CHANGED]])
        return fresh

    def _change_status(self, id: str, change: Callable[[Status], Status], expected: str | None = None) -> Status:
        with self.database.transaction() as connection:
            revision = _next_revision(connection)
            row = connection.execute(f"{_READ} WHERE id = %s", (id,)).fetchone() if is_id(id) else None
            if row is None:
                raise self._not_found(id)
            experience = self._experience(*row)
            check_expected(experience, expected)
            verdict = validate(Verdict, row[_VERDICT]) if row[_VERDICT] else None
            old = Status(id=id, trust=experience.trust, usage=experience.usage, verdict=verdict)
            new = change(old)
            if new != old:
                signed = self._signed_status(new, row[1])
                connection.execute(_UPDATE, {**_status_columns(new), "id": id, "signed_status": signed})
                _advance(connection, revision, status=[id])
        return new

    def _select(self, statement: str, values: Any = ()) -> list[Any]:
        return self.database.read(lambda connection: connection.execute(statement.encode("utf-8"), values).fetchall())

    def _pages(self) -> Iterator[Any]:
        """All rows in id order, page by page: what is committed meanwhile may or may not be among them."""
        last = ""
        while page := self._select(f"{_READ} WHERE id > %s ORDER BY id LIMIT {PAGE}", (last,)):
            yield from page
            last = page[-1][0]

    def _chosen(self, ids: Sequence[str]) -> Iterator[Any]:
        wanted = sorted({id for id in ids if is_id(id)})
        for start in range(0, len(wanted), PAGE):
            yield from self._select(f"{_READ} WHERE id = ANY(%s) ORDER BY id", (wanted[start : start + PAGE],))

    def _usable(self, row: Any) -> Experience | DataError:
        """The record of a row, or what is wrong with it."""
        try:
            return self._experience(*row)
        except DataError as error:
            return error

    def _experience(
        self, id: str, record: str, trust: str, usage: object, verdict: object, signed_status: str | None
    ) -> Experience:
        """The record of a row. Raises `CorruptError`, `SchemaError`, `FormatVersionError` naming it."""
        file = f"{self.location} records/{id}"
        status = validate(Status, {"id": id, "trust": trust, "usage": usage, "verdict": verdict}, file=file)
        data = record.encode("utf-8")
        payload = decode_record(data, id, file)
        if self._unsigned(data, payload, status, signed_status):
            alone = experience_of(payload, None, file)
            return alone.model_copy(update={"trust": Trust.QUARANTINED, "usage": Usage()})
        return experience_of(payload, status, file)

    def _mistrusted(self, row: Any) -> str | None:
        """Why the signatures of a readable row do not hold."""
        id, record, trust, usage, verdict, signed = row
        status = validate(Status, {"id": id, "trust": trust, "usage": usage, "verdict": verdict})
        data = record.encode("utf-8")
        return self._unsigned(data, decode_record(data, id, self.location), status, signed)

    def _unsigned(self, data: bytes, payload: dict[str, Any], status: Status, signed: str | None) -> str | None:
        """Why a row may not be taken at its word; None when it may, or there is no key."""
        if self._signer is None:
            return None
        if signed is None:
            untouched = status.trust.value == payload["trust"] and status.usage == Usage() and status.verdict is None
            return verify_signature(data, payload, None, self._signer) if untouched else "its status is not signed"
        try:
            told = decode_status(signed.encode("utf-8"), status.id, "signed_status")
        except DataError as error:
            return f"its signed status: {error.reason}"
        if told.model_copy(update={"content": "", "hmac": ""}) != status:
            return "its columns are not those of its signed status"
        return verify_signature(data, payload, told, self._signer)

    def _signed_status(self, status: Status, record: str) -> str | None:
        if self._signer is None:
            return None
        bound = status.model_copy(update={"content": hash_in(record.encode("utf-8"))})
        return encode_status(bound, self._signer).decode("utf-8")

    def _not_found(self, id: str) -> NotFoundError:
        return NotFoundError(f"no experience {id!r}", file=self.location)


def _row(record: Experience | CleanRecord, signer: Signer | None) -> tuple[Any, ...]:
    """The columns of a new record. Raises `SchemaError` when it is over a limit."""
    one = experience_in(record)
    state, origin = one.state, one.provenance
    texts = (application_key(state.application) or None, state.env, origin.source, origin.session)
    data = encode_record(record, signer)
    signed = None
    if signer and one.usage != Usage():
        status = Status(id=one.id, trust=one.trust, usage=one.usage, content=hash_in(data))
        signed = encode_status(status, signer).decode("utf-8")
    return (
        one.id,
        data.decode("utf-8"),
        one.trust.value,
        _json(one.usage),
        one.usage != Usage(),
        *(text and text.replace("\0", "") for text in texts),
        one.outcome.success,
        one.created_at,
        signed,
    )


def _json(model: Usage | Verdict) -> str:
    return dumps(model.model_dump(mode="json"))


def _status_columns(status: Status) -> dict[str, Any]:
    """The columns of a status; a verdict also changes the column that says how the run ended."""
    verdict = status.verdict and clean_verdict(status.verdict)
    return {
        "trust": status.trust.value,
        "usage": _json(status.usage),
        "verdict": verdict and _json(verdict),
        "success": verdict and verdict.success,
    }


def _next_revision(connection: Connection) -> int:
    """The revision this transaction may commit; other writers wait until it ends."""
    row = connection.execute("SELECT revision + 1 FROM ufo_experience.store FOR UPDATE").fetchone()
    if row is None:
        raise CorruptError("the table of the store is empty")
    return int(row[0])


def _advance(connection: Connection, revision: int, *, records: Iterable[str] = (), status: Iterable[str] = ()) -> None:
    """Note what changed in this revision: the shards of these ids. Nothing changed, no revision."""
    shards = {f"records/{id[:2]}" for id in records} | {f"status/{id[:2]}" for id in status}
    if shards:
        connection.execute(_ADVANCE, {"revision": revision, "shards": sorted(shards)})
