"""What UFO's agent gets from a retriever: documents, their few-shot examples, and what its filter looks at.

UFO reads `page_content` and `metadata{request, example, Tips, Sub-task, app_list}` of a document, writes the example
into its prompt as JSON, and filters by a function of the metadata. All of it is plain data here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats.ufo_example import to_ufo_example
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.prompt.cleaning import clean, clean_json
from ufo_experience.schema import Experience
from ufo_experience.store.base import ExperienceStore
from ufo_experience.request import application_key, process_names

KeyStyle = Literal["snake", "pascal"]
MetadataFilter = Callable[[Mapping[str, Any]], bool]

MAX_SEQUENCE = 8  # actions in one answer
_TEXT = 200  # characters of a name or value
_LISTS = ("action", "ActionList")  # where UFO 3, and UFO before it, put a list of actions
_SNAKE_NAMES = {"Observation": "observation", "Thought": "thought", "Plan": "plan", "Comment": "comment"}
_FAULTS = (DataError, LookupError, TypeError, ValueError, AttributeError)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Document:
    """One retrieved experience; `id` is that of its record, `score` lies in [0, 1]."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    score: float = 0.0


class UfoExample(dict[str, Any]):
    """A response to imitate. Its items are of one key style; names of the other can be read but are not written.

    UFO 3 speaks snake case with an `action` object; before, it was PascalCase. With `ACTION_SEQUENCE` on, both read
    the parts of the action by name from the top level, take them out, and put a list of one action in their place.
    That list gets the actions that follow (`sequence`, in UFO's form), so that the model sees several in one answer.
    An example written as JSON says everything once, whichever of these ways UFO reads it.
    """

    def __init__(
        self, items: Mapping[str, Any] = {}, other: Mapping[str, Any] = {}, sequence: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(items)
        self.other, self.sequence = dict(other), tuple(sequence)

    def __setitem__(self, key: str, value: Any) -> None:
        one_action = key in _LISTS and isinstance(value, list) and len(value) == 1
        super().__setitem__(key, [dict(action) for action in self.sequence] if one_action and self.sequence else value)

    def __missing__(self, key: str) -> Any:
        return self.other[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.other

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a name of either style."""
        return super().get(key, self.other.get(key, default))


def sequence_of(steps: Sequence[ProcedureStep], style: KeyStyle) -> list[dict[str, Any]]:
    """Steps of a way as UFO's list of actions, at most `MAX_SEQUENCE`; the last finishes when it is all of them."""
    shown = steps[:MAX_SEQUENCE]
    statuses = ["CONTINUE"] * (len(shown) - 1) + ["FINISH" if len(shown) == len(steps) else "CONTINUE"]
    return [_action(step, status, style) for step, status in zip(shown, statuses, strict=True)]


def name_of(step: ProcedureStep) -> str:
    """The name of a step's control, if it may be told."""
    return step.target.name if step.target and step.readable else ""


def _action(step: ProcedureStep, status: str, style: KeyStyle) -> dict[str, Any]:
    name, arguments = name_of(step), clean_json(dict(step.parameters), _TEXT)
    if style == "snake":
        located = {"name": clean(name, _TEXT), **arguments} if name else arguments
        return {"function": step.action, "arguments": located, "status": status}
    return {
        "Function": step.action,
        "Args": arguments,
        "ControlLabel": "",
        "ControlText": clean(name, _TEXT),
        "Status": status,
    }


def example_of(
    response: Mapping[str, Any], control: str, style: KeyStyle, sequence: Sequence[Mapping[str, Any]] = ()
) -> UfoExample:
    """An example from a response in UFO 3's form; `control` is the name of the control of its action."""
    action = response["action"]
    arguments = action["arguments"]
    pascal = {
        "Observation": response.get("observation", ""),
        "Thought": response.get("thought", ""),
        "ControlLabel": "",
        "ControlText": control,
        "Function": action["function"],
        "Args": {key: value for key, value in arguments.items() if (key, value) != ("name", control)},
        "Status": action["status"],
        "Plan": response["plan"],
        "Comment": response.get("comment", ""),
    }
    forms = {"snake": dict(response), "pascal": pascal}
    return UfoExample(forms[style], {**action, **forms["snake"], **forms["pascal"]}, sequence)


def app_names(experience: Experience) -> list[str]:
    """UFO's `app_list`: the applications as recorded, then the process names of those recorded by another name.

    UFO asks for a process ("OUTLOOK.EXE"); a record may say "Outlook".
    """
    recorded: list[str] = to_ufo_example(experience)["app_list"]
    processes = [name for one in recorded if not _is_process(one) for name in process_names(application_key(one))]
    return list(dict.fromkeys([*recorded, *processes]))


def _is_process(name: str) -> bool:
    return name.strip().casefold().endswith(".exe")


class RecordMetadata(Mapping[str, Any]):
    """What a filter sees of one record. Only what it asks for beyond `app_list` is read from the store."""

    def __init__(self, store: ExperienceStore, id: str, apps: tuple[str, ...]) -> None:
        self._store, self._id, self._apps = store, id, apps
        self._entry: dict[str, Any] | None = None

    @property
    def was_read(self) -> bool:
        """True when more than `app_list` was asked for."""
        return self._entry is not None

    def __getitem__(self, key: str) -> Any:
        return list(self._apps) if key == "app_list" else self._whole()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def _whole(self) -> dict[str, Any]:
        if self._entry is None:
            self._entry = {**to_ufo_example(self._store.get(self._id)), "app_list": list(self._apps)}
        return self._entry


class DocumentFilter:
    """Which records of a store pass a filter over UFO's metadata: all are looked at, before anything is ranked.

    The applications of every record are read once and kept; what was stored since is added at the next question.
    """

    def __init__(self, store: ExperienceStore) -> None:
        self._store = store
        self._apps: dict[str, tuple[str, ...]] = {}
        self._revision = ""

    def passing(self, filter: MetadataFilter) -> set[str]:
        """Ids of the records that pass.

        A filter that looks at nothing but `app_list` is asked once for each combination of applications.
        """
        self._catch_up()
        verdicts: dict[tuple[str, ...], bool] = {}
        passed = set()
        for id, apps in self._apps.items():
            if apps not in verdicts:
                metadata = RecordMetadata(self._store, id, apps)
                verdict = _ask(filter, metadata, id)
                if not metadata.was_read:
                    verdicts[apps] = verdict
            else:
                verdict = verdicts[apps]
            if verdict:
                passed.add(id)
        return passed

    def apps(self, record: Experience) -> list[str]:
        """UFO's `app_list` of a record."""
        known = self._apps.get(record.id)
        return app_names(record) if known is None else list(known)

    def _catch_up(self) -> None:
        revision = self._store.revision()
        if revision == self._revision:
            return
        ids = self._store.ids()
        unknown = [id for id in ids if id not in self._apps]
        known = {**self._apps, **{one.id: tuple(app_names(one)) for one in self._store.scan(unknown)}}
        self._apps = {id: known[id] for id in ids if id in known}
        self._revision = revision


def _ask(filter: MetadataFilter, metadata: RecordMetadata, id: str) -> bool:
    """The filter's verdict; a record it stumbles over does not pass."""
    try:
        return bool(filter(metadata))
    except _FAULTS as error:
        _log.warning("the filter failed on record %s, which is left out: %r", id, error)
        return False
