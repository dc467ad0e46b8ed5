"""What every experience store can do: records that are written once, and the events that happened to them since.

Trust, outcome and use of a record, as `get` answers it, are those of the record after its events.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from ufo_experience.errors import ConflictError, DataError, NotFoundError
from ufo_experience.ids import content_hash, content_id
from ufo_experience.schema import MAX_SESSIONS, Experience, Instant, Model, Name, Problem, Text, Trust, Usage, Verdict

GROUP = 512  # records in one commit; other writers have their turn between groups
EventKind = Literal["trust", "verdict", "help", "harm", "usage", "removed", "restored"]
Said = Mapping[Literal["trust", "verdict"], Trust | Verdict | None]
Row = tuple[Any, ...]  # of one record, as a store reads it; the id comes first
_log = logging.getLogger(__name__)


class Event(Model):
    """Something that happened to a record after it was learned; one line of `events.jsonl`, one row of a table.

    `trust` and `verdict` are None where they were taken back; `session` is a digest; `usage` sets all counts, as a
    restored backup has them. `content` is the digest of what a person looked at: trust holds for that and no other.
    """

    kind: EventKind
    id: Name
    time: Instant
    trust: Trust | None = None
    verdict: Verdict | None = None
    usage: Usage | None = None
    session: Name = ""
    reason: Text = ""
    content: Name = ""


class Status(Model):
    """What the events of a record come to: a fold over them, oldest first. `Status()` is that of a new record."""

    trust: Trust | None = None
    content: Name = ""
    usage: Usage = Usage.model_construct()
    verdict: Verdict | None = None
    removed: bool = False

    def after(self, event: Event) -> Status:
        match event.kind:
            case "trust":
                change: dict[str, Any] = {"trust": event.trust, "content": event.content}
            case "verdict":
                change = {"verdict": event.verdict}
            case "usage":
                change = {"usage": event.usage or Usage()}
            case "help" | "harm":
                change = {"usage": used(self.usage, event)}
            case "removed" | "restored":
                change = {"removed": event.kind == "removed"}
        return self.model_copy(update=change)

    def over(self, one: Experience, content: str = "", whole: bool = True, most: Trust = Trust.OBSERVED) -> Experience:
        """The record as it is now. Trust holds for its `content` (a digest); of another it is `most` at most."""
        outcome = self.verdict.over(one.outcome) if self.verdict else one.outcome
        trust = self.trust or one.trust
        given = self.content if self.trust else ""
        if given != content and (given or not whole):
            trust = min(trust, most, key=lambda level: level.rank)
        return one.model_copy(update={"trust": trust, "usage": self.usage, "outcome": outcome})


Changing = tuple[list[Row], Callable[[Iterable[Event]], None]]
Recorded = tuple[Experience, str, bool, Status]  # as learned, its content's digest, if it is unedited, its status


def used(usage: Usage, event: Event) -> Usage:
    """Usage after one more run in which the record was shown; unchanged when this session was reported before."""
    if event.session and event.session in usage.sessions:
        return usage
    success = event.kind == "help"
    return Usage(
        injected=usage.injected + 1,
        helped=usage.helped + int(success),
        hurt=usage.hurt + int(not success),
        streak=usage.streak + 1 if success and usage.hurt else 0,
        last_success=event.time if success else usage.last_success,
        sessions=(*usage.sessions, event.session)[-MAX_SESSIONS:] if event.session else usage.sessions,
    )


@dataclass(frozen=True)
class Added:
    """What `add` did with each record: new ids, and ids that were stored (or removed) before."""

    added: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass
class StoreReport:
    """What `verify` found: how many records (removed ones, too) are whole, and which not; `index` is ok or damaged."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    index: str = "ok"


class ExperienceStore(ABC):
    """Durable records and events. What a method has returned from is on disk; readers take no lock.

    Every record passes redaction before `add`. Removed ids stay removed: adding the same content again is skipped.
    What cannot be read raises `DataError`, a disk that refuses `StorageError`, a writer who takes long `LockedError`.
    """

    location: str  # the folder or URL this store was opened from, without a password
    shared: bool  # others write here whom nobody on this machine has let in: trust is given by approval
    cache_folder: Path  # on this machine, for what is not a record: the audit log, lessons
    _edited = Trust.OBSERVED  # at most, of a record that is not what its trust was given to

    # ---- what each kind of store does its own way ----

    @abstractmethod
    def key(self) -> bytes:
        """The store's secret for keyed digests: outside the records and every export, made when first asked for."""

    @abstractmethod
    def events(self, id: str | None = None) -> Iterator[Event]:
        """What happened, oldest first: to one record, or to all."""

    @abstractmethod
    def purge(self, ids: Iterable[str]) -> list[Experience]:
        """Erase records, removed ones too; returns what they were. Only the id stays, as a `removed` event."""

    @abstractmethod
    def verify(self) -> StoreReport:
        """Read every byte and say what is wrong."""

    @abstractmethod
    def revision(self) -> str:
        """A cheap token that differs after every committed change, whoever made it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; what was acknowledged is safe without it."""

    @abstractmethod
    def ids(self, *, removed: bool = False) -> list[str]:
        """Ids of all live records, sorted; or of what was removed and can be restored."""

    @abstractmethod
    def _rows(self, ids: Iterable[str] | None = None, *, removed: bool = False) -> Iterable[Row]:
        """The rows of live or of removed records, all or those of some ids, by id."""

    @abstractmethod
    def _read(self, row: Row) -> Recorded:
        """What is known of the record of a row. Raises `NotFoundError` where it went meanwhile, `DataError`."""

    @abstractmethod
    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        """Commit records in one go; returns the ids of those that were not there before."""

    @abstractmethod
    def _changing(self, ids: Iterable[str], *, removed: bool = False) -> AbstractContextManager[Changing]:
        """Keep other writers from live (or removed) records: their rows, and what notes events of these, once."""

    # ---- what follows from it ----

    def get(self, id: str) -> Experience:
        """The live record with this id, as it is now. Raises `NotFoundError` or `DataError`."""
        return self._load(self._expected([id], self._rows([id]))[0])

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id."""
        return isinstance(id, str) and any(True for _ in self._rows([id]))

    def scan(self, ids: Iterable[str] | None = None, *, removed: bool = False) -> Iterator[Experience]:
        """Stream live (or removed) records by id, all or those of `ids`; what cannot be read is left out."""
        return self._usable(self._rows(ids, removed=removed))

    def _usable(self, rows: Iterable[Row]) -> Iterator[Experience]:
        return (one for row in rows if (one := self._loaded(row)))

    def _loaded(self, row: Row) -> Experience | None:
        try:
            return self._load(row)
        except NotFoundError:
            return None  # removed meanwhile
        except DataError as error:
            _log.warning("left out: %s", error)
            return None

    def _load(self, row: Row) -> Experience:
        one, content, whole, status = self._read(row)
        return status.over(one, content, whole, self._edited)

    def _expected(self, ids: Iterable[str], rows: Iterable[Row], what: str = "experience") -> list[Row]:
        """The rows of these ids. Raises `NotFoundError` unless all are there."""
        found = list(rows)
        if missing := set(ids) - {row[0] for row in found}:
            raise NotFoundError(f"no {what} {min(missing)!r}", file=self.location)
        return found

    def add(self, experiences: Iterable[Experience]) -> Added:
        """Commit records, in groups of up to 512; idempotent. Usage that is not empty is kept as an event."""
        added: list[str] = []
        skipped: list[str] = []
        source = iter(experiences)
        while group := list(islice(source, GROUP)):
            first: dict[str, Experience] = {}  # of two with one id the first counts
            for one in group:
                first.setdefault(one.id, one)
            fresh = self._add_group(list(first.values()))
            for one in group:
                (added if one.id in fresh else skipped).append(one.id)
                fresh.discard(one.id)
        return Added(tuple(added), tuple(skipped))

    def set_status(
        self,
        id: str,
        *,
        trust: Trust | None = None,
        verdict: Verdict | None = None,
        expected: str | None = None,
        reason: str = "",
    ) -> Experience:
        """Note a new trust, a verdict, or both; returns the record as it is now. Raises as `get`.

        `expected` is the `fingerprint` of the record as the caller saw it; another one raises `ConflictError`.
        """
        said: Said = {"verdict": verdict, "trust": trust}
        return self.put_back(
            id, {kind: one for kind, one in said.items() if one is not None}, expected=expected, reason=reason
        )

    def put_back(self, id: str, said: Said, *, expected: str | None = None, reason: str = "") -> Experience:
        """Note what trust and verdict were before: None where what the record says counts again."""

        with self._changing([id]) as (rows, note):
            (row,) = self._expected([id], rows)
            check_expected(self._load(row), expected)
            about = {"trust": self._read(row)[1]} if said.get("trust") else {}
            note(
                event(kind, id, reason=reason, content=about.get(kind, ""), **{str(kind): value})
                for kind, value in said.items()
            )
        return self.get(id)

    def update_usage(self, id: str, success: bool, *, session: str = "") -> bool:
        """Note that the record helped (or hurt) in a session; False when that session was reported before."""
        noted = event("help" if success else "harm", id, session=content_id([session])[:16] if session else "")
        with self._changing([id]) as (rows, note):
            before = self._load(*self._expected([id], rows)).usage
            if counts := used(before, noted) != before:
                note([noted])
        return counts

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Take records out; returns the ids that were there. `restore` brings them back until they are purged."""
        with self._changing(ids) as (rows, note):
            note(event("removed", row[0], reason=reason) for row in rows)
        return [row[0] for row in rows]

    def restore(self, ids: Iterable[str]) -> list[Experience]:
        """Bring removed records back as they were. Raises `NotFoundError`; then none is."""
        wanted = list(ids)
        with self._changing(wanted, removed=True) as (rows, note):
            note(event("restored", row[0]) for row in self._expected(wanted, rows, "removed record"))
        return [self.get(id) for id in wanted]


def problem_of(error: DataError, place: str) -> Problem:
    """What is told of an error at a place."""
    field = f"[{error.field}]: " if error.field else ""
    return Problem(file=error.file or place, line=error.line, code=error.code, message=field + error.reason)


def event(kind: EventKind, id: str, **what: Any) -> Event:
    """An event of this moment."""
    return Event(kind=kind, id=id, time=datetime.now(timezone.utc), **what)


def fingerprint(experience: Experience) -> str:
    """SHA-256 (hex) of a record as it is now, without its use, which changes by itself."""
    seen = experience.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    return content_hash({**seen, "trust": experience.trust.value})


def check_expected(experience: Experience, expected: str | None) -> None:
    """Raise `ConflictError` unless the record is still the one with this fingerprint (None: any)."""
    if expected is not None and fingerprint(experience) != expected:
        raise ConflictError(f"{experience.id} was changed meanwhile: look at it again")
