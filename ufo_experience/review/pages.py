"""One function a page: what it shows, as plain data for its template. Nothing here is HTML."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from starlette.requests import Request

from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import marks, phrase
from ufo_experience.procedure.runs import KnownProcedure, join
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.request import application_key
from ufo_experience.review.actions import Form, difference
from ufo_experience.review.rows import RISKY, Row, Rows, Search
from ufo_experience.schema import Experience, Hit, Step, Trust
from ufo_experience.store.selection import RecordFilter, holds_words, why_none
from ufo_experience.trust.labels import strange_in
from ufo_experience.trust.risk import risks

PAGE = 50  # rows of a list
QUEUE = 20  # records of the queue, with their steps
FOUND = 50  # hits of a search
NEAR = 5  # of the best below the threshold
SHOWN_TASKS = 20  # tasks nothing was known for
DAYS = 30  # of the questions
Data = dict[str, Any]


class Pages:
    def __init__(self, memory: ExperienceMemory) -> None:
        self.memory, self.rows = memory, Rows(memory)
        self._known: tuple[str, list[KnownProcedure]] = ("", [])

    def overview(self, request: Request) -> Data:
        """The one thing to do next, counts, use over time, what could not be answered, and how the index is."""
        rows, log = self.rows.all(), self.memory.parts.audit.rows()
        days, waits = _days(log), Counter(row.waits for row in rows if row.waits)
        return {
            **self.health(request),
            "unseen": waits.total() - waits[RISKY],
            "looked": waits[RISKY],
            "audited": self.memory.settings.audit,
            "applications": _applications(rows),
            "days": days,
            "most": max((answered + missed for _, answered, missed in days), default=0),
            "unanswered": _unanswered(log),
        }

    def health(self, request: Request) -> Data:
        """What is in the store, how many records have a vector, and why the others have none."""
        return {**vars(self.memory.stats()), "reason": self.memory.waiting_for_index}

    def experiences(self, request: Request) -> Data:
        """A page of the list: searched, filtered and sorted by one line."""
        line = request.query_params.get("q", "").strip()
        search = Search.of(line)
        rows = [] if search.wrong else self.rows.find(search)
        near: list[Row] = []
        if search.words and rows:
            rows, near = self._search(rows, search.words)
        shown, page = _page_of(rows + near, request)
        asked = search.words if not rows else ""
        others = sum(holds_words(row.text, asked) for row in self.rows.all()) if asked else 0
        return {
            "rows": shown,
            "total": len(rows),
            "near_from": len(rows) - (page["page"] - 1) * PAGE,
            "q": line,
            "searched": search.words,
            "others": others,
            "meant": self._spelled(asked) if not others else "",
            "strange": search.strange if not rows else "",
            "wrong": search.wrong or (why_none(self.memory.store, search.where) if not rows else ""),
            "empty_store": not self.rows.all(),
            **page,
        }

    def procedures(self, request: Request) -> Data:
        """What is known, each procedure once with its runs, and what the runs of an application teach together."""
        revision = self.memory.store.revision()
        if self._known[0] != revision:
            self._known = revision, join(self.memory.list())
        known = self._known[1]
        shown, page = _page_of(known, request)
        runs = sum(len(one.runs) for one in known)
        return {"known": shown, "total": len(known), "runs": runs, "lessons": self.memory.parts.lessons.all(), **page}

    def waiting(self) -> list[Row]:
        """What waits for a decision: what no agent is shown before what is shown already."""
        rows = [row for row in self.rows.find(Search()) if row.waits]
        return sorted(rows, key=lambda row: (row.waits == RISKY, not row.one.outcome.success, bool(row.risks)))

    def queue(self, request: Request) -> Data:
        """What waits for a decision, with what is decided on."""
        rows = self.waiting()
        return {
            "rows": [(row, _told(row.one), _steps(row.one)) for row in rows[:QUEUE]],
            "total": len(rows),
            "unseen": sum(row.waits != RISKY for row in rows),
            "empty_store": not self.rows.all(),
        }

    def experience(self, request: Request) -> Data:
        row = self._row(request)
        one = row.one
        waits = one.trust.rank < self.memory.parts.policy.least(one).rank
        shown = Hit(experience=_approved(one) if waits else one, score=1.0, ranked_by="structured")
        old = one.provenance.supersedes
        return {
            "row": row,
            "told": _told(one),
            "steps": _steps(one),
            "found": self.memory.retrieve(row.task, application=one.state.application, only=[one.id]),
            "waits": waits,
            "change": difference(self.memory.get(old), one) if old and old in self.memory.store else [],
            "raw": one.model_dump_json(indent=2),
            "block": self.memory.build_prompt(row.task, [shown], audit=False),
        }

    def attempt(self, request: Request) -> Data:
        """What an agent would be given for a task, and what it would not."""
        task, application = (request.query_params.get(name, "").strip() for name in ("task", "application"))
        asked = {"task": task, "application": application}
        if not task:
            return {**asked, "found": None, "asked": "task" in request.query_params}
        found = self.memory.retrieve(task, application=application or None, near=NEAR)
        return {
            **asked,
            "found": found,
            "near": [hit for hit in found.near if round(hit.score, 2)],  # what scores nothing did not come near
            "withheld": [(one, self.rows.get(one.id)) for one in found.withheld],
            "wrong": "" if found else why_none(self.memory.store, RecordFilter(application=application or None)),
            "block": self.memory.build_prompt(task, found, audit=False),
        }

    def edit(self, request: Request, form: Form = (), **more: Any) -> Data:
        """The form of a record as it is or was filled in, what is wrong with it, or the difference that it makes."""
        row = self._row(request)
        ticked = [value for name, value in form if name == "step"]
        ticked = ticked if form else [str(step.step_number) for step in row.one.action.steps]
        empty: Data = {"problem": "", "difference": (), "lost": ()}
        return {"row": row, "form": form, "given": dict(form), "ticked": ticked, **empty, **more}

    def _row(self, request: Request) -> Row:
        one = self.memory.get(request.path_params["id"])
        return self.rows.get(one.id) or Row(one, self.memory.parts.policy)

    def _search(self, rows: Sequence[Row], words: str) -> tuple[list[Row], list[Row]]:
        """The rows that hold every word, then those that the product's own retriever finds near, best first."""
        found = self.memory.retrieve(words, top_k=FOUND, near=FOUND)
        ids = [*(hit.id for hit in (*found, *found.negatives, *found.near)), *found.withheld_ids]
        best = {id: place for place, id in enumerate(ids)}
        ranked = sorted(rows, key=lambda row: best.get(row.one.id, len(ids)))
        holding = [row for row in ranked if holds_words(row.text, words)]
        return holding, [row for row in ranked if row.one.id in best and row not in holding]

    def _spelled(self, words: str) -> str:
        """The words as records spell them, where that is another way; "" where it is not."""
        known = {word for row in self.rows.all() for word in re.findall(r"\w{3,}", row.text)} if words else set()
        asked = words.casefold().split()
        near = [next(iter(get_close_matches(word, known, 1, 0.75)), word) for word in asked]
        return " ".join(near) if near != asked else ""


def _page_of(rows: Sequence[Any], request: Request) -> tuple[Sequence[Any], Data]:
    """The rows of the page that is asked for, and which it is of how many."""
    asked = request.query_params.get("page", "")
    pages = max(1, -(-len(rows) // PAGE))
    page = min(max(1, int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else 1), pages)
    return rows[(page - 1) * PAGE : page * PAGE], {"page": page, "pages": pages}


def _applications(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """How many records of each application, the ten with most; process and product names are one, by the shortest."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(application_key(row.application) or "", []).append(row.application)
    told = [(min(spelled, key=lambda one: (len(one), one)) or "(none)", len(spelled)) for spelled in names.values()]
    return sorted(told, key=lambda one: -one[1])[:10]


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


def _steps(one: Experience) -> list[tuple[Step, tuple[str, ...]]]:
    """The steps as they were recorded, each with what is risky about it alone."""
    alone = ((step, one.action.model_copy(update={"steps": (step,)})) for step in one.action.steps)
    return [(step, risks(one.model_copy(update={"action": action}))) for step, action in alone]


def _days(log: Sequence[Mapping[str, Any]]) -> list[tuple[date, int, int]]:
    """Of each of the last days: how many questions were answered, and how many were not; [] where none was asked."""
    answered, unanswered = Counter[date](), Counter[date]()
    for row in log:
        try:
            day = datetime.fromisoformat(row["time"]).date()
        except (KeyError, TypeError, ValueError):
            continue
        answered[day] += bool(row.get("injected"))
        unanswered[day] += bool(row.get("unanswered"))
    asked = [day for day in answered if answered[day] or unanswered[day]]
    days = [max(asked) - timedelta(days=back) for back in range(DAYS - 1, -1, -1)] if asked else []
    return [(day, answered[day], unanswered[day]) for day in days]


def _unanswered(log: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, str]]:
    """Tasks nothing was known for: wording, how often, and the last reason; the most frequent first."""
    said = [row["unanswered"] for row in log if isinstance(row.get("unanswered"), Mapping)]
    said = [one for one in said if isinstance(one.get("task"), str)]
    reasons = {one["task"]: str(one.get("reason") or "") for one in said}
    asked = Counter(one["task"] for one in said)
    return [(task, count, reasons[task]) for task, count in asked.most_common(SHOWN_TASKS)]
