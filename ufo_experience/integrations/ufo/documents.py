"""What UFO's agent gets from a retriever: documents with an example to imitate, and what its filter looks at.

UFO reads `page_content` and `metadata{request, example, Tips, Sub-task, app_list}` of a document, writes the example
into the AppAgent's prompt as JSON, and filters by a function of the metadata. All of it is plain data here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats.ufo_example import to_ufo_example
from ufo_experience.procedure.cleaning import clean, clean_json
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import OPEN, phrase
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.request import application_key, process_names
from ufo_experience.schema import Experience
from ufo_experience.store.base import ExperienceStore

KeyStyle = Literal["snake", "pascal"]
MetadataFilter = Callable[[Mapping[str, Any]], bool]

ID = "<id of this control in the current list>"  # the tools of UFO 3 require one, and that of a past run is of no use
TIP = "- This is a past run, an example and not an instruction: check that each control exists and adapt it."
MAX_SEQUENCE = 8  # actions in one answer
MAX_PLAN = 24
_TEXT = 200  # characters of a name or value
_FAULTS = (DataError, LookupError, TypeError, ValueError, AttributeError)  # of a filter somebody else wrote
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Document:
    """One retrieved experience; `id` is that of its record, `score` lies in [0, 1]."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    score: float = 0.0


class UfoExample(dict[str, Any]):
    """A response to imitate, one that also survives UFO's setting `ACTION_SEQUENCE`.

    With it UFO reads the parts of the action from the top level (they are found here by `get`), and puts a list of that
    one action in its place: the list gets the actions that follow, so that the model sees several in one answer.
    """

    def __init__(self, response: Mapping[str, Any] = {}, actions: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(response)
        self.actions = [dict(action) for action in actions]

    def __setitem__(self, key: str, value: Any) -> None:
        several = key in ("action", "ActionList") and isinstance(value, list) and self.actions
        super().__setitem__(key, self.actions if several else value)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, at the top or in the first action."""
        return super().get(key, self.actions[0].get(key, default) if self.actions else default)


def document_of(
    way: Procedure, experience: Experience, score: float, style: KeyStyle, apps: list[str]
) -> Document | None:
    """A procedure as a document; None for one without a step that an AppAgent can imitate."""
    steps = [step for step in way.steps if step.kind != "switch"]  # opening a window is the HostAgent's work
    if not steps:
        return None
    tips = [f"- Ask the user before: {phrase(step)}" for step in steps if step.ask_first]
    if way.uncovered:
        tips.append(f"- Not covered by it: {', '.join(way.uncovered)}")
    task = clean(way.task, _TEXT)
    metadata = {
        "request": task,
        "example": example_of(steps, style),
        "Tips": "\n".join([TIP, *(clean(tip, _TEXT) for tip in [*tips, *way.tips])]),
        "Sub-task": task,
        "app_list": apps,
    }
    return Document(task, metadata, experience.id, score)


def example_of(steps: Sequence[ProcedureStep], style: KeyStyle) -> UfoExample:
    """The first step as UFO's action, those after it as its plan. What the record does not say is left out."""
    last = len(steps) - 1
    actions = [_action(step, "FINISH" if n == last else "CONTINUE", style) for n, step in enumerate(steps)]
    plan = [f"({n}) {phrase(step)}" for n, step in enumerate(steps[1 : MAX_PLAN + 1], start=1)] or ["<FINISH>"]
    if style == "snake":
        return UfoExample({"action": actions[0], "plan": plan}, actions[:MAX_SEQUENCE])
    return UfoExample({**actions[0], "Plan": "\n".join(plan)}, actions[:MAX_SEQUENCE])


def _action(step: ProcedureStep, status: str, style: KeyStyle) -> dict[str, Any]:
    name = clean(step.target.name, _TEXT) if step.target and step.readable else ""
    given = {key: OPEN if str(value).startswith("{{") else value for key, value in step.parameters.items()}
    arguments = clean_json(given, _TEXT)
    if style == "snake":
        located = {"id": ID, "name": name or OPEN} if step.target else {}
        return {"function": step.action, "arguments": located | arguments, "status": status}
    located = {"ControlLabel": ID, "ControlText": name or OPEN} if step.target else {}
    return {**located, "Function": step.action, "Args": arguments, "Status": status}


def app_names(experience: Experience) -> list[str]:
    """UFO's `app_list`: the applications as recorded, then the process names of those recorded by another name.

    UFO asks for a process ("OUTLOOK.EXE"); a record may say "Outlook".
    """
    recorded: list[str] = to_ufo_example(experience)["app_list"]
    others = [name for name in recorded if not name.strip().casefold().endswith(".exe")]
    keys = [application_key(name) for name in others]
    processes = [f"{one}.exe" for key in keys if key for one in (key, *process_names(key))]
    return list(dict.fromkeys([*recorded, *processes]))


class DocumentFilter:
    """Which records of a store pass a filter over UFO's metadata: all are looked at, before anything is ranked.

    The metadata of every record is made once and kept; what was stored since is added at the next question.
    """

    def __init__(self, store: ExperienceStore) -> None:
        self._store = store
        self._known: dict[str, dict[str, Any]] = {}
        self._revision = ""

    def passing(self, filter: MetadataFilter) -> set[str]:
        """Ids of the records that pass; one the filter stumbles over does not, and is named in the log."""
        revision = self._store.revision()
        if revision != self._revision:
            ids = self._store.ids()
            new = self._store.scan([id for id in ids if id not in self._known])
            known = self._known | {one.id: {**to_ufo_example(one), "app_list": app_names(one)} for one in new}
            self._known, self._revision = {id: known[id] for id in ids if id in known}, revision
        return {id for id, metadata in self._known.items() if _passes(filter, metadata, id)}


def _passes(filter: MetadataFilter, metadata: Mapping[str, Any], id: str) -> bool:
    try:
        return bool(filter(metadata))
    except _FAULTS as error:
        _log.warning("the filter failed on record %s, which is left out: %r", id, error)
        return False
