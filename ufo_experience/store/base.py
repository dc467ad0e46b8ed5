"""What every experience store can do. A folder is the default; a URL picks another (see `open_store`)."""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from ufo_experience.errors import QuotaError
from ufo_experience.schema import Experience, Problem, Provenance, Trust, Usage, Verdict, readable_name
from ufo_experience.store.folder.location import StorageLocation

if TYPE_CHECKING:
    from ufo_experience.fileio.postgres import Database
    from ufo_experience.store.records import CleanRecord, Status


def matches_source(provenance: Provenance, source: str) -> bool:
    """True when `source` is the record's source or session, in any spelling of a path, or a folder above its source."""
    if not source:
        return False
    source = readable_name(source)
    wanted = {source, _normal(source)}
    if _normal(provenance.source).startswith(f"{_normal(source)}/"):
        return True
    return any(name in wanted or _normal(name) in wanted for name in (provenance.source, provenance.session) if name)


def _normal(text: str) -> str:
    """A path with forward slashes, without `.`, `..` and trailing slash; a Windows path without case."""
    path = posixpath.normpath(text.replace("\\", "/"))
    return path.casefold() if re.match(r"[A-Za-z]:/", path) else path


@dataclass(frozen=True)
class Added:
    """What `add` did with each record: new ids, and ids that were stored (or deleted) before."""

    added: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def check_quota(location: str, author: str, count: int, more: int, limit: int) -> None:
    """Raise `QuotaError` when an author of `count` records may not keep `more` of them."""
    if count + more > limit:
        raise QuotaError(location, author, count, limit)


def without(ids: list[str], fresh: list[str]) -> list[str]:
    """The ids that were not newly added (`fresh`); a repeated id counts as not new."""
    left = set(fresh)
    first = {id: number for number, id in reversed(list(enumerate(ids)))}
    return [id for number, id in enumerate(ids) if id not in left or number != first[id]]


@dataclass
class StoreReport:
    """What `verify` found. `corrupt` is empty when every record, status and tombstone is whole."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)


class ChangesStatus(ABC):
    """The changes of a record's status, as every store makes them: one function from the old status to the new."""

    def set_status(
        self,
        id: str,
        *,
        trust: Trust | None = None,
        usage: Usage | None = None,
        verdict: Verdict | None = None,
        expected: str | None = None,
    ) -> None:
        """Replace what is given of a record's trust, usage and verdict, atomically; see `ExperienceStore`."""
        given = {"trust": trust, "usage": usage, "verdict": verdict}
        update = {name: value for name, value in given.items() if value is not None}
        self._change_status(id, lambda old: old.model_copy(update=update), expected)

    def update_usage(self, id: str, change: Callable[[Usage], Usage]) -> Usage:
        """Replace a record's usage by `change` of it, while no other writer can; see `ExperienceStore`."""
        return self._change_status(id, lambda old: old.model_copy(update={"usage": change(old.usage)})).usage

    @abstractmethod
    def _change_status(self, id: str, change: Callable[[Status], Status], expected: str | None = None) -> Status:
        """Write `change` of the record's status, with no other writer between; returns it.

        Raises:
            NotFoundError, CorruptError: as `get`.
            ConflictError: the record has another `fingerprint` than `expected`.
        """


class ExperienceStore(Protocol):
    """Durable records. What a method has returned from is on disk; readers take no lock.

    A record is immutable; `trust`, `usage` and a verdict said later are its status and may change.
    Removed ids stay removed: adding the same content again is skipped, unless `revive` is asked for.
    """

    @property
    def location(self) -> str:
        """The folder or URL this store was opened from."""
        ...

    @property
    def cache_folder(self) -> Path:
        """The folder on this machine for what can be made again from the records: index, embeddings."""
        ...

    @property
    def shared(self) -> bool:
        """True when others write here whom nobody on this machine has let in: trust must then be given by approval."""
        ...

    @property
    def storage(self) -> StorageLocation:
        """Where it lies; `storage.check()` refuses what must not be written without the owner's word."""
        ...

    @property
    def database(self) -> Database | None:
        """The database the records are in; None for a folder."""
        ...

    @property
    def store_id(self) -> str:
        """Random id given at creation; an index names the store it belongs to."""
        ...

    def add(self, experiences: Iterable[Experience | CleanRecord], *, revive: bool = False) -> Added:
        """Commit records. Idempotent: an id that is already there is skipped. Durable when it returns.

        Raises `StorageError` (disk), `QuotaError` (an author has enough), `LockedError` (another writer), `SchemaError`
        (over a limit).
        """
        ...

    def get(self, id: str) -> Experience:
        """The live record with this id. Raises `NotFoundError` or `CorruptError`."""
        ...

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id, readable or not."""
        ...

    def ids(self) -> list[str]:
        """Ids of all live records, sorted."""
        ...

    def scan(self, ids: Sequence[str] | None = None) -> Iterator[Experience]:
        """Stream live records in id order; a corrupt one is left out here and named by `verify`."""
        ...

    def set_status(
        self,
        id: str,
        *,
        trust: Trust | None = None,
        usage: Usage | None = None,
        verdict: Verdict | None = None,
        expected: str | None = None,
    ) -> None:
        """Replace what is given of a record's trust, usage and verdict, atomically. Raises as `get`.

        `expected` is the `fingerprint` of the record as the caller saw it; another one raises `ConflictError`.
        """
        ...

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Delete records for good; returns the ids that were there."""
        ...

    def update_usage(self, id: str, change: Callable[[Usage], Usage]) -> Usage:
        """Replace a record's usage by `change` of it; no credit of another process is lost. Raises as `get`."""
        ...

    def verify(self) -> StoreReport:
        """Read every byte and say what is wrong."""
        ...

    def shard_mtimes(self) -> dict[str, int]:
        """A time (ns) for each shard, `records/<prefix>` or `status/<prefix>`, that changes when it does.

        One younger than two seconds when it was read must be treated as changed next time.
        """
        ...

    def ids_in(self, shard: str) -> list[str]:
        """Ids that have a live record (or a status) in this shard."""
        ...

    def versions_in(self, shard: str, *, since: int = 0) -> dict[str, str]:
        """The ids in this shard, each with a token that differs after every change of its file; empty: not known.

        Those whose file was not changed `since` a time (ns) may be left out.
        """
        ...

    def close(self) -> None:
        """Let go of connections and files; what was acknowledged is safe without it."""
        ...

    def revision(self) -> str:
        """A cheap token that differs after every committed change (microseconds, no listing)."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A store that is asked over a network, where one long answer is cheaper than many short ones."""

    def ids_in_each(self, shards: Sequence[str]) -> dict[str, list[str]]:
        """The answer of `ids_in` for each of some shards of records."""
        ...


class Stamp(NamedTuple):
    """What the system knows of the files of a record without reading them: bytes, and what changes with them."""

    size: int
    known: tuple[int, ...]


@runtime_checkable
class Stamped(Protocol):
    """A store that can tell without reading a record whether it is as it was."""

    def stamp(self, id: str) -> Stamp | None:
        """Equal ones mean that `get` would give the same record; None where that cannot be told."""
        ...


class OwnChange(NamedTuple):
    """A commit through a store object: the revisions before and after it, and the ids it added, or, of a change of
    status, the record as it is now and the token of its file (see `versions_in`)."""

    before: str
    after: str
    added: frozenset[str] = frozenset()
    changed: Experience | None = None
    version: str = ""


@runtime_checkable
class TellsChanges(Protocol):
    """A store that knows what was changed through it; `last_revision` is the one its last commit left ("": none)."""

    last_revision: str

    def own_changes(self, since: str, until: str) -> list[OwnChange] | None:
        """What led from one revision to another; None where anything else was changed, or it is not known any more.

        It is told once: what was asked for is forgotten.
        """
        ...


@runtime_checkable
class Digested(Protocol):
    """A store that can tell, without decoding them, which records are as they were."""

    def digests_in(self, shard: str) -> dict[str, bytes]:
        """Of each live record of `records/<prefix>`, in order, 16 bytes that differ when anything of it or of its
        status does, or the key they are signed with. What cannot be read is left out.
        """
        ...
