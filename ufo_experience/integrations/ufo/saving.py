"""UFO's `ExperienceSummarizer`: logs of a session become experiences, in UFO's YAML file and in a store of ours.

Parts of a log and summaries are the dicts UFO knows. Each carries what it was made from as an attribute, so that the
whole record is stored; a dict that somebody made or changed stands for itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats import from_ufo_example, to_ufo_example
from ufo_experience.memory import ExperienceMemory
from ufo_experience.redact import redact, redact_json
from ufo_experience.schema import Experience, Trajectory, Trust
from ufo_experience.session.files import mapped, plain, write_atomic
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store.files import storage_errors
from ufo_experience.store.safe_yaml import dump_yaml, load_yaml
from ufo_experience.summarize import open_summarizer
from ufo_experience.traces import ReadReport, read_traces

Failed = list[tuple[str, str]]  # what was left out, and why
T = TypeVar("T")
_log = logging.getLogger("ufo_experience.integrations.ufo")


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
    if not isinstance(summary, dict):
        raise DataError("not an object", code="E_SCHEMA")
    return from_ufo_example(redact_json(summary), trust=Trust.OBSERVED)


def _entry(summary: object) -> dict[str, Any]:
    """What is written of a summary: of one that was made by hand all of it but its secrets; nothing of a failed run."""
    record = _record(summary)
    entry: dict[str, Any] = redact_json(dict(summary)) if isinstance(summary, dict) else {}
    return {} if record.is_negative else {"Sub-task": record.state.task, **entry}


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
