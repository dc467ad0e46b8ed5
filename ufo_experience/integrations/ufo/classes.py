"""A drop-in for microsoft/UFO: its `ExperienceSummarizer` and `ExperienceRetriever`, over a store of ours.

    from ufo_experience.integrations.ufo import ExperienceSummarizer     # in ufo/module/basic.py
    from ufo_experience.integrations.ufo import ExperienceRetriever      # in ufo/rag/retriever.py

Names, arguments and what comes back are UFO's; the folder UFO calls its vector database is one of our stores. Nothing
here needs torch or langchain, and no pickle is opened. See docs/ufo.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ufo_experience.errors import DataError, ExperienceError, NotFoundError, UsageError
from ufo_experience.integrations.ufo.documents import (
    Document,
    DocumentFilter,
    KeyStyle,
    MetadataFilter,
    app_names,
    document_of,
)
from ufo_experience.integrations.ufo.summaries import LogPart, Summary, add_to_yaml, record_of, trajectory_of
from ufo_experience.memory import ExperienceMemory
from ufo_experience.redact import redact
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.retrieve.retriever import MAX_K
from ufo_experience.schema import Trajectory
from ufo_experience.settings import Settings, load_settings
from ufo_experience.summarize import open_summarizer
from ufo_experience.traces import ReadReport, read_traces

MAX_TOKENS = 3_000  # of all examples together: what UFO's own prompt leaves room for
_INDEX_FILES = ("index.faiss", "index.pkl")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class ExperienceSummarizer:
    """Turns the logs of a session into experiences. `failed` names, with the reason, what the last call left out.

    UFO's four arguments are accepted and unused: the wording of our prompts is in `prompts/`, and the model and its
    key come from the environment (`OPENAI_API_KEY`, `UFO_EXPERIENCE_SUMMARIZER`), not from UFO's settings.
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
        self.is_visual = is_visual
        self.prompt_template = prompt_template
        self.example_prompt_template = example_prompt_template
        self.api_prompt_template = api_prompt_template
        self.failed: list[tuple[str, str]] = []
        self._settings = settings or load_settings()

    @staticmethod
    def read_logs(log_path: str) -> list[dict[str, Any]]:
        """The sub-tasks of a session's log folder, redacted, in order; a session without any is one part.

        What cannot be read is named in the log of this module.

        Raises:
            DataError: there is no such folder, or no log in it.
        """
        report = ReadReport()
        trajectories = [redact(one) for one in read_traces(log_path, format="ufo", report=report)]
        for problem in report.problems:
            _log.warning("%s, line %s: %s", problem.file, problem.line, problem.message)
        if report.failed and not trajectories:
            file, reason = report.failed[0]
            raise DataError(reason, file=file, code="E_TRACE")
        return [LogPart(index, one) for index, one in enumerate(_subtasks(trajectories))]

    def get_summary_list(self, logs: Iterable[Any]) -> tuple[list[dict[str, Any]], float]:
        """A summary for each part of a log, and what they cost in US dollars. A part that fails costs only itself."""
        engine = open_summarizer(self._settings.summarizer)
        before = engine.spending.cost
        self.failed = []
        made = [
            _attempt(lambda part: Summary(engine.summarize(trajectory_of(part))), part, f"logs.{place}", self.failed)
            for place, part in enumerate(logs)
        ]
        return [summary for summary in made if summary is not None], engine.spending.cost - before

    @staticmethod
    def create_or_update_yaml(summaries: Iterable[Any], yaml_path: str) -> None:
        """Add the summaries to a file for people to read, each once; see `add_to_yaml`.

        Raises:
            StorageError: the disk refused.
        """
        added = add_to_yaml(summaries, Path(yaml_path))
        _log.info("%d experiences added to %s", added, yaml_path)

    @staticmethod
    def create_or_update_vector_db(summaries: Iterable[Any], db_path: str) -> None:
        """Store the summaries in the store at `db_path` (made if need be) and index them. Durable when it returns.

        A summary that is no experience is named in the log of this module and costs only itself. If no embedding can
        be had now, the records wait for it and are found by their words meanwhile.

        Raises:
            StorageError, LockedError: the store cannot be written.
        """
        memory = ExperienceMemory.open(db_path)
        made = [_attempt(record_of, summary, f"summaries.{place}", []) for place, summary in enumerate(summaries)]
        done = memory.take_in(record for record in made if record is not None)
        _log.info("%d experiences stored in %s", len(done.added), db_path)


class ExperienceRetriever:
    """Finds experiences for UFO's agent. `handed_out` are the ids given since the last `report`.

    Memory helps or is silent: without a store, or with one that cannot be read, there are no documents, and the log of
    this module says why. A store that appears later is found.
    """

    key_style: KeyStyle = "snake"

    def __init__(self, db_path: str, *, settings: Settings | None = None) -> None:
        self.db_path = Path(db_path)
        self.handed_out: dict[str, None] = {}
        self.last: Retrieval | None = None
        self._settings = settings or load_settings()
        self._memory: ExperienceMemory | None = None
        self._filter: DocumentFilter | None = None
        self._told: set[str] = set()

    def retrieve(self, query: str, top_k: int, filter: MetadataFilter | None = None) -> list[Document]:
        """The best `top_k` (at most 50) experiences above the threshold, best first.

        `filter` is a function of the metadata. It is asked about every record before ranking, so these are the best of
        those that pass. Failed runs and records that are not trusted are never among them.

        Raises:
            UsageError: the query is no text, or `top_k` no whole number.
        """
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
        only = None
        if filter is not None:
            self._filter = self._filter or DocumentFilter(memory.store)
            only = self._filter.passing(filter)
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
        documents = []
        for way in block.procedures:
            hit = shown[way.id]
            made = document_of(way, hit.experience, hit.score, self.key_style, app_names(hit.experience))
            documents += [made] if made is not None else []
        self.handed_out |= dict.fromkeys(document.id for document in documents)
        return documents

    def _open(self) -> ExperienceMemory | None:
        if self._memory is None:
            settings = self._settings.model_copy(update={"db": str(self.db_path)})
            try:
                self._memory = ExperienceMemory.open(settings=settings, create=False)
            except NotFoundError:
                self._tell(_nothing_here(self.db_path), logging.INFO)
        return self._memory

    def _tell(self, message: str, level: int) -> None:
        """Log a message, once: UFO asks at every step."""
        if message not in self._told:
            self._told.add(message)
            _log.log(level, "%s", message)


class PascalCaseRetriever(ExperienceRetriever):
    """The retriever for UFO v0, v1 and v2, whose responses have PascalCase keys."""

    key_style: KeyStyle = "pascal"


def _attempt(make: Callable[[Any], T], what: object, name: str, failed: list[tuple[str, str]]) -> T | None:
    """What `make` makes of one item; None, and an entry in `failed`, if it is not usable."""
    try:
        return make(what)
    except DataError as error:
        failed.append((name, str(error)))
        _log.warning("%s is left out: %s", name, error)
        return None


def _subtasks(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """UFO's agents ask by sub-task, so these are what is learned; whole requests only where there are none."""
    return [one for one in trajectories if one.subtask is not None] or list(trajectories)


def _nothing_here(db_path: Path) -> str:
    if old_index_files(db_path):
        folder = db_path.parent if (db_path.parent / "experience.yaml").exists() else db_path
        return (
            f"no experiences yet: {db_path} holds an index of UFO's own, which is not opened (a pickle can run code). "
            f"To take in its experiences: ufo-experience import --db {db_path} {folder}"
        )
    return f"no experiences yet: no store at {db_path}"


def old_index_files(folder: Path) -> list[Path]:
    """The files of a LangChain index in a folder."""
    return [folder / name for name in _INDEX_FILES if (folder / name).is_file()]
