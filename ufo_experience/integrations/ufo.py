"""A drop-in for microsoft/UFO: its `ExperienceSummarizer` and `ExperienceRetriever`, over a store of ours; docs/ufo.md.

from ufo_experience.integrations.ufo import ExperienceSummarizer     # in ufo/module/basic.py
from ufo_experience.integrations.ufo import ExperienceRetriever      # in ufo/rag/retriever.py

UFO reads `page_content` and `metadata{request, example, Tips, Sub-task, app_list}` of a document. Parts of a log and
summaries are the dicts UFO knows. Each carries what it was made from as an attribute, so that the whole record is
stored; a dict that somebody made or changed stands for itself.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ufo_experience.errors import DataError, ExperienceError, NotFoundError, UsageError
from ufo_experience.integrations.formats import to_ufo_example
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import clean, clean_json
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.render import OPEN, phrase
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.redact import redact, redact_json
from ufo_experience.request import application_key, process_names
from ufo_experience.retrieve.answer import Retrieval, releases
from ufo_experience.retrieve.retriever import MAX_K
from ufo_experience.schema import Experience, Hit, Trajectory, mapped, validate
from ufo_experience.session.files import plain, write_atomic
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import ufo_index
from ufo_experience.store.files import storage_errors
from ufo_experience.store.safe_yaml import dump_yaml, load_yaml
from ufo_experience.summarize import ExtractiveSummarizer, open_summarizer
from ufo_experience.traces import ReadReport, read_traces
from ufo_experience.traces.ufo import UfoYamlReader

KeyStyle = Literal["snake", "pascal"]
MetadataFilter = Callable[[Mapping[str, Any]], bool]
Failed = list[tuple[str, str]]  # what was left out, and why
T = TypeVar("T")

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
                f"{'; '.join(f'{one} --db {self.db_path}' for one in releases(found.withheld))}",
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
    name = clean(step.label, _TEXT)
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


# ---- logs of a session become experiences


class LogPart(dict[str, Any]):
    """A sub-task of a log: subtask_index, subtask, application, and `logs`, its steps."""

    def __init__(self, index: int, trajectory: Trajectory) -> None:
        steps = [step.model_dump(mode="json", exclude_none=True) for step in trajectory.steps]
        application = trajectory.applications[0] if trajectory.applications else ""
        super().__init__(subtask_index=index, subtask=trajectory.task, logs=steps, application=application)
        self.trajectory = trajectory


class Summary(dict[str, Any]):
    """UFO's summary of a sub-task: example, Tips, request, Sub-task, app_list."""

    def __init__(self, experience: Experience) -> None:
        super().__init__(to_ufo_example(experience))
        self.experience = experience


class ExperienceSummarizer:
    """Turns the logs of a session into experiences. `failed` names, with the reason, what the last call left out.

    UFO's four arguments are accepted and unused: model and key come from the environment, prompts from `prompts/`.
    """

    def __init__(
        self,
        is_visual: bool = False,
        prompt_template: str = "",
        example_prompt_template: str = "",
        api_prompt_template: str = "",
        *,
        settings: Settings | None = None,
    ) -> None:
        self.is_visual, self.prompt_template = is_visual, prompt_template
        self.example_prompt_template, self.api_prompt_template = example_prompt_template, api_prompt_template
        self.failed: Failed = []
        self._settings = settings or load_settings()

    @staticmethod
    def read_logs(log_path: str) -> list[dict[str, Any]]:
        """The sub-tasks of a session's log folder, redacted, in order; a session without any is one part."""
        report = ReadReport()
        read = [redact(one) for one in read_traces(log_path, format="ufo", report=report)]
        for problem in report.problems:
            _log.warning("%s, line %s: %s", problem.file, problem.line, problem.message)
        if report.failed and not read:
            file, reason = report.failed[0]
            raise DataError(reason, file=file, code="E_TRACE")
        # UFO's agents ask by sub-task, so these are what is learned; whole requests only where there are none
        learned = [one for one in read if one.subtask is not None] or read
        return [LogPart(index, one) for index, one in enumerate(learned)]

    def get_summary_list(self, logs: Iterable[Any]) -> tuple[list[dict[str, Any]], float]:
        """A summary for each part of a log, and what they cost in US dollars. A part that fails costs only itself."""
        engine = open_summarizer(self._settings.summarizer)
        before = engine.spending.cost
        self.failed = []

        def summary(part: object) -> dict[str, Any]:
            if not isinstance(part, LogPart):
                raise DataError("not a part of a log as read_logs gives it", code="E_SCHEMA")
            return Summary(engine.summarize(part.trajectory))

        return _each(summary, logs, "logs", self.failed), engine.spending.cost - before

    @staticmethod
    def create_or_update_yaml(summaries: Iterable[Any], yaml_path: str) -> None:
        """Add the summaries, but for failed runs, to a file for people; what stands there stays. Each stands once."""
        path = Path(yaml_path)
        entries = _entries(path)
        known = {_content(entry) for entry in entries.values()}
        number = max((int(key[7:]) for key in entries if key.startswith("example") and key[7:].isdigit()), default=-1)
        for entry in _each(_entry, summaries, "summaries", []):
            if entry and _content(entry) not in known:
                known.add(_content(entry))
                number += 1
                entries[f"example{number}"] = entry
        write_atomic(path, dump_yaml(entries) if entries else "")

    @staticmethod
    def create_or_update_vector_db(summaries: Iterable[Any], db_path: str) -> None:
        """Store the summaries in the store at `db_path` (made if need be) and index them. Durable when it returns."""
        done = ExperienceMemory.open(db_path).take_in(_each(_record, summaries, "summaries", []))
        _log.info("%d experiences stored in %s", len(done.added), db_path)


def _each(make: Callable[[Any], T], items: Iterable[Any], what: str, failed: Failed) -> list[T]:
    """What is made of each item; one that cannot be used is named in the log, and in `failed`."""

    def attempt(place: int, item: Any) -> list[T]:
        try:
            return [make(item)]
        except DataError as error:
            _log.warning("%s.%d is left out: %s", what, place, error)
            failed.append((f"{what}.{place}", str(error)))
            return []

    return [made for place, item in enumerate(items) for made in attempt(place, item)]


def _record(summary: object) -> Experience:
    """The record a summary stands for. One that was made or changed by hand says nothing certain about success."""
    if isinstance(summary, Summary) and summary == to_ufo_example(summary.experience):
        return summary.experience
    return ExtractiveSummarizer().summarize(redact(UfoYamlReader().run_of(plain(summary))))


def _entry(summary: object) -> dict[str, Any]:
    """What is written of a summary: of one that was made by hand all of it but its secrets; nothing of a failed run."""
    record = _record(summary)
    entry: dict[str, Any] = redact_json(dict(summary)) if isinstance(summary, dict) else {}
    return {} if record.is_negative else {"Sub-task": record.state.request, **entry}


def _entries(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return load_yaml(path, typed="Args")
    except DataError as error:
        if error.code != "E_EMPTY":
            aside = path.with_name(f"{path.name}.unreadable-{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}")
            with storage_errors(path):
                path.rename(aside)
            _log.warning("%s; it was set aside as %s", error, aside.name)
        return {}


def _content(entry: Any) -> str:
    """What makes two entries the same: their content, not how YAML types it."""
    return json.dumps(mapped(plain(entry), str), sort_keys=True)


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
