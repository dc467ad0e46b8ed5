"""One function a page: what it shows, as plain data for its template. Nothing here is HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import marks, phrase
from ufo_experience.procedure.runs import KnownProcedure, join
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.prompt.audit import FILE, AuditLog
from ufo_experience.request import application_key
from ufo_experience.retrieve.answer import Withheld
from ufo_experience.review import plots
from ufo_experience.review.actions import difference, seen_now
from ufo_experience.review.rows import RISKY, Filters, Row, RowTable
from ufo_experience.schema import Experience, Hit, Trust
from ufo_experience.store.selection import RecordFilter, holds_words, why_none
from ufo_experience.trust.labels import STRANGE, strange_in
from ufo_experience.trust.risk import risks

PAGE = 50  # rows of a list
QUEUE = 20  # records of the queue, with their steps
FOUND = 50  # hits of a search
NEAR = 5  # of the best below the threshold
SHOWN_TASKS = 20  # tasks nothing was known for
WHY = {  # a record that fits is held back, where it does not wait for a person
    "unproven": "nobody has said that it worked",
    "quarantined": "it was set aside",
    "harmful": "it hurt more often than it helped",
    "contradicts": "it does the opposite: another task",
    "rejected": "it is another task, says the judge",
    "other application": "it was recorded in another application",
}
Data = dict[str, Any]


@dataclass
class Pages:
    """The pages over one memory; `table` is what the list knows of every record."""

    memory: ExperienceMemory
    table: RowTable
    _known: tuple[str, list[KnownProcedure]] = field(default=("", []), init=False)

    def overview(self, query: Mapping[str, str]) -> Data:
        """The one thing to do next, counts, use over time, what could not be answered, and how the index is."""
        rows = self.table.rows()
        log = AuditLog(self.memory.store.cache_folder / FILE).rows()
        days, unanswered, health = _days(log), _unanswered(log), self.health()
        waits = Counter(row.waits for row in rows if row.waits)
        return {
            "unseen": waits.total() - waits[RISKY],
            "looked": waits[RISKY],
            "audited": self.memory.settings.audit,
            "next": _next_thing(waits, unanswered, health),
            "outcomes": plots.bars(Counter(row.outcome for row in rows)),
            "trusts": plots.bars(Counter(row.trust for row in rows)),
            "applications": plots.bars(_applications(row.application for row in rows)),
            "used": sum(row.injected for row in rows),
            "helped": sum(row.helped for row in rows),
            "hurt": sum(row.hurt for row in rows),
            "days": plots.timeline(days, ("answered", "unanswered"), "questions of the last 30 days"),
            "last_day": max(days, default=None),
            "most": max((day.total() for day in days.values()), default=0),
            "unanswered": unanswered,
            **health,
        }

    def health(self) -> Data:
        """How the index stands: how many records have a vector, why the others have none."""
        told = self.memory.stats()
        return {
            "records": told.records,
            "indexed": told.indexed,
            "reason": self.memory.waiting_for_index,
            "embedder": told.embedder,
            "location": self.memory.store.location,
        }

    def experiences(self, query: Mapping[str, str]) -> Data:
        """A page of the list: searched, filtered and sorted by one line."""
        line = query.get("q", "").strip()
        filters = Filters.of(line)
        rows = [] if filters.wrong else self.table.find(filters)
        near: list[Row] = []
        if filters.words and rows:
            rows, near = self._search(rows, filters.words)
        where = RecordFilter(application=filters.application or None, format=filters.format or None)
        pages = max(1, -(-len(rows + near) // PAGE))
        page = min(max(1, _number(query.get("page"), 1)), pages)
        first = (page - 1) * PAGE
        return {
            "rows": (rows + near)[first : first + PAGE],
            "total": len(rows),
            "near_from": len(rows) - first,
            "page": page,
            "pages": pages,
            "q": line,
            "searched": filters.words,
            "meant": self._spelled(filters.words) if not rows else "",
            "wrong": filters.wrong or (why_none(self.memory.store, where) if not rows else ""),
            "empty_store": not self.table.rows(),
        }

    def procedures(self, query: Mapping[str, str]) -> Data:
        """What is known, each procedure once with its runs, and what the runs of an application teach together."""
        known = self._joined()
        page = max(1, _number(query.get("page"), 1))
        return {
            "known": known[(page - 1) * PAGE : page * PAGE],
            "total": len(known),
            "runs": sum(len(one.runs) for one in known),
            "page": page,
            "pages": max(1, -(-len(known) // PAGE)),
            "lessons": self.memory.parts.lessons.all(),
        }

    def _joined(self) -> list[KnownProcedure]:
        """The records as procedures, joined again when the store has changed."""
        revision = self.memory.store.revision()
        if self._known[0] != revision:
            self._known = revision, join(self.memory.list())
        return self._known[1]

    def queue(self, query: Mapping[str, str]) -> Data:
        """What waits for a decision, with what is decided on: what no agent is shown before what is shown already."""
        rows = [row for row in self.table.find(Filters()) if row.waits]
        rows.sort(key=lambda row: (row.waits == RISKY, row.outcome != "success", bool(row.risks)))
        shown = [(row, self.memory.get(row.id)) for row in rows[:QUEUE]]
        return {
            "rows": [(row, one, _told(one), _steps(one)) for row, one in shown],
            "total": len(rows),
            "unseen": sum(row.waits != RISKY for row in rows),
        }

    def experience(self, one: Experience) -> Data:
        """Everything there is to say of one record."""
        shown, standing = self._standing(one)
        waits = one.trust.rank < self.memory.parts.policy.least(one).rank
        told = _approved(one) if waits else one
        block = self.memory.build_prompt(
            one.state.request or one.state.task, [Hit(experience=told, score=1.0, ranked_by="structured")]
        )
        return {
            "one": one,
            "row": self._row(one.id),
            "seen": seen_now(one),
            "risks": risks(one),
            "strange": [kind for kind in risks(one) if kind in STRANGE],
            "told": _told(one),
            "steps": _steps(one),
            "standing": standing,
            "gets": "gets" if shown else "would get if it were approved" if waits else "would get of it",
            "like": [row for row in self.table.like(one.id) if row.trust != Trust.QUARANTINED.value],
            "change": self._change(one),
            "screenshots": screenshots(one),
            "raw": one.model_dump_json(indent=2),
            "block": block.text,
            "tokens": block.tokens,
        }

    def attempt(self, query: Mapping[str, str]) -> Data:
        """What an agent would be given for a task, and what it would not."""
        task, application = query.get("task", "").strip(), query.get("application", "").strip()
        if not task:
            return {"task": "", "application": application, "found": None}
        found = self.memory.retrieve(task, application=application or None, near=NEAR)
        block = self.memory.build_prompt(task, found)
        return {
            "task": task,
            "application": application,
            "found": found,
            **{
                name: [(hit, plots.scale(hit.score, found.threshold)) for hit in hits]
                for name, hits in (("hits", found), ("negatives", found.negatives), ("near", found.near))
            },
            "withheld": [(held, self._row(held.id), self._why(held)) for held in found.withheld],
            "wrong": "" if found else why_none(self.memory.store, RecordFilter(application=application or None)),
            "block": block.text,
            "tokens": block.tokens,
        }

    def _change(self, one: Experience) -> list[tuple[str, str]]:
        """The lines in which a record differs from the one that it stands in place of, where that is still kept."""
        old = one.provenance.supersedes
        return difference(self.memory.get(old), one) if old and old in self.memory.store else []

    def _standing(self, one: Experience) -> tuple[bool, str]:
        """Whether agents are shown this record, as retrieval itself answers for its own task, and why not."""
        task = one.state.request or one.state.task
        found = self.memory.retrieve(task, application=one.state.application, only=[one.id])
        if any(hit.experience.id == one.id for hit in found):
            return True, "shown to agents that are asked this"
        if any(hit.experience.id == one.id for hit in found.negatives):
            return True, "shown to agents as tried and failed"
        held = next((held for held in found.withheld if held.id == one.id), None)
        return False, f"not shown: {self._why(held) if held else found.reason}"

    def _why(self, held: Withheld) -> str:
        """Why a record that fits is not shown: what a person has to decide on, if anything."""
        row = self._row(held.id)
        return row.waits.partition(":")[0] if held.release and row and row.waits else WHY[held.why]

    def _search(self, rows: Sequence[Row], words: str) -> tuple[list[Row], list[Row]]:
        """The rows that hold every word, then those that the product's own retriever finds near, best first."""
        found = self.memory.retrieve(words, top_k=FOUND, near=FOUND)
        ids = [hit.experience.id for hit in [*found, *found.negatives, *found.near]]
        ids += [held.id for held in found.withheld]
        best = {id: place for place, id in enumerate(ids)}
        holding = [row for row in rows if holds_words(row.text, words)]
        near = [row for row in rows if row.id in best and not holds_words(row.text, words)]
        return sorted(holding, key=lambda row: best.get(row.id, len(ids))), sorted(near, key=lambda row: best[row.id])

    def _spelled(self, words: str) -> str:
        """The words as records spell them, where that is another way; "" where it is not."""
        known = {word for row in self.table.rows() for word in re.findall(r"\w{3,}", row.text)} if words else set()
        asked = words.casefold().split()
        near = [next(iter(get_close_matches(word, known, 1, 0.75)), word) for word in asked]
        return " ".join(near) if near != asked else ""

    def _row(self, id: str) -> Row | None:
        return next((row for row in self.table.rows() if row.id == id), None)


def screenshots(one: Experience) -> list[str]:
    """Names of the pictures beside the log the record came from, if they are regular files there; never their bytes."""
    source = Path(one.provenance.source) if one.provenance.source else None
    if source is None or not source.is_file() or source.is_symlink():
        return []
    pictures = (path for path in source.parent.glob("action_step*.png") if path.is_file() and not path.is_symlink())
    return sorted(path.name for path in pictures)[:200]


def _applications(names: Iterable[str]) -> dict[str, int]:
    """How many records of each application, the ten with most; process and product names are one, by the shortest."""
    counts, spelled = Counter[str](), dict[str, str]()
    for name in names:
        key = application_key(name) or ""
        counts[key] += 1
        spelled[key] = min(spelled.get(key, name), name, key=lambda one: (len(one), one))
    return {spelled[key] or "(none)": count for key, count in counts.most_common(10)}


def _next_thing(waits: Counter[str], unanswered: Sequence[tuple[str, int, str]], health: Data) -> tuple[str, str]:
    """The one thing to do next, and the page on which it is done."""
    unseen = waits.total() - waits[RISKY]
    if unseen:
        return f"Decide on {_counted(unseen, 'run')} that no agent is shown yet", "/queue"
    if waits[RISKY]:
        return f"Look at {_counted(waits[RISKY], 'run')} with a step to be careful with", "/queue"
    if health["indexed"] < health["records"]:
        return f"Bring the index in line: {health['records'] - health['indexed']} are found by words alone", "/health"
    if unanswered:
        task, count, _ = unanswered[0]
        return (
            f"Teach “{task}”: asked {_counted(count, 'time')}, nothing is known of it",
            f"/try?{urlencode({'task': task})}",
        )
    return "Nothing waits: see what an agent would be told", "/try"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _told(one: Experience) -> list[tuple[str, list[str]]]:
    """The steps as agents read them once it is approved, each with what to look at."""
    way = Procedure.of([_approved(one)], one.state.request or one.state.task)
    asked = way.request.casefold()
    return [(phrase(step), [*marks(step, way.application), *_strange(step, asked)]) for step in way.steps]


def _approved(one: Experience) -> Experience:
    return one.model_copy(update={"trust": Trust.APPROVED})


def _strange(step: ProcedureStep, asked: str) -> list[str]:
    """What kind of value a step holds that the task does not name; see `risks`."""
    texts = (step.target.name if step.target else "", step.text)
    return sorted(filter(None, {strange_in(text) for text in texts if text.casefold() not in asked}))


def _steps(one: Experience) -> list[Data]:
    """The steps for reading, each with what is risky about it alone."""
    told = []
    for step in one.action.steps:
        alone = one.model_copy(update={"action": one.action.model_copy(update={"steps": (step,)})})
        parameters = step.model_dump(mode="json", include={"parameters"})["parameters"]
        told.append({"step": step, "parameters": parameters, "risks": risks(alone), "status": step.status})
    return told


def _days(log: Sequence[Mapping[str, Any]]) -> dict[date, Counter[str]]:
    """How many questions of each day were answered, and how many were not."""
    days: dict[date, Counter[str]] = {}
    for row in log:
        kind = "answered" if row.get("injected") else "unanswered" if row.get("unanswered") else None
        day = _day(row.get("time"))
        if kind and day:
            days.setdefault(day, Counter())[kind] += 1
    return days


def _unanswered(log: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Tasks nothing was known for: wording, how often, and the last reason; the most frequent first."""
    asked: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for row in log:
        said = row.get("unanswered")
        if isinstance(said, Mapping) and isinstance(said.get("task"), str):
            asked[said["task"]] += 1
            reasons[said["task"]] = str(said.get("reason") or "")
    return [(task, count, reasons[task]) for task, count in asked.most_common(SHOWN_TASKS)]


def _day(text: Any) -> date | None:
    try:
        return datetime.fromisoformat(text).date()
    except (TypeError, ValueError):
        return None


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 7 else default
