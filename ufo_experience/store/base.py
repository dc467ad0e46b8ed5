"""What every experience store can do: records that are written once, and the events that happened to them since.

A folder is the default; a URL picks another (see `open_store`). A store keeps two things and nothing else:

    record   one experience as it was learned; it never changes
    event    what somebody said or what became of it later: trust, verdict, help, harm, removed, restored

Trust, outcome and usage of a record as `get` answers it are those of the record after its events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from ufo_experience.errors import ConflictError
from ufo_experience.ids import content_hash, content_id
from ufo_experience.schema import (
    MAX_SESSIONS,
    Experience,
    Instant,
    Model,
    Name,
    Problem,
    Text,
    Trust,
    Usage,
    Verdict,
)

GROUP = 512  # records in one commit; other writers have their turn between groups
EventKind = Literal["trust", "verdict", "help", "harm", "usage", "removed", "restored"]
Said = Mapping[Literal["trust", "verdict"], Trust | Verdict | None]


class Event(Model):
    """Something that happened to a record after it was learned; one line of `events.jsonl`, one row of a table.

    `trust` and `verdict` come with what was given, None where it was taken back; `help` and `harm` with a digest of the
    session that was reported. `usage` sets all counts at once, as a restored backup has them. `content` is the digest
    of the record's content that a person looked at: trust holds for these bytes and no others (a folder, where files
    can be edited).
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
    """What the events of a record come to: a fold over them, oldest first. `Status()` is that of a new record.

    `trust` None means that nobody has said anything: what the record says counts.
    """

    trust: Trust | None = None
    content: Name = ""
    usage: Usage = Usage.model_construct()
    verdict: Verdict | None = None
    removed: bool = False

    def after(self, event: Event) -> Status:
        """The status after one more event."""
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

    def over(self, experience: Experience) -> Experience:
        """The record as it is now."""
        outcome = self.verdict.over(experience.outcome) if self.verdict else experience.outcome
        now = {"trust": self.trust or experience.trust, "usage": self.usage, "outcome": outcome}
        return experience.model_copy(update=now)


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
    """What `verify` found. `corrupt` is empty when every record and event is whole; `repaired` was set aside."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    repaired: list[Problem] = field(default_factory=list)


class ExperienceStore(Protocol):
    """Durable records and events. What a method has returned from is on disk; readers take no lock.

    Every record passes redaction before `add`; a store writes what it is given. Removed ids stay removed: adding the
    same content again is skipped.
    """

    @property
    def location(self) -> str:
        """The folder or URL this store was opened from."""
        ...

    @property
    def shared(self) -> bool:
        """True when others write here whom nobody on this machine has let in: trust must then be given by approval."""
        ...

    @property
    def cache_folder(self) -> Path:
        """The folder on this machine for what is not a record: the audit log, the books of what was spent."""
        ...

    def key(self) -> bytes:
        """The store's secret for keyed digests: outside the records and every export, made when first asked for."""
        ...

    def add(self, experiences: Iterable[Experience]) -> Added:
        """Commit records; idempotent, durable when it returns. Usage that is not empty is kept as an event.

        Raises:
            StorageError, LockedError: the disk, another writer.
            DataError: a record is over a limit; nothing of its group is stored.
        """
        ...

    def get(self, id: str) -> Experience:
        """The live record with this id, as it is now. Raises `NotFoundError` or `DataError`."""
        ...

    def __contains__(self, id: object) -> bool:
        """True when there is a live record with this id."""
        ...

    def ids(self) -> list[str]:
        """Ids of all live records, sorted."""
        ...

    def scan(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """Stream live records by id, all or those of `ids`; one that cannot be read is left out, `verify` names it."""
        ...

    def events(self, id: str | None = None) -> Iterator[Event]:
        """What happened, oldest first: to one record, or to all."""
        ...

    def set_status(
        self, id: str, *, trust: Trust | None = None, verdict: Verdict | None = None, expected: str | None = None
    ) -> Experience:
        """Note a new trust, a verdict, or both; returns the record as it is now. Raises as `get`.

        `expected` is the `fingerprint` of the record as the caller saw it; another one raises `ConflictError`.
        """
        ...

    def put_back(self, id: str, said: Said, *, expected: str | None = None) -> Experience:
        """Note that trust, verdict, or both are what they were before: None where nobody had said anything, and what
        the record says counts again. Returns the record as it is now. Raises as `set_status`.
        """
        ...

    def update_usage(self, id: str, success: bool, *, session: str = "", when: datetime | None = None) -> bool:
        """Note that the record helped (or hurt) in a session; False when that session was reported before."""
        ...

    def remove(self, ids: Iterable[str], *, reason: str = "") -> list[str]:
        """Take records out; returns the ids that were there. `restore` brings them back until they are purged."""
        ...

    def removed(self) -> list[str]:
        """Ids of what was removed and can be restored, sorted."""
        ...

    def scan_removed(self, ids: Iterable[str] | None = None) -> Iterator[Experience]:
        """What was removed and can be restored, as it was, by id."""
        ...

    def restore(self, ids: Iterable[str]) -> list[Experience]:
        """Bring removed records back as they were."""
        ...

    def purge(self, ids: Iterable[str]) -> list[Experience]:
        """Erase records, removed ones too, with what was said of them; returns what they were.

        Only the id stays, as a `removed` event: the same log read again does not bring them back.
        """
        ...

    def verify(self, *, repair: bool = False) -> StoreReport:
        """Read every byte and say what is wrong; with `repair` set aside what cannot be used, the reason beside it."""
        ...

    def revision(self) -> str:
        """A cheap token that differs after every committed change, whoever made it."""
        ...

    def close(self) -> None:
        """Let go of files and connections; what was acknowledged is safe without it."""
        ...


class BaseStore(ABC):
    """What every store does the same way: records come in groups, events follow from the record as it is now."""

    def add(self, experiences: Iterable[Experience]) -> Added:
        """Commit records, in groups of up to 512; durable when it returns. See `ExperienceStore`."""
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

    @abstractmethod
    def _add_group(self, group: Sequence[Experience]) -> set[str]:
        """Commit records in one go; returns the ids of those that were not there before."""

    def set_status(
        self, id: str, *, trust: Trust | None = None, verdict: Verdict | None = None, expected: str | None = None
    ) -> Experience:
        """Note a new trust, a verdict, or both; see `ExperienceStore`."""

        def events(seen: Experience) -> list[Event]:
            check_expected(seen, expected)
            found = [] if verdict is None else [event("verdict", id, verdict=verdict)]
            return found if trust is None else [*found, event("trust", id, trust=trust)]

        return self._note(id, events)

    def put_back(self, id: str, said: Said, *, expected: str | None = None) -> Experience:
        """Note what had been said before; see `ExperienceStore`."""

        def events(seen: Experience) -> list[Event]:
            check_expected(seen, expected)
            return [event(kind, id, None, **{str(kind): before}) for kind, before in said.items()]

        return self._note(id, events)

    def update_usage(self, id: str, success: bool, *, session: str = "", when: datetime | None = None) -> bool:
        """Note that the record helped or hurt; see `ExperienceStore`."""
        noted = event("help" if success else "harm", id, when, session=content_id([session])[:16] if session else "")
        counted = False

        def events(seen: Experience) -> list[Event]:
            nonlocal counted
            counted = used(seen.usage, noted) != seen.usage
            return [noted] if counted else []

        self._note(id, events)
        return counted

    @abstractmethod
    def _note(self, id: str, events: Callable[[Experience], Sequence[Event]]) -> Experience:
        """Append the events of a live record, with no other writer between; returns the record after them.

        Raises:
            NotFoundError, DataError: as `get`.
        """


def event(kind: EventKind, id: str, time: datetime | None = None, **what: Any) -> Event:
    """An event of this moment."""
    return Event(kind=kind, id=id, time=time or datetime.now(timezone.utc), **what)


def fingerprint(experience: Experience) -> str:
    """SHA-256 (hex) of a record as it is now: content, outcome and trust. Its use is left out, which changes by itself.

    Given back as `expected` it makes sure that what is changed is what somebody looked at.
    """
    seen = experience.model_dump(mode="json", exclude={"usage"}, exclude_defaults=True)
    return content_hash({**seen, "trust": experience.trust.value})


def check_expected(experience: Experience, expected: str | None) -> None:
    """Raise `ConflictError` unless the record is still the one with this fingerprint (None: any)."""
    if expected is not None and fingerprint(experience) != expected:
        raise ConflictError(f"{experience.id} was changed meanwhile: look at it again")
