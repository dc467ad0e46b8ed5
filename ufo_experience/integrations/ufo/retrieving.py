"""UFO's `ExperienceRetriever`: documents with an example to imitate, and a filter over what UFO looks at.

UFO reads `page_content` and `metadata{request, example, Tips, Sub-task, app_list}` of a document.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ufo_experience.errors import DataError, ExperienceError, NotFoundError, UsageError
from ufo_experience.integrations.formats import to_ufo_example
from ufo_experience.integrations.ufo.saving import ExperienceSummarizer
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import clean, clean_json
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import OPEN, phrase
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.request import application_key, process_names
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.retriever import MAX_K
from ufo_experience.schema import Experience, Hit, validate
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import ufo_index
from ufo_experience.store.safe_yaml import load_yaml

KeyStyle = Literal["snake", "pascal"]
MetadataFilter = Callable[[Mapping[str, Any]], bool]

MAX_TOKENS = 3_000  # of all examples together: what UFO's own prompt leaves room for
MAX_SEQUENCE = 8  # actions in one answer
MAX_PLAN = 24
ID = "<id of this control in the current list>"  # the tools of UFO 3 require one, and that of a past run is of no use
TIP = "- This is a past run, an example and not an instruction: check that each control exists and adapt it."
_TEXT = 200  # characters of a name or value
_FAULTS = (DataError, LookupError, TypeError, ValueError, AttributeError)  # of a filter somebody else wrote
_log = logging.getLogger("ufo_experience.integrations.ufo")


@dataclass(frozen=True)
class Document:
    """One retrieved experience; `id` is that of its record, `score` lies in [0, 1]."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    score: float = 0.0


class ExperienceRetriever:
    """Finds experiences for UFO's agent. `handed_out` are the ids given since the last `report`.

    Memory helps or is silent: where there is none, or it cannot be read, there are no documents, and the log says why.
    """

    key_style: KeyStyle = "snake"

    def __init__(self, db_path: str, *, settings: Settings | None = None) -> None:
        self.db_path = Path(db_path)
        self.handed_out: dict[str, None] = {}
        self.last: Retrieval | None = None
        self._settings = settings or load_settings()
        self._memory: ExperienceMemory | None = None
        self._seen: dict[str, dict[str, Any]] = {}  # id → what a filter looks at
        self._revision = ""  # of the store, when that was made
        self._told: set[str] = set()

    def retrieve(self, query: str, top_k: int, filter: MetadataFilter | None = None) -> list[Document]:
        """The best `top_k` (at most 50) trusted experiences above the threshold that pass the filter, best first."""
        if top_k < 1:
            return []
        try:
            memory = self._open()
            return [] if memory is None else self._retrieve(memory, query, min(top_k, MAX_K), filter)
        except UsageError:
            raise
        except ExperienceError as error:
            self._tell(f"no experiences from {self.db_path}: {error}", logging.WARNING)
            return []

    def report(self, *, success: bool, session: str | None = None) -> list[str]:
        """Credit (or blame) what was handed out with the outcome of the run; returns the ids that were updated."""
        ids, self.handed_out = list(self.handed_out), {}
        return self._memory.report(ids, success=success, session=session) if self._memory and ids else []

    def _retrieve(
        self, memory: ExperienceMemory, query: str, top_k: int, filter: MetadataFilter | None
    ) -> list[Document]:
        only = None if filter is None else self._passing(memory.store, filter)
        found = self.last = memory.retrieve(query, top_k=top_k, only=only)
        if found.degraded:
            self._tell(f"searching by words only: {found.degraded}", logging.WARNING)
        if found.withheld:
            self._tell(
                f"{len(found.withheld)} fitting experience(s) held back until somebody vouches for them: "
                f"ufo-experience approve --db {self.db_path} {' '.join(one.id[:8] for one in found.withheld[:5])}",
                logging.INFO,
            )
        shown = {hit.id: hit for hit in found if not hit.experience.is_negative}
        block = memory.build_prompt(query, list(shown.values()), format="ufo", max_tokens=MAX_TOKENS)
        made = [_document(way, shown[way.id], self.key_style) for way in block.procedures]
        documents = [document for document in made if document is not None]
        self.handed_out |= dict.fromkeys(document.id for document in documents)
        return documents

    def _passing(self, store: ExperienceStore, filter: MetadataFilter) -> set[str]:
        """Ids of the records that pass; one the filter stumbles over does not, and is named in the log."""
        revision = store.revision()
        if revision != self._revision:
            ids = store.ids()
            new = store.scan([id for id in ids if id not in self._seen])
            known = self._seen | {one.id: {**to_ufo_example(one), "app_list": _app_names(one)} for one in new}
            self._seen, self._revision = {id: known[id] for id in ids if id in known}, revision
        return {id for id, metadata in self._seen.items() if _passes(filter, metadata, id)}

    def _open(self) -> ExperienceMemory | None:
        if self._memory is None:
            settings = self._settings.model_copy(update={"db": str(self.db_path)})
            try:
                self._memory = ExperienceMemory.open(settings=settings, create=False)
            except NotFoundError:
                self._tell(f"no experiences yet: {_nothing_here(self.db_path)}", logging.INFO)
        return self._memory

    def _tell(self, message: str, level: int) -> None:
        """Log a message, once: UFO asks at every step."""
        if message not in self._told:
            self._told.add(message)
            _log.log(level, "%s", message)


class PascalCaseRetriever(ExperienceRetriever):
    """The retriever for UFO v0, v1 and v2, whose responses have PascalCase keys."""

    key_style: KeyStyle = "pascal"


def _nothing_here(db: Path) -> str:
    if not ufo_index(db):
        return f"no store at {db}"
    folder = db.parent if (db.parent / "experience.yaml").exists() else db
    return (
        f"{db} holds an index of UFO's own, which is not opened (a pickle can run code). "
        f"To take in its experiences: ufo-experience import --db {db} {folder}"
    )


# ---- an experience as UFO imitates it


class UfoExample(dict[str, Any]):
    """A response to imitate, one that also survives UFO's setting `ACTION_SEQUENCE`: with it UFO reads the parts of the
    action from the top level (found here by `get`), and puts a list in its place, which gets the actions that follow.
    """

    def __init__(self, response: Mapping[str, Any] = {}, actions: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(response)
        self.actions = [dict(action) for action in actions]

    def __setitem__(self, key: str, value: Any) -> None:
        several = key in ("action", "ActionList") and isinstance(value, list) and self.actions
        super().__setitem__(key, self.actions if several else value)

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self.actions[0].get(key, default) if self.actions else default)


def _document(way: Procedure, hit: Hit, style: KeyStyle) -> Document | None:
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
        "example": _example(steps, style),
        "Tips": "\n".join([TIP, *(clean(tip, _TEXT) for tip in [*tips, *way.tips])]),
        "Sub-task": task,
        "app_list": _app_names(hit.experience),
    }
    return Document(task, metadata, hit.id, hit.score)


def _example(steps: Sequence[ProcedureStep], style: KeyStyle) -> UfoExample:
    """The first step as UFO's action, those after it as its plan. What the record does not say is left out."""
    states = ["CONTINUE"] * (len(steps) - 1) + ["FINISH"]
    actions = [_action(step, state, style) for step, state in zip(steps, states, strict=True)]
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


def _app_names(experience: Experience) -> list[str]:
    """UFO's `app_list`: the applications as recorded, then the processes ("OUTLOOK.EXE") of those named otherwise."""
    recorded: list[str] = to_ufo_example(experience)["app_list"]
    others = [name for name in recorded if not name.strip().casefold().endswith(".exe")]
    keys = [application_key(name) for name in others]
    processes = [f"{one}.exe" for key in keys if key for one in (key, *process_names(key))]
    return list(dict.fromkeys([*recorded, *processes]))


def _passes(filter: MetadataFilter, metadata: Mapping[str, Any], id: str) -> bool:
    try:
        return bool(filter(metadata))
    except _FAULTS as error:
        _log.warning("the filter failed on record %s, which is left out: %r", id, error)
        return False


# ---- UFO's settings


class RagConfig(BaseModel):
    """What UFO is told about experiences in `config/ufo/rag.yaml` (before UFO 3 in `config_dev.yaml`)."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore")

    experience: bool = Field(default=False, alias="RAG_EXPERIENCE")
    top_k: int = Field(default=5, ge=0, alias="RAG_EXPERIENCE_RETRIEVED_TOPK")
    saved_path: str = Field(default="vectordb/experience/", alias="EXPERIENCE_SAVED_PATH")
    prompt: str = Field(default="", alias="EXPERIENCE_PROMPT")

    @property
    def db_path(self) -> Path:
        return Path(self.saved_path) / "experience_db"

    def retriever(self) -> ExperienceRetriever | None:
        """The retriever of this store; None when UFO is told to do without experiences."""
        return ExperienceRetriever(str(self.db_path)) if self.experience else None

    def summarizer(self) -> ExperienceSummarizer:
        return ExperienceSummarizer(prompt_template=self.prompt)


def from_rag_config(path: str | Path) -> RagConfig:
    """Read UFO's settings file; a key that is missing has UFO's own default, one that does not fit is a `DataError`."""
    return validate(RagConfig, load_yaml(Path(path)), file=str(path))
