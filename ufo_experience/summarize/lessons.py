"""Lessons: what a model sees in the successes and failures of an application; at most five sentences, shown as tips.

The model only words them. A lesson is kept (`store.lessons`) if the records it names bear it out; it holds no value,
no address and no command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import UsageError
from ufo_experience.ids import content_id
from ufo_experience.redact import redact_text
from ufo_experience.request import Request, application_key, find_whole, words
from ufo_experience.schema import Control, Experience, Step
from ufo_experience.store.lessons import MOST, PREFIX, Lesson, Lessons
from ufo_experience.summarize.model import Answer, wording
from ufo_experience.trust.labels import readable, strange_in
from ufo_experience.trust.risk import asks_first

if TYPE_CHECKING:
    from ufo_experience.service import Service
    from ufo_experience.settings import Settings

_RUNS, _STEPS = 12, 16  # successes (and as many failures) of one question, and steps of each: some 3,000 tokens
_LONGEST = 200  # characters of a lesson
_TWO_SENTENCES = re.compile(r"[.!?;]\s+\S|[。！？；]\S|\n")


class _Said(Answer):
    text: str
    runs: list[int]


class _Reply(Answer):
    lessons: list[_Said]


def model_of(settings: Settings) -> str:
    """The chat model that somebody configured for this store, else `UsageError`; a key alone configures none."""
    from ufo_experience.service import DEFAULT_CHAT

    for spec in (settings.summarizer, settings.judge):
        provider, _, model = spec.partition(":")
        if provider == "openai":
            return model or DEFAULT_CHAT
    raise UsageError("lessons take a chat model: set summarizer or judge to openai:MODEL (a key alone sends nothing)")


def learn(runs: Iterable[Experience], lessons: Lessons, service: Service, model: str) -> list[Lesson]:
    """Ask once about each application that has successes and failures; returns the lessons of these applications.

    What was learned stays where a later question fails. Raises as `Service.ask`.
    """
    groups: dict[str | None, list[Experience]] = {}
    for one in runs:
        groups.setdefault(application_key(one.state.application), []).append(one)
    known: list[Lesson] = []
    for group in groups.values():
        asked = _contrasted(group)
        if asked:
            told = json.dumps({"runs": [_told(n, one) for n, one in enumerate(asked, 1)]}, ensure_ascii=False)
            question = [{"role": "system", "content": wording("lessons")["system"]}, {"role": "user", "content": told}]
            said = service.ask(question, _Reply, model=model, job=True)
            found = [_checked(one, asked, model) for one in said.lessons]
            new = {one.id: one for one in found if one is not None}
            known += lessons.take(asked[0].state.application or "", [*new.values()][:MOST])
    return known


def _contrasted(runs: Sequence[Experience]) -> list[Experience]:
    """The newest failures, and successes, of the same tasks first; nothing where either is missing."""
    newest = sorted(runs, key=lambda one: one.created_at, reverse=True)
    failed = [one for one in newest if one.is_negative][:_RUNS]
    tasks = {_task_of(one) for one in failed}
    worked = sorted((one for one in newest if one.outcome.success), key=lambda one: _task_of(one) not in tasks)
    return [*worked[:_RUNS], *failed] if worked and failed else []


def _task_of(one: Experience) -> str:
    return Request.parse(one.state.request or one.state.task, one.state.application).masked


def _told(number: int, one: Experience) -> dict[str, Any]:
    """A run as a model sees it: no values, no names of items, and no text of the log that is not plain."""
    reason, steps = one.outcome.failure_reason or "", []
    for step in one.action.steps[:_STEPS]:  # `click "Save" (failed)`; a control whose name is not shown by its type
        control = step.target_control
        shown = control.name and readable(control)
        name = json.dumps(control.name, ensure_ascii=False) if shown else control.type
        steps.append(" ".join(filter(None, (step.action_type, name, "" if step.ok else "(failed)"))))
    said = {
        "number": number,
        "task": redact_text(Request.parse(one.state.task).template),
        "outcome": "failed" if one.is_negative else "worked",
        "reason": redact_text(reason) if reason and strange_in(reason) is None else None,
        "steps": steps,
    }
    return {name: value for name, value in said.items() if value}


def _checked(said: _Said, runs: Sequence[Experience], model: str) -> Lesson | None:
    """The lesson with the runs that bear it out; None where it is no single harmless sentence about them."""
    text = " ".join(said.text.split()) if "\n" not in said.text.strip() else ""
    shown = [runs[number - 1] for number in dict.fromkeys(said.runs) if 1 <= number <= len(runs)]
    shown = [one for one in shown if _bears_out(one, text)]
    names = {name for one in shown for name in _names(one)}
    if not text or len(text) > _LONGEST or _TWO_SENTENCES.search(text) or not any(one.is_negative for one in shown):
        return None
    values = (value.text.casefold().strip("\"'“”") for value in Request.parse(text).values)
    in_a_name = all(any(find_whole(value, name) >= 0 for name in names) for value in values)
    if strange_in(text) or redact_text(text) != text or not in_a_name or _asks_more(text, names):
        return None
    application, ids = shown[0].state.application or "", tuple(sorted(one.id for one in shown))
    return Lesson(
        id=PREFIX + content_id([application_key(application), text.casefold()])[:8],
        application=application, text=text, ids=ids, model=model, created_at=datetime.now(timezone.utc),
    )  # fmt: skip


def _names(one: Experience) -> set[str]:
    """The labels of a record that a model was shown."""
    controls = (step.target_control for step in one.action.steps[:_STEPS])
    return {control.name.casefold() for control in controls if control.name and readable(control)}


def _bears_out(one: Experience, text: str) -> bool:
    """True when a lesson names a control of the record, or shares two words with its task and controls."""
    names, low = _names(one), text.casefold()
    said = {word for word in words(text) if len(word) > 3 or not word.isascii()}
    own = set(words(one.state.task)).union(*(words(name) for name in names))
    return any(find_whole(name, low) >= 0 for name in names) or len(said & own) > 1


def _asks_more(text: str, names: Collection[str]) -> bool:
    """True when a clause tells to send, pay, delete or the like, and names no control of the runs that does it."""
    return any(
        _acts(clause) and not any(_acts(name) and find_whole(name, clause.casefold()) >= 0 for name in names)
        for clause in re.split(r"[,:;]| and | then | before | after ", text)
    )


def _acts(label: str) -> bool:
    control = Control(name=label.strip()[:100], type="Button")
    return asks_first(Step(step_number=1, action_type="click", target_control=control))
