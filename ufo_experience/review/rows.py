"""What the list shows of every record, in memory: read shard by shard, and again only where a shard has changed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.records import fingerprint
from ufo_experience.text.applications import application_key
from ufo_experience.trust.risk import risks

SETTLED_NS = 2_000_000_000  # a shard that changed within the last two seconds may change again in the same tick
OUTCOMES = {True: "success", False: "failure", None: "unknown"}
SORTS = ("newest", "oldest", "task", "application", "most used", "most helpful", "most harmful")


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

    @classmethod
    def of(cls, one: Experience) -> Row:
        """The row of a record."""
        return cls(
            id=one.id,
            task=one.state.request or one.state.task,
            application=one.state.application or "",
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
        )

    @property
    def waits(self) -> bool:
        """True for a record a person should decide on: shown to nobody yet, or with a risky step that asks first."""
        return self.outcome != "failure" and (
            self.trust in (Trust.QUARANTINED.value, Trust.OBSERVED.value)
            or (bool(self.risks) and self.trust != Trust.APPROVED.value)
        )


def way_of(one: Experience) -> str:
    """Application, intent and the controls in order: records with the same are near-duplicates."""
    steps = (f"{step.action_type}:{step.target_control.name}".casefold() for step in one.action.steps)
    return "\n".join([application_key(one.state.application) or "", one.state.task.casefold(), *steps])


@dataclass(frozen=True)
class Filters:
    """What the list is narrowed down to; "" does not count."""

    application: str = ""
    trust: str = ""
    outcome: str = ""
    format: str = ""
    risk: str = ""
    age: str = ""

    def admits(self, row: Row, now: datetime) -> bool:
        """True for a row that has everything asked for."""
        wanted = ((self.trust, row.trust), (self.outcome, row.outcome), (self.format, row.format))
        return (
            all(asked in ("", has) for asked, has in wanted)
            and (not self.application or application_key(self.application) == application_key(row.application))
            and (not self.risk or (self.risk == "none" and not row.risks) or self.risk in row.risks)
            and (not self.age or row.created >= now - timedelta(days=int(self.age)))
        )


class RowTable:
    """The rows of a store. Safe to use from many threads."""

    def __init__(self, store: ExperienceStore) -> None:
        self._store, self._lock = store, threading.Lock()
        self._rows: dict[str, Row] = {}
        self._mtimes: dict[str, int] = {}
        self._revision = ""

    def rows(self) -> list[Row]:
        """All rows, caught up with the store."""
        with self._lock:
            revision = self._store.revision()
            if revision != self._revision or not self._mtimes:
                self._catch_up()
                self._revision = revision
            return list(self._rows.values())

    def find(self, filters: Filters, sort: str = "newest", among: Iterable[str] | None = None) -> list[Row]:
        """The rows that pass, sorted; with `among` (ids, best first) in that order instead."""
        now = datetime.now(timezone.utc)
        if among is None:
            return _sorted([row for row in self.rows() if filters.admits(row, now)], sort)
        known = {row.id: row for row in self.rows()}
        return [known[id] for id in among if id in known and filters.admits(known[id], now)]

    def like(self, row_id: str) -> list[Row]:
        """Other records of the same way."""
        rows = self.rows()
        ways = {row.id: row.way for row in rows}
        return [row for row in rows if row.way == ways.get(row_id) and row.id != row_id]

    def choices(self) -> dict[str, list[str]]:
        """What there is to filter by, the most frequent first."""
        rows = self.rows()
        names = {
            "application": Counter(row.application for row in rows if row.application),
            "format": Counter(row.format for row in rows),
            "risk": Counter(risk for row in rows for risk in row.risks),
        }
        return {name: [value for value, _ in counted.most_common(100)] for name, counted in names.items()}

    def _catch_up(self) -> None:
        """Read the shards again that have changed: records of one beginning, or their status."""
        now, mtimes = time.time_ns(), self._store.shard_mtimes()
        names = mtimes.keys() | self._mtimes.keys()
        changed = {name.rpartition("/")[2] for name in names if self._mtimes.get(name) != mtimes.get(name)}
        self._rows = {id: row for id, row in self._rows.items() if id[:2] not in changed}
        ids = [id for prefix in sorted(changed) for id in self._store.ids_in(f"records/{prefix}")]
        self._rows.update((one.id, Row.of(one)) for one in self._store.scan(ids))
        self._mtimes = {name: at for name, at in mtimes.items() if now - at > SETTLED_NS}


def _sorted(rows: list[Row], sort: str) -> list[Row]:
    keys = {
        "newest": lambda row: (-row.created.timestamp(), row.id),
        "oldest": lambda row: (row.created.timestamp(), row.id),
        "task": lambda row: (row.task.casefold(), row.id),
        "application": lambda row: (row.application.casefold(), row.task.casefold(), row.id),
        "most used": lambda row: (-row.injected, row.id),
        "most helpful": lambda row: (-row.helped, row.id),
        "most harmful": lambda row: (-row.hurt, row.id),
    }
    return sorted(rows, key=keys.get(sort, keys["newest"]))
