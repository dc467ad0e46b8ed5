"""What the list shows of every record, in memory; read again only where something has changed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ufo_experience.request import application_key
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import ExperienceStore, fingerprint
from ufo_experience.store.selection import is_format, searched
from ufo_experience.trust.labels import STRANGE
from ufo_experience.trust.policy import TrustPolicy
from ufo_experience.trust.risk import risks

OUTCOMES = {True: "success", False: "failure", None: "unknown"}
TRUST_WORDS = {
    "quarantined": "set aside, or from elsewhere; shown to nobody",
    "observed": "nobody has judged how it ended; shown to nobody",
    "verified": "somebody has judged how it ended",
    "approved": "signed off by a person",
}
SORTS: dict[str, Callable[[Row], tuple[Any, ...]]] = {
    "newest": lambda row: (-row.created.timestamp(), row.id),
    "oldest": lambda row: (row.created.timestamp(), row.id),
    "task": lambda row: (row.task.casefold(), row.id),
    "application": lambda row: (row.application.casefold(), row.task.casefold(), row.id),
    "used": lambda row: (-row.injected, row.id),
    "helped": lambda row: (-row.helped, row.id),
    "hurt": lambda row: (-row.hurt, row.id),
}
# Why a record waits for a person: no agent is shown it, but for the last, which agents are shown with its warning.
UNJUDGED = "nobody has said that it worked: no agent is shown it"
IMPORTED = "it came from elsewhere: no agent is shown it"
UNSIGNED = "nobody has signed it off: no agent is shown it"
RISKY = "agents are shown it; look at what is marked"
_NAME = ('"A NAME"',)
KEYS: dict[str, tuple[str, ...]] = {  # of a search line, with what each takes
    "is": (*OUTCOMES.values(), "waiting", "risky", '"asks first"', *STRANGE),
    "trust": tuple(TRUST_WORDS),
    "sort": tuple(SORTS),
    "since": ("7",),
    "app": _NAME,
    "format": _NAME,
}
_PIECE = re.compile(r'[^\s":]*:"[^"]*"|\S+')


@dataclass(frozen=True)
class Row:
    """One record as the list shows it. `seen` is its fingerprint: what a change is bound to."""

    id: str
    task: str
    application: str
    outcome: str
    trust: str
    format: str
    created: datetime
    steps: int
    risks: tuple[str, ...]
    injected: int
    helped: int
    hurt: int
    seen: str
    way: str
    waits: str
    text: str

    @classmethod
    def of(cls, one: Experience, policy: TrustPolicy, *, set_aside: bool) -> Row:
        """The row of a record; `set_aside` where somebody has quarantined it."""
        return cls(
            id=one.id,
            task=one.state.request or one.state.task,
            application=plain_name(one.state.application or ""),
            outcome=OUTCOMES[one.outcome.success],
            trust=one.trust.value,
            format=one.provenance.format or one.provenance.origin,
            created=one.created_at,
            steps=len(one.action.steps),
            risks=risks(one),
            injected=one.usage.injected,
            helped=one.usage.helped,
            hurt=one.usage.hurt,
            seen=fingerprint(one),
            way=way_of(one),
            waits="" if set_aside or one.outcome.success is False else _waits(one, policy),
            text=f"{one.id} {searched(one)} {' '.join(one.state.wordings).casefold()}",
        )


def _waits(one: Experience, policy: TrustPolicy) -> str:
    """Why a person should decide on a record; "" for one that nobody need look at."""
    if one.trust.rank < policy.least(one).rank:
        return IMPORTED if one.provenance.origin == "import" else UNJUDGED if not one.outcome.is_judged else UNSIGNED
    return RISKY if risks(one) and one.trust is not Trust.APPROVED else ""


def plain_name(application: str) -> str:
    """The name of an application as a person says it: that of a product, not of its process."""
    key = application_key(application)
    return application if key == application.strip().casefold() else key.title()


def way_of(one: Experience) -> str:
    """Application, intent and the controls in order: records with the same are near-duplicates."""
    steps = (f"{step.action_type}:{step.target_control.name}".casefold() for step in one.action.steps)
    return "\n".join([application_key(one.state.application) or "", one.state.task.casefold(), *steps])


@dataclass(frozen=True)
class Filters:
    """What the list is narrowed down to, as it is typed: `report app:Word is:waiting since:7 sort:oldest`.

    `app:`, `trust:` and `format:` take a value; `is:` takes success, failure, unknown, waiting, risky or a kind of
    risk; `since:` takes days. Words without a colon, and keys nobody knows, are searched for. `wrong` says what is
    the matter with a key that has no such value.
    """

    words: str = ""
    application: str = ""
    trust: str = ""
    format: str = ""
    states: tuple[str, ...] = ()
    since: int | None = None
    sort: str = "newest"
    wrong: str = ""

    @classmethod
    def of(cls, line: str) -> Filters:
        """The filters of a search line; quotes hold a value of several words together."""
        found = cls()
        words = []
        for piece in _PIECE.findall(line):
            key, colon, value = piece.partition(":")
            value = value.strip('"')
            if not colon or key not in KEYS:
                words.append(piece)
            elif wrong := _wrong(key, value):
                found = replace(found, wrong=wrong)
            elif key == "is":
                found = replace(found, states=(*found.states, value))
            elif key == "since":
                found = replace(found, since=int(value))
            else:
                found = replace(found, **{"application" if key == "app" else key: value})
        return replace(found, words=" ".join(words))

    def admits(self, row: Row, now: datetime) -> bool:
        """True for a row that has everything asked for."""
        waits = row.waits not in ("", RISKY)
        has = {row.outcome, *row.risks, *(["waiting"] if waits else []), *(["risky"] if row.risks else [])}
        return (
            self.trust in ("", row.trust)
            and (not self.format or is_format(row.format, self.format))
            and (not self.application or application_key(self.application) == application_key(row.application))
            and has.issuperset(self.states)
            and (self.since is None or row.created >= now - timedelta(days=self.since))
        )


def _wrong(key: str, value: str) -> str:
    """Why there is no such filter, with those there are; "" for one that is."""
    if key == "since":
        known = value.isdecimal() and len(value) < 6
    else:
        known = bool(value) if KEYS[key] is _NAME else value in {one.strip('"') for one in KEYS[key]}
    return "" if known else f"{key}:{value} is no filter; there is {', '.join(f'{key}:{one}' for one in KEYS[key])}"


class RowTable:
    """The rows of a store. Safe to use from many threads."""

    def __init__(self, store: ExperienceStore, policy: TrustPolicy) -> None:
        self._store, self._policy, self._lock = store, policy, threading.Lock()
        self._rows: dict[str, Row] = {}
        self._events = 0
        self._revision: str | None = None

    def rows(self) -> list[Row]:
        """All rows, caught up with the store."""
        with self._lock:
            revision = self._store.revision()
            if revision != self._revision:
                self._catch_up()
                self._revision = revision
            return list(self._rows.values())

    def find(self, filters: Filters) -> list[Row]:
        """The rows that pass, sorted; its words are not looked for."""
        now = datetime.now(timezone.utc)
        return sorted((row for row in self.rows() if filters.admits(row, now)), key=SORTS[filters.sort])

    def like(self, row_id: str) -> list[Row]:
        """Other records of the same way."""
        rows = self.rows()
        ways = {row.id: row.way for row in rows}
        return [row for row in rows if row.way == ways.get(row_id) and row.id != row_id]

    def _catch_up(self) -> None:
        """Read what is new, what something happened to, and, where the store has changed otherwise, everything."""
        ids, all_events = self._store.ids(), list(self._store.events())
        events = [one.id for one in all_events]
        trust = {one.id: one.trust for one in all_events if one.kind == "trust"}
        changed = {id for id in ids if id not in self._rows}
        if len(events) >= self._events:
            changed |= set(events[self._events :]) & set(ids)
        if not changed and len(ids) == len(self._rows):
            changed = set(ids)  # by hand, or by a purge
        self._rows = {id: self._rows[id] for id in ids if id in self._rows}
        self._rows.update(
            (one.id, Row.of(one, self._policy, set_aside=trust.get(one.id) is Trust.QUARANTINED))
            for one in self._store.scan(sorted(changed))
        )
        self._events = len(events)
