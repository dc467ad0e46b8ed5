"""Lessons as they are kept: sentences beside the records they rest on, in `lessons.json` of the store.

A lesson goes when it hurt more often than it helped, or when the last record it rests on is gone. A file that was
written without the store's key (by hand, on another machine) is quarantined until somebody approves what it says.
"""

import hmac
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ufo_experience.errors import NotFoundError
from ufo_experience.request import application_key
from ufo_experience.schema import Instant, Model, Name, Text, Trust, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.files import read_regular, replace_file, writer_lock
from ufo_experience.store.records import canonical
from ufo_experience.store.strict_json import parse
from ufo_experience.trust.policy import TrustPolicy

FILE = "lessons.json"
MOST, SHOWN = 5, 3  # lessons of an application, and of one prompt
PREFIX = "lesson-"
_MAX_FILE = 4 << 20
_LOCK_S = 10.0


class Lesson(Model):
    """One sentence, the ids of the records that show it, and what became of the runs that were told it."""

    id: Name
    application: Name
    text: Text
    ids: tuple[Name, ...]
    trust: Trust = Trust.OBSERVED
    helped: int = 0
    hurt: int = 0
    model: Name = ""
    created_at: Instant

    @property
    def stays(self) -> bool:
        """False for one that hurt more often than it helped, and for one that a person put aside."""
        return self.hurt <= self.helped and self.trust is not Trust.QUARANTINED


class _File(Model):
    lessons: tuple[Lesson, ...]
    hmac: str


def is_lesson(id: str) -> bool:
    """True for the id of a lesson; a record's has no prefix."""
    return id.startswith(PREFIX)


class Lessons:
    """The lessons of a store. Processes may write at once; one that went stays in the file, so as not to come again."""

    def __init__(self, store: ExperienceStore) -> None:
        self._store, self._path = store, store.cache_folder / FILE

    def all(self) -> tuple[Lesson, ...]:
        """Every lesson; those that were written without this store's key are quarantined. Raises `DataError`."""
        if not self._path.exists():
            return ()
        file = str(self._path)
        told = validate(_File, parse(read_regular(self._path, _MAX_FILE, follow=False), file=file), file=file)
        if hmac.compare_digest(told.hmac.encode(), _signature(told.lessons, self._store.key()).encode()):
            return told.lessons
        return tuple(one.model_copy(update={"trust": Trust.QUARANTINED}) for one in told.lessons)

    def of(self, application: str | None, policy: TrustPolicy) -> list[Lesson]:
        """What is shown, the most helpful first: what stays and rests on a record that may be shown."""
        least = Trust.APPROVED if policy.own is Trust.APPROVED else Trust.OBSERVED
        known = [one for one in _in(application, self.all()) if one.stays and one.trust.rank >= least.rank]
        shown = [one for one in known if any(map(policy.admits, self._store.scan(one.ids)))]
        return sorted(shown, key=lambda one: one.hurt - one.helped)[:SHOWN]

    def take(self, application: str, new: Sequence[Lesson]) -> list[Lesson]:
        """Keep new lessons in place of old ones that nobody approved and that never helped; at most five stay."""

        def change(known: Sequence[Lesson]) -> list[Lesson]:
            own = {one.id: one for one in _in(application, known)}
            kept = [one for one in own.values() if not one.stays or one.helped or one.trust is Trust.APPROVED]
            room = max(0, MOST - sum(one.stays for one in kept))
            fresh = [own.get(one.id, one) for one in new if own.get(one.id) not in kept]
            return [*(one for one in known if one.id not in own), *kept, *fresh[:room]]

        return [one for one in _in(application, self._write(change)) if one.stays]

    def bring_in(self, lessons: Sequence[Lesson]) -> None:
        """Keep lessons of an export that are not known here."""
        if lessons:
            self._write(lambda known: list({one.id: one for one in (*lessons, *known)}.values()))

    def credit(self, ids: Collection[str], success: bool) -> None:
        """Count the outcome of a run in which lessons were shown."""
        count = "helped" if success else "hurt"
        self._update(ids, lambda one: {count: getattr(one, count) + 1})

    def set_trust(self, ids: Collection[str], trust: Trust) -> None:
        """Approve lessons, or put them aside. Raises `NotFoundError`."""
        if missing := set(ids) - {one.id for one in self.all()}:
            raise NotFoundError(f"no lesson {min(missing)!r}", file=str(self._path))
        self._update(ids, lambda one: {"trust": trust})

    def forget(self, ids: Collection[str]) -> None:
        """Take purged records out of what lessons rest on, and with the last one the lesson."""
        resting = [one.id for one in self.all() if not set(ids).isdisjoint(one.ids)]
        self._update(resting, lambda one: {"ids": tuple(id for id in one.ids if id not in ids)})

    def _update(self, ids: Collection[str], change: Callable[[Lesson], dict[str, Any]]) -> None:
        """Change fields of some lessons; one that rests on nothing any more goes."""
        if ids:
            self._write(lambda known: [one.model_copy(update=change(one)) if one.id in ids else one for one in known])

    def _write(self, change: Callable[[Sequence[Lesson]], list[Lesson]]) -> list[Lesson]:
        key = self._store.key()
        with writer_lock(self._path.parent, _LOCK_S):
            after = [one for one in change(self.all()) if one.ids]
            told = _File(lessons=tuple(after), hmac=_signature(after, key)).model_dump(mode="json")
            replace_file(self._path, json.dumps(told, ensure_ascii=False, indent=1).encode())
        return after


def _in(application: str | None, lessons: Iterable[Lesson]) -> list[Lesson]:
    key = application_key(application)
    return [one for one in lessons if application_key(one.application) == key]


def _signature(lessons: Iterable[Lesson], key: bytes) -> str:
    """What only who has the key of the store can write."""
    return hmac.new(key, canonical([one.model_dump(mode="json") for one in lessons]), "sha256").hexdigest()
