"""What the pages show of every record, in memory, and how it is searched; read again only where something changed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any

from ufo_experience.memory import ExperienceMemory
from ufo_experience.request import application_key
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import fingerprint
from ufo_experience.store.selection import RecordFilter, searched
from ufo_experience.trust.labels import STRANGE
from ufo_experience.trust.policy import TrustPolicy
from ufo_experience.trust.risk import risks

# Why a record waits for a person: no agent is shown it, but for the last, which agents are shown with its warning.
UNJUDGED = "nobody has said that it worked: no agent is shown it"
IMPORTED = "it came from elsewhere: no agent is shown it"
UNSIGNED = "nobody has signed it off: no agent is shown it"
RISKY = "agents are shown it"


@dataclass(frozen=True, eq=False)
class Row:
    """A record as the pages show it; `set_aside` where somebody has quarantined it."""

    one: Experience
    policy: TrustPolicy
    set_aside: bool = False

    @property
    def task(self) -> str:
        return self.one.state.request or self.one.state.task

    @property
    def application(self) -> str:
        return plain_name(self.one.state.application or "")

    @cached_property
    def seen(self) -> str:
        """The fingerprint of the record: what a change is bound to."""
        return fingerprint(self.one)

    @cached_property
    def risks(self) -> tuple[str, ...]:
        return risks(self.one)

    @cached_property
    def text(self) -> str:
        return f"{self.one.id} {self.one.id[:8]} {searched(self.one)} {' '.join(self.one.state.wordings).casefold()}"

    @cached_property
    def waits(self) -> str:
        """Why a person should decide on the record; "" for one that nobody need look at."""
        one = self.one
        if self.set_aside or one.is_negative:
            return ""
        if one.trust.rank < self.policy.least(one).rank:
            return IMPORTED if one.provenance.origin == "import" else UNSIGNED if one.outcome.is_judged else UNJUDGED
        return RISKY if self.risks and one.trust is not Trust.APPROVED else ""


def plain_name(application: str) -> str:
    """The name of an application as a person says it: that of a product, not of its process."""
    key = application_key(application)
    return application if key == application.strip().casefold() else key.title()


SORTS: dict[str, Callable[[Row], Any]] = {
    "newest": lambda row: -row.one.created_at.timestamp(),
    "oldest": lambda row: row.one.created_at.timestamp(),
    "task": lambda row: row.task.casefold(),
    "application": lambda row: (row.application.casefold(), row.task.casefold()),
    "used": lambda row: -row.one.usage.injected,
    "helped": lambda row: -row.one.usage.helped,
    "hurt": lambda row: -row.one.usage.hurt,
}
_IS: dict[str, dict[str, Any]] = {
    "success": {"success": True},
    "failure": {"success": False},
    "unknown": {"success": "unknown"},
    "waiting": {"waiting": True},
    "risky": {"risk": True},
    **{kind: {"risk": kind} for kind in ("asks first", *STRANGE)},
}
_KEYS = {  # of a search line, with what each takes
    "is": tuple(_IS),
    "trust": tuple(level.value for level in Trust),
    "sort": tuple(SORTS),
    "since": ("7",),
    "app": ("A NAME",),
}
_PIECE = re.compile(r'[^\s":]*:"[^"]*"|\S+')


@dataclass(frozen=True)
class Search:
    """What the list is narrowed down to, as it is typed, and what is `wrong` with it; other words are searched for."""

    words: str = ""
    where: RecordFilter = field(default_factory=RecordFilter)
    waiting: bool = False
    sort: str = "newest"
    wrong: str = ""
    strange: str = ""  # what looks like a filter and is searched for as a word

    @classmethod
    def of(cls, line: str) -> Search:
        """The search of a line; quotes hold a value of several words together."""
        words, wrong, strange = [], "", ""
        given: dict[str, Any] = {}
        for piece in _PIECE.findall(line):
            key, colon, value = piece.partition(":")
            value = value.strip('"')
            if not colon or key not in _KEYS:
                words.append(piece)
                if colon and value and key.isalpha():
                    strange = f"{key}: is no field. Fields: {', '.join(_KEYS)}"
            elif key == "is" and value in _IS:
                given |= _IS[value]
            elif key == "since" and value.isdecimal() and len(value) < 6:
                given["since"] = datetime.now(timezone.utc) - timedelta(days=int(value))
            elif key in ("trust", "sort") and value in _KEYS[key]:
                given[key] = value
            elif key == "app" and value:
                given["application"] = value
            else:
                known = (f'{key}:"{one}"' if " " in one else f"{key}:{one}" for one in _KEYS[key])
                wrong = f"{key}:{value} is no filter; there is {', '.join(known)}"
        waiting, sort = given.pop("waiting", False), given.pop("sort", "newest")
        return cls(" ".join(words), RecordFilter(**given), waiting, sort, wrong, strange)


class Rows:
    """The rows of a store. Safe to use from many threads."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self._memory, self._lock = memory, threading.Lock()
        self._rows: dict[str, Row] = {}
        self._events, self._revision = 0, ""

    def all(self) -> list[Row]:
        """All rows, caught up with the store."""
        with self._lock:
            revision = self._memory.store.revision()
            if revision != self._revision:
                self._catch_up()
                self._revision = revision
            return list(self._rows.values())

    def get(self, id: str) -> Row | None:
        self.all()
        return self._rows.get(id)

    def find(self, search: Search) -> list[Row]:
        """The rows that pass, sorted; the words are not looked for."""
        found = [row for row in self.all() if search.where.admits(row.one)]
        if search.waiting:
            found = [row for row in found if row.waits not in ("", RISKY)]
        return sorted(found, key=lambda row: (SORTS[search.sort](row), row.one.id))

    def _catch_up(self) -> None:
        """Read what is new, what something happened to, and, where the store has changed otherwise, everything."""
        store, policy = self._memory.store, self._memory.parts.policy
        ids, events = store.ids(), list(store.events())
        happened = {event.id for event in events[self._events :]}
        changed = [id for id in ids if id not in self._rows or id in happened]
        if len(events) < self._events or (not changed and len(ids) == len(self._rows)):
            changed = ids  # by hand, or by a purge
        trust = {event.id: event.trust for event in events if event.kind == "trust"}
        read = {one.id: Row(one, policy, trust.get(one.id) is Trust.QUARANTINED) for one in store.scan(changed)}
        kept = {**self._rows, **read}
        self._rows = {id: kept[id] for id in ids if id in kept}
        self._events = len(events)
