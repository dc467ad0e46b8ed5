"""What a person can do: changes to records, each bound to the fingerprint of what was on the page, and long jobs.

A record never changes: `edit` stores a new one that names the old as superseded and takes the old out of use.
"""

import difflib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from ufo_experience.errors import ExperienceError, NotFoundError, UsageError
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import YOURS, marks
from ufo_experience.schema import SUPERSEDES, Experience, Step, Trust, validate
from ufo_experience.store.base import Said, Status, fingerprint
from ufo_experience.store.selection import RecordFilter

KEPT = 100  # changes that can be taken back
JUDGED = {"worked": True, "failed": False}
DONE = {
    "approve": "approved",
    "quarantine": "quarantined",
    "remove": "removed",
    "worked": "said to have worked",
    "failed": "said to have failed",
}
LOST = "edited: "  # begins a note of what an edit took out of a record
Form = Sequence[tuple[str, str]]
Records = tuple[Experience, ...]


@dataclass(frozen=True)
class Change:
    """A change that was made, with what takes it back: the records `before`, what had been `said` of them, the id of
    a new one (`after`), and id → fingerprint right after it (`seen`): what became another since is not overwritten.
    """

    id: str
    verb: str
    before: Records
    said: Mapping[str, Said]
    seen: Mapping[str, str]
    after: str = ""
    undone: bool = False


class Actions:
    """Changes to the records of one memory. Safe to use from many threads: each change is one call of the store."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self._memory = memory
        self._done: dict[str, Change] = {}

    def change(self, verb: str, seen: Mapping[str, str]) -> Change:
        """Approve, quarantine or remove records, or say that they worked or failed. `seen` is id → fingerprint;
        `ConflictError` when one was changed meanwhile.
        """
        if verb not in DONE:
            raise UsageError(f"no such change: {verb!r}")
        before = self._as_seen(seen)
        said = {} if verb == "remove" else self._said(before, verdict=verb in JUDGED)
        memory = self._memory
        if verb in JUDGED:
            now: Iterable[Experience] = [memory.judge(id, success=JUDGED[verb]) for id in seen]
        else:
            now = getattr(memory, verb)(*seen, where=RecordFilter(expected=seen))
        return self._note(DONE[verb], before, said, now)

    def edit(self, old: Experience, seen: str, new: Experience) -> Change:
        """Store `new` (of `edited`) in place of `old`: approved, since a person wrote it. Raises as `change`."""
        before = self._as_seen({old.id: seen})
        said = self._said(before)
        self._memory.store.add([new])
        now = self._memory.quarantine(old.id, where=RecordFilter(expected={old.id: seen}))
        self._memory.index_if_possible()
        return self._note("edited", before, said, [*now, self._memory.get(new.id)], new.id)

    def undo(self, change_id: str) -> Change:
        """Put the records back as they were before a change, and take out what it made. Raises as `change`."""
        change = self._done.get(change_id)
        if change is None or change.undone:
            raise NotFoundError("this change cannot be taken back any more")
        store = self._memory.store
        if change.verb == "removed":
            self._memory.undo_remove(*(one.id for one in change.before))
        elif change.seen:
            self._as_seen(change.seen)
        for id, said in change.said.items():
            store.put_back(id, said, expected=change.seen[id])
        store.remove([change.after] if change.after else [], reason="an edit that was taken back")
        self._memory.index_if_possible()
        self._audit(f"undo {change.verb}", change.before)
        self._done[change_id] = replace(change, undone=True)
        return change

    def done(self, change_id: str) -> Change | None:
        return self._done.get(change_id)

    def recent(self) -> list[Change]:
        return [change for change in reversed(self._done.values()) if not change.undone]

    def _as_seen(self, seen: Mapping[str, str]) -> Records:
        return tuple(self._memory.list(where=RecordFilter(ids=tuple(seen), expected=seen)))

    def _said(self, records: Sequence[Experience], *, verdict: bool = False) -> dict[str, Said]:
        """The trust (and verdict) that somebody has given each record until now, None where nobody has."""
        told = {one.id: Status() for one in records}
        for event in self._memory.store.events():
            if event.id in told:
                told[event.id] = told[event.id].after(event)
        found: dict[str, Said] = {}
        for one in records:
            trust = one.trust if told[one.id].trust else None
            found[one.id] = {"trust": trust, "verdict": told[one.id].verdict} if verdict else {"trust": trust}
        return found

    def _note(
        self, verb: str, before: Records, said: Mapping[str, Said], now: Iterable[Experience], after: str = ""
    ) -> Change:
        id = secrets.token_hex(16)
        seen = {} if verb == "removed" else {one.id: fingerprint(one) for one in now}
        self._done[id] = change = Change(id, verb, before, said, seen, after)
        for forgotten in list(self._done)[:-KEPT]:
            del self._done[forgotten]
        self._audit(verb, before)
        return change

    def _audit(self, verb: str, records: Sequence[Experience]) -> None:
        self._memory.parts.audit.change("review", verb, [one.id for one in records])


class Jobs:
    """The long jobs of one memory; `name`, steps `done` of all (`total` 0: unknown) and `error` are of the last."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self._lock, self._since = threading.Lock(), 0.0
        self.name, self.error, self.running = "", "", False
        self.done = self.total = 0
        self.results: dict[str, Any] = {}
        self._jobs: dict[str, Callable[[], Any]] = {
            "verify": memory.verify,
            "index": lambda: memory.index(progress=self._step),
            "rebuild": lambda: memory.index(rebuild=True, progress=self._step),
        }

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self._since)

    def start(self, name: str) -> None:
        """Begin a job, unless one is under way. Raises `UsageError` for a name that is none."""
        if name not in self._jobs:
            raise UsageError(f"no such job: {name!r}")
        with self._lock:
            if self.running:
                return
            self.name, self.error, self.running = name, "", True
            self.done = self.total = 0
            self._since = time.monotonic()
        threading.Thread(target=self._run, name=f"ufo-experience-{name}", daemon=True).start()

    def _run(self) -> None:
        error = f"{self.name} ended by a fault of the program; its log says more"
        try:
            self.results["verify" if self.name == "verify" else "index"] = self._jobs[self.name]()
            error = ""
        except ExperienceError as known:
            error = str(known)
        finally:  # of any other fault the thread's own message tells
            self.error, self.running = error, False

    def _step(self, what: str, done: int, total: int) -> None:
        self.done, self.total = done, total


def edited(old: Experience, form: Form) -> Experience:
    """A new record as the form has it; a field that the form lacks stays. Raises `UsageError` for an empty one."""
    given = {name: value.strip() for name, value in form}
    if not given.get("task"):
        raise UsageError("the task is empty: say what is asked for")
    ticked = [value for name, value in form if name == "step"]
    kept = [step for step in old.action.steps if str(step.step_number) in ticked]
    if old.action.steps and not kept:
        raise UsageError("a record without a step teaches nothing: keep at least one, or remove it")
    data = old.model_dump()
    data["state"]["request"] = given["task"]
    data["action"]["tips"] = [tip.strip() for tip in given.get("tips", "").splitlines() if tip.strip()]
    data["action"]["steps"] = [_edited_step(step, place, given) for place, step in enumerate(kept, start=1)]
    data["slots"] = {name: given.get(f"slot:{name}") or kind for name, kind in old.slots.items()}
    notes = [note for note in old.provenance.notes if not note.startswith((SUPERSEDES, LOST))]
    data["provenance"]["notes"] = [*notes, f"{SUPERSEDES}{old.id}"]
    data |= {"usage": {}, "trust": Trust.APPROVED, "created_at": datetime.now(timezone.utc)}
    data["id"] = content_id({name: data[name] for name in ("state", "action", "slots", "created_at")} | {"was": old.id})
    new = validate(Experience, data)
    if _lines(new) == _lines(old):
        raise UsageError("nothing was changed")
    lost = _lost(old.model_copy(update={"action": old.action.model_copy(update={"steps": tuple(kept)})}), new)
    origin = new.provenance.model_copy(update={"notes": (*new.provenance.notes, *lost)})
    return new.model_copy(update={"provenance": origin})


def _lost(old: Experience, new: Experience) -> list[str]:
    """What agents are no longer told of the steps that two records have in common, in their order."""
    told: list[str] = []
    for place, (before, now) in enumerate(zip(_marks(old), _marks(new), strict=True), start=1):
        if "ask first" in before and "ask first" not in now:
            told.append(f"{LOST}the mark [ask first] of step {place} is gone: its new label names no grave deed")
        if any(one.startswith(YOURS) for one in now) and now != before:
            told.append(f"{LOST}step {place} takes its value from the task no more: [{', '.join(now)}]")
    return told


def _marks(one: Experience) -> list[list[str]]:
    """What stands in brackets behind each recorded step, where an agent reads it."""
    found = []
    for step in one.action.steps:
        alone = one.model_copy(
            update={"trust": Trust.APPROVED, "action": one.action.model_copy(update={"steps": (step,)})}
        )
        way = Procedure.of([alone], one.state.request or one.state.task)
        found.append([mark for shown in way.steps for mark in marks(shown, way.application)])
    return found


def _edited_step(step: Step, place: int, given: Mapping[str, str]) -> dict[str, Any]:
    number, control = step.step_number, step.target_control
    name = given.get(f"control:{number}", control.name)
    if control.name and not name:
        raise UsageError(f"step {number} has no control any more: name it, or untick the step")
    kind = given.get(f"type:{number}", control.type) or None
    return {
        **step.model_dump(),
        "step_number": place,
        "action_type": given.get(f"action:{number}", step.action_type),
        "target_control": {**control.model_dump(), "name": name, "type": kind},
    }


def difference(old: Experience, new: Experience) -> list[tuple[str, str]]:
    """Lines of both with what became of each: `kept`, `gone` or `new`."""
    marks = {"  ": "kept", "- ": "gone", "+ ": "new"}
    lines = difflib.ndiff(_lines(old), _lines(new))
    return [(marks[line[:2]], line[2:]) for line in lines if line[:2] in marks]


def _lines(one: Experience) -> list[str]:
    steps = (
        f"{step} {' '.join(f'[{mark}]' for mark in found)}"
        for step, found in zip(one.action.steps, _marks(one), strict=True)
    )
    return [
        f"task: {one.state.request or one.state.task}",
        *(f"tip: {tip}" for tip in one.action.tips),
        *(f"slot {name}: {kind}" for name, kind in sorted(one.slots.items())),
        *(" ".join(step.split()) for step in steps),
    ]
